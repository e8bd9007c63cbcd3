package clusters

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// fail has things fail, and slots move, until a time.
func (w *world) fail(end time.Duration) {
	for w.now() < end && !w.violated() {
		w.pause(400)
		if w.rand.IntN(2) == 0 {
			w.move()
			w.pause(100) // what fails next fails amid that
		}
		w.fault()
	}
}

// pause is up to some milliseconds.
func (w *world) pause(most int) { time.Sleep(time.Duration(w.rand.IntN(most)) * time.Millisecond) }

// fault has something fail, or has slots move.
func (w *world) fault() {
	n, o := w.nodes[w.rand.IntN(len(w.nodes))], w.nodes[w.rand.IntN(len(w.nodes))]
	switch w.rand.IntN(12) {
	case 0, 1:
		w.killOne(n)
	case 2:
		w.killGroup(n.group)
	case 3:
		w.note("%s is stopped", n.host)
		w.effect("stopped")
		n.stop()
		w.pause(300)
		n.start()
	case 4:
		w.note("nothing gets from %s to %s", n.host, o.host)
		w.net.change(func() { w.net.cut[[2]string{n.host, o.host}] = true })
	case 5:
		w.note("%s is isolated", n.host)
		w.effect("isolated")
		w.net.change(func() {
			for _, m := range w.nodes {
				w.net.cut[[2]string{n.host, m.host}], w.net.cut[[2]string{m.host, n.host}] = m != n, m != n
			}
		})
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
		w.note("the network is whole")
		w.net.change(func() { clear(w.net.cut); w.net.slow = false })
	case 9:
		w.note("connections of %s break", n.host)
		w.net.breakAll(n.host, false)
	case 10:
		w.note("the network is slow")
		w.net.change(func() { w.net.slow = true })
	default:
		w.note("failover at %s: %s", n.host, n.call("CLUSTER", "FAILOVER"))
		w.effect("failovers")
	}
}

// killOne has a server be no more for a moment. What it acknowledged is safe if its disk has it, or if the others of its
// group have what it had: under everysec they must, before it is the turn of another one.
func (w *world) killOne(n *node) {
	power := w.rand.IntN(2) == 0
	if w.policy != "always" {
		power = false
		if missing := w.together(n.group); missing != "" {
			w.note("%s is not killed: %s", n.host, missing)
			return
		}
	}
	w.note("%s is killed, with its power: %v", n.host, power)
	w.effect("killed")
	n.kill(w.rand, power)
	w.pause(1500)
	n.start()
}

// killGroup has all servers of a group lose their power.
func (w *world) killGroup(group int) {
	if w.policy != "always" {
		return
	}
	w.note("group %d loses its power", group)
	w.effect("groups killed")
	all := w.groups[group]
	for _, m := range all {
		m.kill(w.rand, true)
	}
	w.pause(1000)
	for _, m := range all {
		m.start()
	}
}

// together says which server of a group does not follow its leader, "" if all do.
func (w *world) together(group int) string {
	leaders := 0
	for _, m := range w.groups[group] {
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

// move has slots go to another group.
func (w *world) move() {
	from := w.rand.IntN(len(w.groups))
	to := (from + 1 + w.rand.IntN(len(w.groups)-1)) % len(w.groups)
	tag := w.rand.IntN(len(w.tags))
	slot := slotOf(w.tags[tag])
	w.mu.Lock()
	w.hot = tag
	w.mu.Unlock()
	first, last := slot, slot
	if w.rand.IntN(3) == 0 {
		first, last = max(0, slot-w.rand.IntN(300)), min(16383, slot+w.rand.IntN(300))
	}
	target := w.leader(to)
	if target == nil {
		return
	}
	for _, n := range w.groups[from] {
		reply := n.call("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last), "NODE", target.call("CLUSTER", "MYID"))
		if reply == "OK" {
			w.note("slots %d to %d go from group %d to %d", first, last, from, to)
			w.effect("moves")
			if w.rand.IntN(4) == 0 {
				w.pause(60)
				w.note("which is cancelled: %s", n.call("CLUSTER", "CANCELSLOTMIGRATIONS"))
				w.effect("cancelled")
			}
			return
		}
		w.note("%s is to give slots %d to %d: %s", n.host, first, last, reply)
	}
}

// leader returns the server that says that it leads a group, nil if none does.
func (w *world) leader(group int) *node {
	for _, n := range w.groups[group] {
		if strings.Contains(n.call("ROLE"), "master") {
			return n
		}
	}
	return nil
}

// String names a server in traces.
func (n *node) String() string { return fmt.Sprintf("%s (group %d)", n.host, n.group) }
