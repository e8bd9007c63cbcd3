package clusters

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
)

// fail breaks things, and moves slots, until a time.
func (w *world) fail(end time.Duration) {
	for w.now() < end && !w.violated() {
		w.pause(400)
		if w.rand.IntN(3) > 0 {
			from, to := w.move()
			if from != nil && w.rand.IntN(3) > 0 {
				w.ambush(from, to)
				continue
			}
			w.pause(100) // what fails next fails amid that
		}
		w.fault()
	}
}

// pause is up to some milliseconds.
func (w *world) pause(most int) { time.Sleep(time.Duration(w.rand.IntN(most)) * time.Millisecond) }

// fault breaks something, or repairs it.
func (w *world) fault() {
	n, o := w.nodes[w.rand.IntN(len(w.nodes))], w.nodes[w.rand.IntN(len(w.nodes))]
	switch w.rand.IntN(13) {
	case 0, 1:
		w.killOne(n)
	case 2:
		w.killGroup(w.shardOf(n))
	case 3:
		w.note("%s is stopped", n.host)
		w.effect("stopped")
		n.stop()
		w.pause(300)
		n.start()
	case 4:
		w.silence([]*node{n}, []*node{o})
	case 5:
		w.effect("isolated")
		w.silence([]*node{n}, w.nodes)
		w.silence(w.nodes, []*node{n})
	case 6:
		w.note("the groups are apart")
		w.effect("groups apart")
		w.net.change(func() {
			for _, a := range w.nodes {
				for _, b := range w.nodes {
					w.net.cut[[2]string{a.host, b.host}] = a.group != b.group
				}
			}
		})
	case 7, 8:
		w.heal()
	case 9:
		w.disconnect(n)
	case 10:
		w.slow()
	case 11:
		if w.open {
			w.replicate(n)
		}
	default:
		w.failover(n)
	}
}

func (w *world) failover(n *node) {
	w.note("failover at %s: %s", n.host, n.call("CLUSTER", "FAILOVER"))
	w.effect("failovers")
}

func (w *world) heal() {
	w.note("the network is whole")
	w.net.heal()
}

// silence keeps back what some servers send to others.
func (w *world) silence(from, to []*node) {
	w.note("nothing gets from %v to %v", hosts(from), hosts(to))
	w.net.change(func() {
		for _, n := range from {
			for _, o := range to {
				w.net.cut[[2]string{n.host, o.host}] = n != o
			}
		}
	})
}

// disconnect breaks the connections of a server, and it makes others.
func (w *world) disconnect(n *node) {
	w.note("connections of %s break", n.host)
	w.net.breakAll(n.host, false)
}

func (w *world) slow() {
	w.note("the network is slow")
	w.net.change(func() { w.net.slow = true })
}

// killOne kills a server, which is started again after a moment. Under everysec its power stays.
func (w *world) killOne(n *node) {
	power := w.rand.IntN(2) == 0 && w.policy == "always"
	w.note("%s is killed, with its power: %v", n.host, power)
	w.effect("killed")
	n.kill(w.rand, power)
	w.pause(1500)
	n.start()
}

// killGroup kills all servers of a group, or cuts their power.
func (w *world) killGroup(all []*node) {
	power := w.rand.IntN(2) == 0 && w.policy == "always"
	w.note("%v are killed, with their power: %v", hosts(all), power)
	w.effect("groups killed")
	for _, m := range all {
		m.kill(w.rand, power)
	}
	w.pause(1000)
	for _, m := range all {
		m.start()
	}
}

// together says which server of a group does not follow its leader, "" if all do.
func (w *world) together(all []*node) string {
	leaders := 0
	for _, m := range all {
		switch info := m.call("INFO", "replication"); {
		case strings.Contains(info, "role:master"):
			leaders++
		case !strings.Contains(info, "master_link_status:up") || !strings.Contains(info, "master_sync_in_progress:0"):
			return m.host + " does not follow"
		}
	}
	if leaders != 1 {
		return fmt.Sprintf("%d servers say that they lead", leaders)
	}
	return ""
}

// move moves slots from one group to another, and returns their leaders, nil if none move.
func (w *world) move() (from, to *node) {
	all := w.shards()
	if len(all) < 2 {
		return nil, nil
	}
	w.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tag := w.rand.IntN(len(w.tags))
	slot := slotOf(w.tags[tag])
	w.mu.Lock()
	w.hot = tag
	w.mu.Unlock()
	first, last := slot, slot
	if w.rand.IntN(3) == 0 {
		first, last = max(0, slot-w.rand.IntN(300)), min(commands.Slots-1, slot+w.rand.IntN(300))
	}
	target := leader(all[0])
	if target == nil {
		return nil, nil
	}
	id := target.call("CLUSTER", "MYID")
	for _, shard := range all[1:] {
		n := leader(shard)
		if n == nil || n.call("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last), "NODE", id) != "OK" {
			continue
		}
		w.note("slots %d to %d go from %s to %s", first, last, n.host, target.host)
		w.effect("moves")
		if w.rand.IntN(4) == 0 {
			w.pause(60)
			w.cancel(n)
		}
		return n, target
	}
	return nil, nil
}

// cancel makes a leader give up the moves of its group.
func (w *world) cancel(n *node) {
	w.note("%s cancels: %s", n.host, n.call("CLUSTER", "CANCELSLOTMIGRATIONS"))
	w.effect("cancelled")
}

// replicate makes a server a replica of another master.
func (w *world) replicate(n *node) {
	all := w.shards()
	target := leader(all[w.rand.IntN(len(all))])
	if target == nil || target == n {
		return
	}
	reply := n.call("CLUSTER", "REPLICATE", target.call("CLUSTER", "MYID"))
	w.note("%s is to be a replica of %s: %s", n.host, target.host, reply)
	if reply == "OK" {
		w.effect("replicas gone over")
	}
}

// leader returns the server that says that it leads a group, nil if none does.
func leader(of []*node) *node {
	for _, n := range of {
		if strings.Contains(n.call("ROLE"), "master") {
			return n
		}
	}
	return nil
}

func hosts(of []*node) (names []string) {
	for _, n := range of {
		names = append(names, n.host)
	}
	return names
}
