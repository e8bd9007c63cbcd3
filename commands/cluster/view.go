package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// seen is a call about the group.
func seen(run func(c *commands.Ctx, m *commands.Membership) error) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		m := c.Membership()
		if m == nil {
			return errNotKnown
		}
		return run(c, m)
	}
}

// state says whether keys can be used, by what this member knows.
func state(c *commands.Ctx, m *commands.Membership) string {
	switch all := m.Shards(); {
	case !all[0].Up, all[0].Slots.Len() < commands.Slots && !m.Covered && c.Host.Limits().AllSlots:
		return "fail"
	}
	return "ok"
}

func info(c *commands.Ctx, m *commands.Membership) error {
	var b strings.Builder
	field := func(name string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", name, value) }
	assigned, working, masters, known, epoch := 0, 0, 0, 0, uint64(0)
	for _, shard := range m.Shards() {
		epoch = max(epoch, shard.Term)
		known += len(shard.Members)
		n := shard.Slots.Len()
		if shard.Leader < 0 || n == 0 {
			continue
		}
		assigned, masters = assigned+n, masters+1
		if shard.Up {
			working += n
		}
	}
	field("cluster_state", state(c, m))
	field("cluster_slots_assigned", assigned)
	field("cluster_slots_ok", working)
	field("cluster_slots_pfail", 0)
	field("cluster_slots_fail", assigned-working)
	field("cluster_known_nodes", known)
	field("cluster_size", masters)
	field("cluster_current_epoch", epoch)
	field("cluster_my_epoch", m.Term)
	field("cluster_stats_messages_sent", 0)
	field("cluster_stats_messages_received", 0)
	field("total_cluster_links_buffer_limit_exceeded", 0)
	c.Reply.Verbatim("txt", []byte(b.String()))
	return nil
}

func myID(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.BulkString(m.Members[m.Self].ID)
	return nil
}

func myShardID(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.BulkString(m.ID)
	return nil
}

func nodes(c *commands.Ctx, m *commands.Membership) error {
	var lines []string // each group in the order of the numbers
	all := m.Shards()
	for k := range all {
		of := make([]string, len(all[k].Members))
		each(m, &all[k], k == 0, func(n node) {
			if n.listed {
				of[n.i] = n.line(c) + "\n"
			}
		})
		lines = append(lines, of...)
	}
	c.Reply.Verbatim("txt", []byte(strings.Join(lines, "")))
	return nil
}

func replicas(c *commands.Ctx, n node) error {
	if !n.leads {
		return errNotMaster
	}
	var lines []string
	each(n.m, n.shard, n.own, func(o node) {
		if !o.leads && !o.Hidden() {
			lines = append(lines, o.line(c))
		}
	})
	c.Reply.Strings(lines)
	return nil
}

func countReports(c *commands.Ctx, _ node) error {
	c.Reply.Int(0)
	return nil
}

// slotNodes lists for each range of slots, in their order, the leader, be it there or not, and the followers that are.
func slotNodes(c *commands.Ctx, m *commands.Membership) error {
	type part struct {
		slots.Range
		shard int
	}
	var parts []part
	all := m.Shards()
	for k := range all {
		if all[k].Leader < 0 {
			continue
		}
		for _, r := range all[k].Slots.Ranges() {
			parts = append(parts, part{r, k})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.First - b.First })
	c.Reply.Array(len(parts))
	for _, p := range parts {
		c.Reply.ArrayLater(func() int {
			c.Reply.Int(int64(p.First))
			c.Reply.Int(int64(p.Last))
			n := 2
			each(m, &all[p.shard], p.shard == 0, func(o node) {
				if !o.leads && (o.Hidden() || !o.usable) {
					return
				}
				o.listSlots(c)
				n++
			})
			return n
		})
	}
	return nil
}

func shards(c *commands.Ctx, m *commands.Membership) error {
	all := m.Shards()
	c.Reply.Array(len(all))
	for k := range all {
		c.Reply.Map(2)
		c.Reply.BulkString("slots")
		var ranges []slots.Range
		if all[k].Leader >= 0 {
			ranges = all[k].Slots.Ranges()
		}
		c.Reply.Array(2 * len(ranges))
		for _, r := range ranges {
			c.Reply.Int(int64(r.First))
			c.Reply.Int(int64(r.Last))
		}
		c.Reply.BulkString("nodes")
		c.Reply.ArrayLater(func() (n int) {
			each(m, &all[k], k == 0, func(o node) {
				if o.leads || !o.Hidden() {
					o.describe(c)
					n++
				}
			})
			return n
		})
	}
	return nil
}

// links lists a connection in each direction for every other node that is there. How old it
// is and what waits in it is not told.
func links(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.ArrayLater(func() (count int) {
		eachNode(m, func(n node) {
			if n.myself || n.Hidden() || !n.usable {
				return
			}
			for _, direction := range []string{"to", "from"} {
				c.Reply.Map(6)
				text := func(name, value string) { c.Reply.BulkString(name); c.Reply.BulkString(value) }
				zero := func(name string) { c.Reply.BulkString(name); c.Reply.Int(0) }
				text("direction", direction)
				text("node", n.ID)
				zero("create-time")
				text("events", "r")
				zero("send-buffer-allocated")
				zero("send-buffer-used")
				count++
			}
		})
		return count
	})
	return nil
}
