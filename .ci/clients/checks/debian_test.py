"""Debian's redis-py, RQ and Celery."""
import subprocess
import sys
import threading
import unittest

import redis
from celery import chord
from rq import Queue, Retry, SimpleWorker

import tasks

client = redis.Redis(decode_responses=True)


class RedisPy(unittest.TestCase):
    def setUp(self):
        client.flushall()

    def test_transactions_watch(self):
        def increment(pipe):
            value = int(pipe.get("n") or 0)
            pipe.multi()
            pipe.set("n", value + 1)

        threads = [threading.Thread(target=lambda: [client.transaction(increment, "n") for _ in range(20)]) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(client.get("n"), "80")

    def test_locks_exclude(self):
        with client.lock("lock", timeout=10) as lock:
            self.assertFalse(client.lock("lock", timeout=10).acquire(blocking=False))
            self.assertTrue(lock.extend(10))
        self.assertFalse(client.exists("lock"))
        self.assertRaises(redis.exceptions.LockError, client.lock("lock").release)

    def test_scripts(self):
        twice = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1] * 2)")
        self.assertEqual(twice(keys=["n"], args=[2]), 4)
        client.script_flush()
        self.assertEqual(twice(keys=["n"], args=[2]), 8)

    def test_messages(self):
        sub = client.pubsub(ignore_subscribe_messages=True)
        sub.subscribe("news")
        sub.get_message(timeout=5)
        client.publish("news", "x")
        message = None
        while message is None:
            message = sub.get_message(timeout=5)
        self.assertEqual(message["data"], "x")

    def test_types(self):
        client.zadd("z", {"a": 1, "b": 2.5})
        self.assertEqual(client.zrange("z", 0, -1, withscores=True), [("a", 1.0), ("b", 2.5)])
        client.geoadd("g", (13.361389, 38.115556, "Palermo"))
        self.assertEqual(client.geosearch("g", longitude=13, latitude=38, radius=100, unit="km"), ["Palermo"])
        entry = client.xadd("s", {"f": "v"})
        client.xgroup_create("s", "g", 0)
        self.assertEqual(client.xreadgroup("g", "c", {"s": ">"}), [["s", [(entry, {"f": "v"})]]])
        self.assertEqual(client.xpending("s", "g")["pending"], 1)
        self.assertEqual(sorted(client.scan_iter()), ["g", "s", "z"])


class RQ(unittest.TestCase):
    def test_jobs(self):
        connection = redis.Redis()
        queue = Queue(connection=connection)
        good, bad = queue.enqueue(tasks.divide, 6, 3), queue.enqueue(tasks.divide, 1, 0, retry=Retry(max=2))
        after = queue.enqueue(tasks.divide, 8, 2, depends_on=good)
        SimpleWorker([queue], connection=connection).work(burst=True)
        self.assertEqual((good.result, after.result), (2.0, 4.0))
        self.assertTrue(bad.is_failed)
        self.assertEqual(queue.failed_job_registry.count, 1)


class Celery(unittest.TestCase):
    def test_tasks(self):
        worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "tasks", "worker", "-c", "2", "-l", "error"])
        try:
            self.assertEqual(tasks.add.delay(2, 3).get(timeout=60), 5)
            self.assertEqual(tasks.stubborn.delay().get(timeout=60), 2)
            self.assertEqual(chord(tasks.add.s(i, i) for i in range(3))(tasks.total.s()).get(timeout=60), 6)
            self.assertEqual(len(tasks.app.control.ping(timeout=5)), 1)
        finally:
            worker.terminate()
            worker.wait()


if __name__ == "__main__":
    unittest.main(verbosity=2)
