<?php
// phpredis: sessions with a lock. A second process waits for the lock of the first.
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', 'tcp://127.0.0.1:6379?prefix=php:');
ini_set('redis.session.locking_enabled', '1');
ini_set('redis.session.lock_wait_time', '10000');
ini_set('redis.session.lock_retries', '1000');
session_id('shared');
if (($argv[1] ?? '') === 'add') {
    for ($i = 0; $i < 20; $i++) {
        session_start();
        $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        session_write_close();
    }
    exit(0);
}
$redis = new Redis();
$redis->connect('127.0.0.1', 6379);
$redis->flushAll();
$workers = [];
for ($i = 0; $i < 3; $i++) {
    $workers[] = proc_open([PHP_BINARY, __FILE__, 'add'], [], $pipes);
}
$failed = 0;
foreach ($workers as $w) {
    $failed += proc_close($w) === 0 ? 0 : 1;
}
session_start();
$n = $_SESSION['n'] ?? 0;
$locked = $redis->exists('php:shared_LOCK');
session_destroy();
session_write_close();
$checks = ['no process failed' => $failed === 0, "60 pages were counted, not $n" => $n === 60, 'an open session is locked' => $locked === 1,
    'no lock is left' => $redis->exists('php:shared_LOCK') === 0, 'no session is left' => $redis->dbSize() === 0];
foreach ($checks as $name => $ok) {
    echo $ok ? 'ok' : 'not ok', " phpredis: $name\n";
}
exit(in_array(false, $checks, true) ? 1 : 0);
