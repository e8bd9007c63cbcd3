package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vigildb/vigil/commands"
)

// Section grow: a cluster of three groups becomes one of six while clients write. It fails if an acknowledged write is lost, or
// if the cluster is not whole afterwards.

const (
	growClients = 32
	// movePatience is how long all moves may take.
	movePatience = 10 * time.Minute
)

// growth is a run of the section.
type growth struct {
	shards
	phased

	slots, least  int // that have moved, and that had to
	keys          int // in slots that have moved
	sent          sent
	given, purged time.Duration // from REBALANCE until the slots are with the other groups, and until their keys are nowhere else
	messages      map[string]bool
}

func growing(o *options, r *report) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &growth{shards: shards{o: o, dir: dir, calls: newRouter(nil)}, messages: map[string]bool{}}
	defer g.stop()
	if err := g.add(3, true); err != nil {
		return err
	}
	if err := g.load(); err != nil {
		return err
	}
	err = g.amid(g.grow)
	g.report(r)
	return errors.Join(err, g.verify())
}

// load writes all keys with the clients.
func (g *growth) load() error {
	owners, err := g.owners(g.servers[0])
	if err != nil {
		return err
	}
	at := new(route)
	at.set(owners)
	return g.phased.load(growClients, g.o.growKeys, at)
}

// grow adds groups, and moves slots to them, while the clients write.
func (g *growth) grow() error {
	if err := g.during(before, g.cpu, undisturbed); err != nil {
		return err
	}
	if err := g.add(3, false); err != nil {
		return err
	}
	if err := g.during(meanwhile, g.cpu, g.rebalance); err != nil {
		return err
	}
	return g.during(after, g.cpu, undisturbed)
}

// rebalance moves slots to the new groups, and returns when all is done.
func (g *growth) rebalance() error {
	was, err := g.owners(g.servers[0])
	if err != nil {
		return err
	}
	g.least = leastMoved(was, len(g.masters))
	began := time.Now()
	if _, err := g.calls.at(g.masters[0].port, "VIGIL.CLUSTER", "REBALANCE"); err != nil {
		return fmt.Errorf("VIGIL.CLUSTER REBALANCE: %w", err)
	}
	for end := began.Add(movePatience); ; time.Sleep(20 * time.Millisecond) {
		if g.sent, err = g.moves(); err != nil {
			return err
		}
		for _, text := range g.sent.messages {
			if !g.messages[text] {
				g.messages[text] = true
				fmt.Fprintf(os.Stderr, "after %.2f s, %s\n", time.Since(began).Seconds(), text)
			}
		}
		keys := 0
		if g.sent.open == 0 {
			if g.given == 0 {
				g.given = time.Since(began)
			}
			if keys, err = g.size(); err != nil {
				return err
			}
			if keys == g.o.growKeys {
				break
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v %d moves are not over, and the masters have %d keys, not %d", movePatience, g.sent.open, keys, g.o.growKeys)
		}
	}
	g.purged = time.Since(began)
	if err := g.agree(); err != nil {
		return err
	}
	now, err := g.owners(g.servers[0])
	if err != nil {
		return err
	}
	for slot := range now {
		if now[slot] != was[slot] {
			g.slots++
		}
	}
	for _, n := range g.clients {
		for i := range n.keys {
			if slot := commands.KeySlot([]byte(n.keys[i].key)); now[slot] != was[slot] {
				g.keys++
			}
		}
	}
	return nil
}

// leastMoved is how many slots have to move until so many groups have the same number, or one more: each of the old ones keeps
// at most its share.
func leastMoved(was *[commands.Slots]int, groups int) int {
	have := map[int]int{}
	for _, port := range was {
		have[port]++
	}
	share, larger := commands.Slots/groups, commands.Slots%groups
	moved := commands.Slots
	for _, n := range have {
		if n > share && larger > 0 {
			larger--
			moved--
		}
		moved -= min(n, share)
	}
	return moved
}

// verify reads all keys back, and looks at the cluster.
func (g *growth) verify() error {
	err := errors.Join(each(g.clients, (*keyWriter).readBack), g.lost())
	for _, n := range g.clients {
		n.router.close()
	}
	keys, sized := g.size()
	if sized == nil && keys != g.o.growKeys {
		sized = fmt.Errorf("the masters have %d keys, not %d", keys, g.o.growKeys)
	}
	return errors.Join(err, sized, g.whole())
}

func (g *growth) report(r *report) {
	r.section("From three groups to six", fmt.Sprintf("%d clients of a Redis Cluster of three groups of %d with `appendfsync %s` write values of %d bytes to %d keys (`SET key value GET`, "+
		"so that each write shows whether the one before it is there), and follow `MOVED`. Three empty groups are added, and `VIGIL.CLUSTER REBALANCE` gives them their share. "+
		"At the end all keys are read: the section fails if an acknowledged write is lost, or if the cluster is not whole (`make bench-grow`). "+
		"Wanted are at most 1.15 times the least number of slots, no error, and 1.8 times the writes where each group has a processor: "+
		"all servers and the clients share those of one machine here, where six groups write less than three, as each one's loop serves fewer calls at a time.",
		growClients, g.o.growMembers, g.o.fsync, writtenBytes, g.o.growKeys))
	g.table(r, "while slots move", count{"MOVED", func(n *keyWriter) *[phases]int { return &n.moved }},
		count{"TRYAGAIN", func(n *keyWriter) *[phases]int { return &n.again }})
	g.summarise(r, g.perSecond(after)/max(g.perSecond(before), 1), g.acknowledged(preparing, before, meanwhile, after))
}

// summarise tells of what moved; faster is the writes per second after the moves by those before.
func (g *growth) summarise(r *report, faster float64, acknowledged int) {
	r.text(fmt.Sprintf("%d slots have moved, and %d is the least (%.2f). In them are %d keys; %d were sent (%.2f), as those are sent again that change meanwhile: %.1f MB. "+
		"After %.2f s all slots were with the new groups, and after %.2f s their keys nowhere else. The longest pause of a group was %d ms; %d attempts began again. "+
		"Writes after the moves are %.2f times those before. %d writes were acknowledged.",
		g.slots, g.least, float64(g.slots)/float64(max(1, g.least)), g.keys, g.sent.keys, float64(g.sent.keys)/float64(max(1, g.keys)), float64(g.sent.bytes)/1e6,
		g.given.Seconds(), g.purged.Seconds(), g.sent.pause, len(g.messages), faster, acknowledged))
	fmt.Fprintf(os.Stderr, "moved %d of %d slots, sent %d of %d keys, %.2f s, %.2f s with the removal, longest pause %d ms, %d acknowledged\n", g.slots, g.least, g.sent.keys, g.keys,
		g.given.Seconds(), g.purged.Seconds(), g.sent.pause, acknowledged)
}
