package clusters

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
)

// firstSlots are those with which a group begins.
func (w *world) firstSlots(group int) (first, last int) {
	return group * commands.Slots / len(w.groups), (group+1)*commands.Slots/len(w.groups) - 1
}

// form waits until the servers are a cluster. Those of an open one are told so by calls, as redis-cli --cluster create
// makes them.
func (w *world) form() {
	if w.open {
		w.until(10*time.Second, "the servers are there", func() string {
			for _, n := range w.nodes {
				if reply := n.call("PING"); reply != "PONG" {
					return n.host + " says " + reply
				}
			}
			return ""
		})
		for group, all := range w.groups {
			first, last := w.firstSlots(group)
			w.insist(all[0], "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last))
		}
		for _, n := range w.nodes[1:] {
			w.insist(n, "CLUSTER", "MEET", w.nodes[0].host, strconv.Itoa(port))
		}
	}
	w.until(30*time.Second, "the cluster forms", w.whole)
	if !w.open {
		return
	}
	for _, all := range w.groups {
		id := all[0].call("CLUSTER", "MYID")
		for _, n := range all[1:] {
			w.insist(n, "CLUSTER", "REPLICATE", id)
		}
		w.until(30*time.Second, "the replicas are there", func() string { return w.together(all) })
	}
	w.until(30*time.Second, "the cluster is whole", w.whole)
}

// insist makes a call until it succeeds.
func (w *world) insist(n *node, words ...string) {
	w.until(30*time.Second, strings.Join(words, " ")+" succeeds", func() string {
		if reply := n.call(words...); reply != "OK" {
			return n.host + " says " + reply
		}
		return ""
	})
}

// shards are the groups as their servers say now. One that says nothing is in none.
func (w *world) shards() (all [][]*node) {
	by := map[string][]*node{}
	for _, n := range w.nodes {
		if id := n.call("CLUSTER", "MYSHARDID"); !strings.HasPrefix(id, "-") {
			by[id] = append(by[id], n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[id])
	}
	return all
}

// shardOf is the group of a server, as it says, with all that say the same.
func (w *world) shardOf(n *node) []*node {
	for _, shard := range w.shards() {
		if slices.Contains(shard, n) {
			return shard
		}
	}
	return nil
}

// whole says what is missing until all servers see all slots with groups that have a leader.
func (w *world) whole() string {
	for _, n := range w.nodes {
		info := n.call("CLUSTER", "INFO")
		for _, want := range []string{"cluster_state:ok", "cluster_slots_ok:16384", fmt.Sprintf("cluster_known_nodes:%d", len(w.nodes)), fmt.Sprintf("cluster_size:%d", len(w.groups))} {
			if !strings.Contains(info, want) {
				return fmt.Sprintf("%s says %q, not %s", n.host, info, want)
			}
		}
	}
	return ""
}
