"""Counts upwards through redis-py's Sentinel or RedisCluster. See cmd/vigil-crash/libraries.go."""
import os
import sys
import threading
import time

from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisClusterException, RedisError
from redis.sentinel import MasterNotFoundError, Sentinel

members = [(host, int(port)) for host, port in (a.rsplit(":", 1) for a in sys.argv[1:])]
printing = threading.Lock()


def connect():
    if os.environ.get("VIEW") == "cluster":
        return RedisCluster(startup_nodes=[ClusterNode(*m) for m in members], socket_timeout=1)
    # Threads that share a Sentinel lose members from its list: it is changed without a lock.
    return Sentinel(members, socket_timeout=1).master_for("mymaster", socket_timeout=1)


def count(k):
    master, n = None, 1
    while True:
        try:
            master = master or connect()
            master.set(f"counter:{k}", n)
        except RedisClusterException:
            # A client whose first member is lost cannot look for the others: its options hold a
            # lock, and it copies them.
            master = None
            continue
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
