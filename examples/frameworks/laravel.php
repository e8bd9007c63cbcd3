<?php
// Laravel with sessions, cache, locks and a queue in vigil. The argument is the folder of the application, where laravel/.env is.
require_once 'Illuminate/autoload.php';

use Illuminate\Contracts\Http\Kernel as HttpKernel;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Cache;
use Illuminate\Support\Facades\Queue;
use Illuminate\Support\Facades\Redis;
use Illuminate\Support\Facades\Route;

function check(bool $ok, string $what): void { if (!$ok) { fwrite(STDERR, "failed: $what\n"); exit(1); } }

$base = $argv[1];
$url = parse_url(getenv('VIGIL_URL'));
foreach (['REDIS_HOST' => $url['host'], 'REDIS_PORT' => (string) $url['port']] as $name => $value) { // in place of those of .env
    putenv("$name=$value");
    $_ENV[$name] = $_SERVER[$name] = $value;
}
foreach (['bootstrap/cache', 'config', 'storage/framework/views', 'storage/logs'] as $folder) @mkdir("$base/$folder", 0700, true);

class SendsMail implements ShouldQueue
{
    use Illuminate\Bus\Queueable, Illuminate\Queue\InteractsWithQueue;

    public function __construct(public string $to) {}

    public function handle(): void { Cache::increment("mails:{$this->to}"); }
}

// What this application needs of laravel/laravel's config/.
function configuration(): array
{
    return [
        'app' => ['name' => 'shop', 'env' => 'production', 'debug' => false, 'key' => str_repeat('k', 32), 'cipher' => 'AES-256-CBC', 'timezone' => 'UTC', 'locale' => 'en', 'fallback_locale' => 'en', 'aliases' => [],
            'providers' => array_map(fn ($name) => "Illuminate\\$name", ['Bus\BusServiceProvider', 'Cache\CacheServiceProvider', 'Cookie\CookieServiceProvider', 'Encryption\EncryptionServiceProvider',
                'Filesystem\FilesystemServiceProvider', 'Queue\QueueServiceProvider', 'Redis\RedisServiceProvider', 'Session\SessionServiceProvider', 'Translation\TranslationServiceProvider', 'View\ViewServiceProvider'])],
        'cache' => ['default' => env('CACHE_DRIVER'), 'prefix' => 'cache', 'stores' => ['redis' => ['driver' => 'redis', 'connection' => 'cache', 'lock_connection' => 'default']]],
        'database' => ['redis' => ['client' => env('REDIS_CLIENT'), 'options' => ['prefix' => 'shop_'],
            'default' => ['host' => env('REDIS_HOST'), 'port' => env('REDIS_PORT'), 'database' => '0'],
            'cache' => ['host' => env('REDIS_HOST'), 'port' => env('REDIS_PORT'), 'database' => '1']]],
        'logging' => ['default' => 'null', 'channels' => ['null' => ['driver' => 'monolog', 'handler' => Monolog\Handler\NullHandler::class]]],
        'queue' => ['default' => env('QUEUE_CONNECTION'), 'connections' => ['redis' => ['driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => 90, 'block_for' => 1]], 'failed' => ['driver' => 'null']],
        'session' => ['driver' => env('SESSION_DRIVER'), 'lifetime' => (int) env('SESSION_LIFETIME'), 'expire_on_close' => false, 'encrypt' => false, 'connection' => null, 'store' => null, 'lottery' => [2, 100],
            'cookie' => 'shop_session', 'path' => '/', 'domain' => null, 'secure' => false, 'http_only' => true, 'same_site' => 'lax'],
        'view' => ['paths' => [], 'compiled' => storage_path('framework/views')],
    ];
}

foreach (['app', 'cache', 'database', 'logging', 'queue', 'session', 'view'] as $name) {
    file_put_contents("$base/config/$name.php", "<?php return configuration()['$name'];");
}

class Web extends Illuminate\Foundation\Http\Kernel
{
    protected $middlewareGroups = ['web' => [Illuminate\Cookie\Middleware\EncryptCookies::class, Illuminate\Cookie\Middleware\AddQueuedCookiesToResponse::class, Illuminate\Session\Middleware\StartSession::class]];
}

class Failures extends Illuminate\Foundation\Exceptions\Handler {}

// application is a new process of PHP's, as each request gets one.
function application(string $base): Illuminate\Foundation\Application
{
    $app = new Illuminate\Foundation\Application($base);
    $app->singleton(HttpKernel::class, Web::class);
    $app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Failures::class);
    $app->make(HttpKernel::class)->bootstrap();
    Route::middleware('web')->group(function () {
        Route::get('/', function (Request $r) {
            $r->session()->put('views', $r->session()->get('views', 0) + 1);
            return (string) $r->session()->get('views');
        });
        Route::get('/id', fn (Request $r) => $r->session()->getId());
        Route::get('/out', fn (Request $r) => $r->session()->invalidate() ? 'out' : 'still in');
    });
    return $app;
}

$cookies = [];
$visit = function (string $path, array $settings = []) use ($base, &$cookies) {
    $app = application($base);
    config($settings);
    $response = $app->make(HttpKernel::class)->handle(Request::create($path, 'GET', [], $cookies));
    $app->make(HttpKernel::class)->terminate(Request::create($path), $response);
    foreach ($response->headers->getCookies() as $cookie) $cookies[$cookie->getName()] = $cookie->getValue();
    return $response;
};

$seen = [$visit('/')->getContent(), $visit('/')->getContent()];
check($seen === ['1', '2'], 'the session is there again: ' . json_encode($seen));
$redis = new \Redis();
$redis->connect($url['host'], $url['port']);
$id = $visit('/id')->getContent();
$keys = $redis->keys("*$id");
check(count($keys) === 1, 'keys ' . json_encode($keys) . ' of ' . json_encode($redis->keys('*')));
check($redis->ttl($keys[0]) > 1700 && $redis->ttl($keys[0]) <= 1800, 'ttl ' . $redis->ttl($keys[0]));

$without = $visit('/', ['database.redis.default.port' => 1]); // nobody listens there
check($without->getStatusCode() === 500, 'without the store: ' . $without->getStatusCode());
check($visit('/')->getContent() === '3', 'the session is there when the store is back');
$visit('/out');
check(!$redis->exists($keys[0]), 'an ended session is gone');
check($visit('/')->getContent() === '1', 'an ended session came back');

application($base);
check(Cache::remember('price', 300, fn () => '10 EUR') === '10 EUR' && Cache::remember('price', 300, fn () => '20 EUR') === '10 EUR', 'the cache answers');
Cache::tags(['shelf'])->put('owl', 'there', 60);
check(Cache::tags(['shelf'])->get('owl') === 'there', 'an entry with a tag');
Cache::tags(['shelf'])->flush();
check(Cache::tags(['shelf'])->get('owl') === null, 'a tag is flushed');
$lock = Cache::lock('stock', 10);
check($lock->get() && !Cache::lock('stock', 10)->get(), 'a lock has one holder');
check($lock->release() && Cache::lock('stock', 10)->get(), 'a lock is free again');
Queue::push(new SendsMail('robin'));
Queue::later(-1, new SendsMail('robin'));
check(Queue::size() === 2, 'jobs wait: ' . Queue::size());
foreach ([1, 2] as $_) Queue::pop()->fire();
check((int) Cache::get('mails:robin') === 2, 'jobs ran: ' . Cache::get('mails:robin'));
check(Queue::pop() === null, 'jobs that have ended are gone');
$throttled = Redis::throttle('mails')->allow(1)->every(60)->block(0);
check($throttled->then(fn () => true, fn () => false) && !Redis::throttle('mails')->allow(1)->every(60)->block(0)->then(fn () => true, fn () => false), 'a limit of calls');
$redis->flushAll();
