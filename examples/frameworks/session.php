<?php
// The session handler of phpredis.
$url = parse_url(getenv('VIGIL_URL'));
// [documented]
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', "tcp://{$url['host']}:{$url['port']}?prefix=php:");
ini_set('session.gc_maxlifetime', '1800');
// [end]
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
function check(bool $ok, string $what): void { if (!$ok) { fwrite(STDERR, "failed: $what\n"); exit(1); } }

$redis = new Redis();
$redis->connect($url['host'], $url['port']);
session_start();
$id = session_id();
$_SESSION['views'] = 1;
session_write_close();
$ttl = $redis->ttl("php:$id");
check($ttl > 1700 && $ttl <= 1800, "ttl $ttl");
$_SESSION = [];
session_id($id);
session_start();
check($_SESSION['views'] === 1, 'the session is there again');
session_destroy();
check($redis->exists("php:$id") == 0, 'a destroyed session is gone');
