package topology

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock"
)

// The exchange of tables with servers of other groups: when, with whom, and what is sent.

const (
	// lookPeriod is how often a server looks whether there is news of its own group.
	lookPeriod = 100 * time.Millisecond
	// ExchangeTimeout is how long an exchange may take.
	ExchangeTimeout = 2 * time.Second
	// broadcastPause is how long it waits after it has told everybody of a change, before it tells the next ones together: while
	// slots move, each group has news many times a second, which every server passes on to every other one.
	broadcastPause = 20 * time.Millisecond
)

// Run exchanges tables, and tells a steward of it, until the node ends.
func (c *Cluster) Run(s Steward) {
	var rested <-chan struct{}
	tick := clock.After(c.opts.Clock, lookPeriod)
	period := min(exchangePeriod, c.opts.Silence/4)
	for last := -period; ; {
		everybody, more := c.await(&tick, &rested)
		if !more {
			return
		}
		everybody = c.Look() || everybody
		s.First()
		c.announce()
		if now := c.opts.Now(); everybody || now-last >= period {
			last = now
			s.Renew(c.takeOutdone())
			c.visit(c.Targets(everybody))
			c.visitMembers(everybody)
			c.reckon() // a group may be silent by now
		}
	}
}

// takeOutdone reports whether others told more of the own group since the last time.
func (c *Cluster) takeOutdone() (outdone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	outdone, c.outdone = c.outdone, false
	return outdone
}

// await waits until run has something to do: a tick, or news for everybody, but not within broadcastPause of the last ones. rested
// is the end of that, nil if it is over. At the end of the node there is nothing more.
func (c *Cluster) await(tick, rested *<-chan struct{}) (everybody, more bool) {
	for {
		changed := c.changed
		if *rested != nil {
			changed = nil
		}
		select {
		case <-c.opts.Done.Done():
			return false, false
		case <-*tick:
			*tick = clock.After(c.opts.Clock, lookPeriod)
			return false, true
		case <-*rested:
			*rested = nil
		case <-changed:
			*rested = clock.After(c.opts.Clock, broadcastPause)
			return true, true
		}
	}
}

// Targets are the addresses of clients of servers to exchange tables with: one member of each other group,
// or all of them, and the contacts of the configuration that no group names as a member, until they reply: one that has replied, and
// is no member any more, has left. Removed groups are not
// among them: their servers ask by themselves when they come back.
func (c *Cluster) Targets(everybody bool) (addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	removed := c.removedLocked()
	for _, g := range c.table {
		if removed[g.Name] > 0 {
			continue
		}
		of := g.Members
		if n := len(of); n > 0 && !everybody {
			of = of[rand.IntN(n):][:1]
		}
		for _, m := range of {
			addresses = append(addresses, m.Address)
		}
	}
	known := map[string]bool{}
	for _, g := range c.table {
		for _, m := range g.Members {
			known[m.Address] = true
		}
	}
	for _, contact := range c.opts.Contacts {
		if !known[contact] && !c.met[contact] {
			addresses = append(addresses, contact)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// visit exchanges tables with servers, all at the same time.
func (c *Cluster) visit(addresses []string) {
	for _, address := range addresses {
		if address != "" && address != c.opts.Self.Address {
			c.contact(address, func(ctx context.Context) error { return c.Exchange(ctx, address) })
		}
	}
}

// visitMembers exchanges tables with another member of the own group by lot, or with all. Most of what a member knows it is told by other
// groups, as all are. But nobody else tells of a group that is dissolved when the server that was all of it has become a member of this one.
func (c *Cluster) visitMembers(everybody bool) {
	members := c.members()
	if !everybody {
		members = oneOf(members)
	}
	for s, address := range members {
		c.contact(address, func(ctx context.Context) error { return c.swap(ctx, address, MeshID(s.Group, s.Member)) })
	}
}

// contact calls visit in a goroutine, within ExchangeTimeout, and logs its error.
func (c *Cluster) contact(address string, visit func(ctx context.Context) error) {
	c.opts.Go(func() {
		ctx, cancel := context.WithTimeout(c.opts.Done, ExchangeTimeout)
		defer cancel()
		err, level := visit(ctx), logs.Info
		var stranger unrelated
		if c.opts.Strange(err) || errors.As(err, &stranger) {
			level = logs.Warn
		}
		if err != nil && c.opts.Due("exchange "+address+err.Error()) {
			c.opts.Logf(level, "nothing is heard from %s: %v", address, err)
		}
	})
}

// expected is the ID that the mesh of a server at an address is known to have; 0 for whoever is there. A server that
// has forgotten the cluster, by CLUSTER RESET, is another one: servers that have not heard of that would draw it back in.
func (c *Cluster) expected(address string) (id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, g := range c.table {
		for _, m := range g.Members {
			switch {
			case m.Address != address:
			case id != 0:
				return 0 // it changes its group
			default:
				id = MeshID(name, m.ID)
			}
		}
	}
	return id
}

// Exchange sends the table to the server that is expected at an address, and takes what that has.
func (c *Cluster) Exchange(ctx context.Context, address string) error {
	return c.ExchangeWith(ctx, address, c.expected(address))
}

// ExchangeWith is exchange with the server whose mesh has an ID, 0 for whoever is there.
func (c *Cluster) ExchangeWith(ctx context.Context, address string, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, ExchangeTimeout)
	defer cancel()
	if err := c.related(ctx, address); err != nil {
		return err
	}
	return c.swap(ctx, address, id)
}

// swap is exchangeWith for a server that is known to be of this cluster, within the time of ctx.
func (c *Cluster) swap(ctx context.Context, address string, id uint64) error {
	bus, err := BusOf(address)
	if err != nil {
		return err
	}
	reply, err := c.opts.Network.Ask(ctx, bus, id, c.Gossip())
	if err == nil {
		err = c.Take(reply)
	}
	if err == nil {
		c.mu.Lock()
		c.met[address] = true
		c.mu.Unlock()
	}
	return err
}

// Gossip is what this server tells others: its table, and whether it hears the leader of its group.
func (c *Cluster) Gossip() []byte {
	c.Look() // a server that has just begun is asked before it has looked by itself
	c.mu.Lock()
	if c.own == nil { // it has begun a moment ago
		c.mu.Unlock()
		c.Look()
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	t, hears := maps.Clone(c.table), false
	if c.own != nil && !c.opts.Own.Gone() {
		t[c.name] = c.own
		hears = c.own.Leader != 0
	}
	return AppendGossip(nil, c.name, hears, t)
}

// AppendGossip appends what servers send each other: the name of the group of the sender (a text), 1 if it
// hears a leader (1), and its table.
func AppendGossip(b []byte, name string, hears bool, t Table) []byte {
	b = append(AppendText(b, name), 0)
	if hears {
		b[len(b)-1] = 1
	}
	return append(b, t.Encode()...)
}

// Respond implements mesh.Config.Respond. To what it does not understand it replies nothing.
func (c *Cluster) Respond(ctx context.Context, request []byte) []byte {
	if reply := c.respondToServer(ctx, request); reply != nil {
		return reply
	}
	if err := c.Take(request); err != nil {
		c.opts.Logf(logs.Info, "gossip about other groups: %v", err)
		return nil
	}
	return c.Gossip()
}

// Take takes the gossip of another server.
func (c *Cluster) Take(gossip []byte) error {
	d := Decoder{Rest: gossip}
	sender, hears := d.Text(MaxGroupName), d.Number() == 1
	if d.Err != nil || len(d.Rest) == 0 {
		return errTable
	}
	t, err := decodeTable(d.Rest)
	if err != nil {
		return err
	}
	c.mu.Lock()
	news, kept, dissolved := false, false, false
	for name, g := range t {
		before := c.table[name]
		if name == c.name {
			c.outdone = c.outdone || sender != c.name && c.own != nil && c.own.outdone(g) // members differ for a moment
			dissolved = c.own != nil && c.own.Leader != c.opts.Self.Member && c.own.dissolvedBy(g)
			continue
		}
		if before == nil && (len(g.Members) == 0 || !c.table.hasRoom()) {
			continue
		}
		if now := joined(before, g); now != before {
			c.table[name], news = now, true
			if before == nil {
				c.metLocked(name)
			}
			kept = kept || before == nil || now.Index != before.Index || now.Assignment.Since != before.Assignment.Since
		}
	}
	back := hears && sender != c.name && !c.upLocked(sender) // the group was not heard lately
	if hears && sender != c.name {
		c.heard[sender] = c.opts.Now()
	}
	var text []byte
	if kept {
		text = c.table.Encode()
	}
	c.mu.Unlock()
	if dissolved { // the leader has left after this member, which has not heard that it was let go
		c.opts.Own.Dismiss("the group is dissolved")
	}
	if kept {
		c.opts.Own.Keep(text)
		c.Broadcast()
	}
	if news || back {
		c.reckon()
	}
	return nil
}

// Broadcast sends the table to everybody, soon.
func (c *Cluster) Broadcast() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}
