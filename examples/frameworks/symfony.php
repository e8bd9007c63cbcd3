<?php
// Symfony with sessions, a cache with tags and locks in vigil. The argument is the folder of the application, whose configuration is
// symfony/config/packages/framework.yaml. Run by php -S, this file answers the requests of a browser; by itself, it is that browser.
foreach (['Bundle/FrameworkBundle', 'Component/Cache', 'Component/Lock', 'Component/Yaml'] as $part) require_once "Symfony/$part/autoload.php";

require_once getenv('SHOP_DIR') ? getenv('SHOP_DIR') . '/src/PatientSessions.php' : __DIR__ . '/symfony/src/PatientSessions.php';

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Symfony\Contracts\Cache\CacheInterface;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

class Shop extends Kernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable { yield new FrameworkBundle(); }

    public function getProjectDir(): string { return getenv('SHOP_DIR'); }

    public function getLogDir(): string { return $this->getProjectDir() . '/log'; }

    protected function configureContainer(ContainerConfigurator $c): void
    {
        $c->import($this->getProjectDir() . '/config/packages/framework.yaml');
        $c->extension('framework', ['secret' => 'change me', 'test' => false, 'php_errors' => ['log' => false]]);
        $c->services()->set('logger', Psr\Log\NullLogger::class);
        $c->services()->set(Visits::class, Visits::class)->public()->autowire()->tag('controller.service_arguments');
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (['show' => '/', 'out' => '/out', 'price' => '/price/{now}', 'menu' => '/menu/{now}', 'sale' => '/sale', 'locks' => '/locks'] as $method => $path) {
            $routes->add($method, $path)->controller([Visits::class, $method]);
        }
    }
}

class Visits
{
    public function show(Request $r): Response
    {
        $views = $r->getSession()->get('views', 0) + 1;
        $r->getSession()->set('views', $views);
        return new Response($r->getSession()->getId() . " $views");
    }

    public function out(Request $r): Response
    {
        $r->getSession()->start();
        return new Response($r->getSession()->invalidate() ? 'out' : 'still in');
    }

    public function price(string $now, TagAwareCacheInterface $shelfCache): Response
    {
        return new Response($shelfCache->get('price', function (ItemInterface $item) use ($now) {
            $item->tag('shelf');
            $item->expiresAfter(300);
            return $now;
        }));
    }

    public function sale(TagAwareCacheInterface $shelfCache): Response { return new Response($shelfCache->invalidateTags(['shelf']) ? 'gone' : 'not gone'); }

    public function menu(string $now, CacheInterface $cache): Response { return new Response($cache->get('menu', fn () => $now)); }

    public function locks(LockFactory $locks): Response
    {
        [$one, $other] = [$locks->createLock('stock', 10), $locks->createLock('stock', 10)];
        $held = [$one->acquire(), $other->acquire()];
        $one->release();
        return new Response(json_encode([...$held, $other->acquire()]));
    }
}

if (PHP_SAPI === 'cli-server') {
    $kernel = new Shop('prod', false);
    $request = Request::createFromGlobals();
    $response = $kernel->handle($request);
    $response->send();
    $kernel->terminate($request, $response);
    return;
}

function check(bool $ok, string $what): void { if (!$ok) { fwrite(STDERR, "failed: $what\n"); exit(1); } }

// serve starts a web server of the application on any port, with the store at an address, and returns its address.
function serve(string $dir, string $store): string
{
    $log = "$dir/web-" . md5($store) . '.log';
    $web = proc_open([PHP_BINARY, '-d', 'session.gc_probability=0', '-S', '127.0.0.1:0', __FILE__], [1 => ['file', $log, 'w'], 2 => ['file', $log, 'w']], $_, null,
        ['REDIS_URL' => $store, 'SHOP_DIR' => $dir] + getenv());
    register_shutdown_function(fn () => proc_terminate($web));
    for ($i = 0; $i < 200; $i++) {
        if (preg_match('~\((http://[\d.:]+)\) started~', (string) file_get_contents($log), $found)) return $found[1];
        usleep(50000);
    }
    check(false, "no web server: " . file_get_contents($log));
}

$dir = $argv[1];
[$here, $away] = [serve($dir, getenv('VIGIL_URL')), serve($dir, 'redis://127.0.0.1:1')]; // nobody listens there
$cookie = '';
$visit = function (string $path, ?string $server = null) use ($here, &$cookie) {
    $text = file_get_contents(($server ?? $here) . $path, false, stream_context_create(['http' => ['ignore_errors' => true, 'header' => "Cookie: $cookie"]]));
    foreach ($http_response_header as $line) {
        if (preg_match('~^Set-Cookie: (PHPSESSID=[^;]*)~i', $line, $found)) $cookie = $found[1];
    }
    return [(int) explode(' ', $http_response_header[0])[1], $text];
};
[$status, $text] = $visit('/');
check($status === 200, "the first page: $status $text");
[$id, $views] = explode(' ', $text);
check($views === '1', "views $views");
check($visit('/') === [200, "$id 2"], 'the session is there again');
$url = parse_url(getenv('VIGIL_URL'));
$redis = new Redis();
$redis->connect($url['host'], $url['port']);
$keys = $redis->keys("*$id");
check(count($keys) === 1, 'keys ' . json_encode($keys) . ' of ' . json_encode($redis->keys('*')));
check($redis->ttl($keys[0]) > 1700 && $redis->ttl($keys[0]) <= 1800, 'ttl ' . $redis->ttl($keys[0]));
check($visit('/', $away)[0] === 500, 'without the store a page fails');
check($visit('/') === [200, "$id 3"], 'the session is there when the store is back');
$visit('/out');
check(!$redis->exists($keys[0]), 'an ended session is gone');
check(str_ends_with($visit('/')[1], ' 1'), 'an ended session came back');

check($visit('/price/10')[1] === '10' && $visit('/price/20')[1] === '10', 'the cache answers');
check($visit('/sale')[1] === 'gone' && $visit('/price/20')[1] === '20', 'a tag is invalidated');
check($visit('/menu/tea')[1] === 'tea' && $visit('/menu/rum')[1] === 'tea', 'the other cache answers');
check($visit('/locks')[1] === '[true,false,true]', 'a lock has one holder: ' . json_encode($visit('/locks')));
$redis->flushAll();
