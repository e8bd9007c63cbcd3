"""Counts upwards through redis-py's Sentinel. See cmd/vigil-crash/libraries.go."""
import os
import sys
import threading
import time

from redis.exceptions import RedisError
from redis.sentinel import MasterNotFoundError, Sentinel

members = [(host, int(port)) for host, port in (a.rsplit(":", 1) for a in sys.argv[1:])]
printing = threading.Lock()


def count(k):
    # Threads that share a Sentinel lose members from its list: it is changed without a lock.
    sentinel = Sentinel(members, socket_timeout=1)
    master, n = sentinel.master_for("mymaster", socket_timeout=1), 1
    while True:
        try:
            master.set(f"counter:{k}", n)
        except (RedisError, MasterNotFoundError, OSError):
            time.sleep(0.01)
            continue
        with printing:
            print(k, n, flush=True)
        n += 1


for k in range(4):
    threading.Thread(target=count, args=(k,), daemon=True).start()
sys.stdin.read()
with printing:  # no line is cut in two
    os._exit(0)
