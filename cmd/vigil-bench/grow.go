package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// Section grow: a cluster of three groups becomes one of six while clients write. It fails if an acknowledged write is lost, or
// if the cluster is not whole afterwards.

// Phases of a run.
const (
	preparing = iota
	before
	moving
	after
	phases
)

const (
	growClients = 32
	// growSeconds is how long writes are measured before the slots move, and afterwards.
	growSeconds = 5
	// movePatience is how long all moves may take.
	movePatience = 10 * time.Minute
)

// growth is a run of the section.
type growth struct {
	shards
	clients []*keyWriter
	phase   atomic.Int32
	seconds [phases]float64
	cpu     [phases]float64

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
	err = g.grow()
	g.report(r)
	return errors.Join(err, g.verify())
}

// load makes the clients, and has them write all keys.
func (g *growth) load() error {
	owners, err := g.owners(g.servers[0])
	if err != nil {
		return err
	}
	at := new(route)
	at.set(owners)
	for range growClients {
		g.clients = append(g.clients, &keyWriter{router: newRouter(at)})
	}
	for i := range g.o.growKeys {
		n := g.clients[i%growClients]
		n.keys = append(n.keys, written{key: fmt.Sprintf("key:%012d", i)})
	}
	return each(g.clients, (*keyWriter).fill)
}

// grow has the clients write while groups are added and slots move.
func (g *growth) grow() (err error) {
	var stop atomic.Bool
	ended := make(chan error, 1)
	go func() { // ends when stop is set, which is awaited below
		ended <- each(g.clients, func(n *keyWriter) error {
			n.run(&g.phase, &stop, uint64(slices.Index(g.clients, n)))
			return nil
		})
	}()
	defer func() {
		stop.Store(true)
		err = errors.Join(err, <-ended)
	}()
	wait := func() error { time.Sleep(growSeconds * time.Second); return nil }
	time.Sleep(time.Second) // connections are made, and memory is touched
	if err := g.during(before, wait); err != nil {
		return err
	}
	if err := g.add(3, false); err != nil {
		return err
	}
	if err := g.during(moving, g.rebalance); err != nil {
		return err
	}
	return g.during(after, wait)
}

// during measures a phase.
func (g *growth) during(phase int32, do func() error) error {
	cpu, began := g.shards.cpu(), time.Now()
	g.phase.Store(phase)
	err := do()
	g.phase.Store(preparing)
	g.seconds[phase], g.cpu[phase] = time.Since(began).Seconds(), g.shards.cpu()-cpu
	return err
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
	err := each(g.clients, (*keyWriter).readBack)
	var lost []string
	for _, n := range g.clients {
		lost = append(lost, n.lost...)
		n.router.close()
	}
	if len(lost) > 0 {
		err = errors.Join(err, fmt.Errorf("%d acknowledged writes are lost: %s", len(lost), strings.Join(lost[:min(len(lost), 10)], "; ")))
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
	r.row("", "before", "while slots move", "after")
	r.rule(4)
	row := func(name, format string, of func(phase int) any) {
		cells := []string{name}
		for phase := before; phase < phases; phase++ {
			cells = append(cells, fmt.Sprintf(format, of(phase)))
		}
		r.row(cells...)
	}
	took, acknowledged := g.latencies()
	count := func(of func(n *keyWriter) *[phases]int) func(phase int) any {
		return func(phase int) any {
			sum := 0
			for _, n := range g.clients {
				sum += of(n)[phase]
			}
			return sum
		}
	}
	at := func(part float64) func(phase int) any {
		return func(phase int) any {
			all := took[phase]
			if len(all) == 0 {
				return 0.0
			}
			return all[int(part*float64(len(all)-1))].Seconds() * 1000
		}
	}
	perSecond := func(phase int) float64 { return float64(len(took[phase])) / max(g.seconds[phase], 1e-9) }
	row("seconds", "%.1f", func(phase int) any { return g.seconds[phase] })
	row("writes /s", "%.0f", func(phase int) any { return perSecond(phase) })
	row("us CPU of all servers for a write", "%.1f", func(phase int) any { return g.cpu[phase] / float64(max(1, len(took[phase]))) * 1e6 })
	row("p50, ms", "%.2f", at(0.5))
	row("p99, ms", "%.2f", at(0.99))
	row("longest, ms", "%.0f", at(1))
	row("MOVED", "%d", count(func(n *keyWriter) *[phases]int { return &n.moved }))
	row("TRYAGAIN", "%d", count(func(n *keyWriter) *[phases]int { return &n.again }))
	row("errors", "%d", count(func(n *keyWriter) *[phases]int { return &n.failed }))
	g.summarise(r, perSecond(after)/max(perSecond(before), 1), acknowledged)
}

// latencies returns how long the writes of each phase took, in order, and how many there were.
func (g *growth) latencies() (took [phases][]time.Duration, acknowledged int) {
	for phase := range phases {
		for _, n := range g.clients {
			took[phase] = append(took[phase], n.took[phase]...)
		}
		slices.Sort(took[phase])
		acknowledged += len(took[phase])
	}
	return took, acknowledged
}

// summarise tells of what moved; faster is the writes per second after the moves by those before.
func (g *growth) summarise(r *report, faster float64, acknowledged int) {
	for _, n := range g.clients {
		if n.first != nil {
			fmt.Fprintln(os.Stderr, "an error of a client:", n.first)
		}
	}
	r.text(fmt.Sprintf("%d slots have moved, and %d is the least (%.2f). In them are %d keys; %d were sent (%.2f), as those are sent again that change meanwhile: %.1f MB. "+
		"After %.2f s all slots were with the new groups, and after %.2f s their keys nowhere else. The longest pause of a group was %d ms; %d attempts began again. "+
		"Writes after the moves are %.2f times those before. %d writes were acknowledged.",
		g.slots, g.least, float64(g.slots)/float64(max(1, g.least)), g.keys, g.sent.keys, float64(g.sent.keys)/float64(max(1, g.keys)), float64(g.sent.bytes)/1e6,
		g.given.Seconds(), g.purged.Seconds(), g.sent.pause, len(g.messages), faster, acknowledged))
	fmt.Fprintf(os.Stderr, "moved %d of %d slots, sent %d of %d keys, %.2f s, %.2f s with the removal, longest pause %d ms, %d acknowledged\n", g.slots, g.least, g.sent.keys, g.keys,
		g.given.Seconds(), g.purged.Seconds(), g.sent.pause, acknowledged)
}
