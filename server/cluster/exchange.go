package cluster

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// The exchange of tables with servers of other groups: when, with whom, and what is sent.

const (
	// lookPeriod is how often a server looks whether there is news of its own group.
	lookPeriod = 100 * time.Millisecond
	// exchangeTimeout is how long an exchange may take.
	exchangeTimeout = 2 * time.Second
	// tellPause is how long it waits after it has told everybody of a change, before it tells the next ones together: while
	// slots move, each group has news many times a second, of which every server tells every other one.
	tellPause = 20 * time.Millisecond
)

// run exchanges tables until the node ends.
func (o *others) run() {
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	outdone := 0 // periods in a row
	var rested <-chan time.Time
	period := min(topology.ExchangePeriod, o.n.config.Cluster.Silence/4)
	for last := -period; ; {
		everybody, more := o.await(tick.C, &rested)
		if !more {
			return
		}
		everybody = o.look() || everybody
		o.claimAtFirst()
		o.announce()
		if now := o.n.monotonic(); everybody || now-last >= period {
			last = now
			outdone = o.claimAgain(outdone)
			o.adopt()
			o.visit(o.targets(everybody))
			o.visitMembers(everybody)
			o.reckon() // a group may be silent by now
		}
	}
}

// await waits until run has something to do: a tick, or news for everybody, but not within tellPause of the last ones. rested
// is the end of that, nil if it is over. At the end of the node there is nothing more.
func (o *others) await(tick <-chan time.Time, rested *<-chan time.Time) (everybody, more bool) {
	for {
		changed := o.changed
		if *rested != nil {
			changed = nil
		}
		select {
		case <-o.n.ctx.Done():
			return false, false
		case <-tick:
			return false, true
		case <-*rested:
			*rested = nil
		case <-changed:
			*rested = time.After(tellPause)
			return true, true
		}
	}
}

// targets are the addresses of clients of servers to exchange tables with: one member of each other group,
// or all of them, and the contacts of the configuration that no group names as a member, until they reply: one that has replied, and
// is no member any more, has left. Groups that lie buried are not
// among them: their servers ask by themselves when they come back.
func (o *others) targets(everybody bool) (addresses []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lie := o.lyingLocked()
	for _, g := range o.table {
		if lie[g.Name] > 0 {
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
	for _, g := range o.table {
		for _, m := range g.Members {
			known[m.Address] = true
		}
	}
	for _, contact := range o.n.config.Cluster.Contacts {
		if !known[contact] && !o.met[contact] {
			addresses = append(addresses, contact)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// visit exchanges tables with servers, all at the same time.
func (o *others) visit(addresses []string) {
	for _, address := range addresses {
		if address != "" && address != o.n.self.Address {
			o.contact(address, func(ctx context.Context) error { return o.exchange(ctx, address) })
		}
	}
}

// visitMembers exchanges tables with another member of the own group by lot, or with all. Most of what a member knows it is told by other
// groups, as all are. But nobody else tells of a group that is dissolved when the server that was all of it has become a member of this one.
func (o *others) visitMembers(everybody bool) {
	members := o.members()
	if !everybody {
		members = topology.OneOf(members)
	}
	for s, address := range members {
		o.contact(address, func(ctx context.Context) error { return o.swap(ctx, address, topology.MeshID(s.Group, s.Member)) })
	}
}

// contact has a server visited, within exchangeTimeout, and logs what keeps that from being done.
func (o *others) contact(address string, visit func(ctx context.Context) error) {
	o.n.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(o.n.ctx, exchangeTimeout)
		defer cancel()
		err, level := visit(ctx), raftnode.LogInfo
		var stranger unrelated
		if fatalToServer(err) || errors.As(err, &stranger) {
			level = raftnode.LogWarn
		}
		if err != nil && o.n.refusals.due("exchange "+address+err.Error(), o.n.monotonic()) {
			o.n.config.Logf(level, "nothing is heard from %s: %v", address, err)
		}
	})
}

// expected is the ID that the mesh of a server at an address has, as far as that is known; 0 for whoever is there. A server that
// has forgotten the cluster, by CLUSTER RESET, is another one: servers that have not heard of that would draw it back in.
func (o *others) expected(address string) (id uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, g := range o.table {
		for _, m := range g.Members {
			switch {
			case m.Address != address:
			case id != 0:
				return 0 // it changes its group
			default:
				id = topology.MeshID(name, m.ID)
			}
		}
	}
	return id
}

// exchange sends the table to the server that is expected at an address, and takes what that has.
func (o *others) exchange(ctx context.Context, address string) error {
	return o.exchangeWith(ctx, address, o.expected(address))
}

// exchangeWith is exchange with the server whose mesh has an ID, 0 for whoever is there.
func (o *others) exchangeWith(ctx context.Context, address string, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	if err := o.related(ctx, address); err != nil {
		return err
	}
	return o.swap(ctx, address, id)
}

// swap is exchangeWith for a server that is known to be of this cluster, within the time of ctx.
func (o *others) swap(ctx context.Context, address string, id uint64) error {
	bus, err := topology.BusOf(address)
	if err != nil {
		return err
	}
	reply, err := o.mesh.Ask(ctx, bus, id, o.letter())
	if err == nil {
		err = o.take(reply)
	}
	if err == nil {
		o.mu.Lock()
		o.met[address] = true
		o.mu.Unlock()
	}
	return err
}

// letter is what this server tells others: its table, and whether it hears the leader of its group.
func (o *others) letter() []byte {
	o.look() // a server that has just begun is asked before it has looked by itself
	o.mu.Lock()
	if o.own == nil { // it has begun a moment ago
		o.mu.Unlock()
		o.look()
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	t, hears := maps.Clone(o.table), false
	if o.own != nil && !o.n.gone.Load() {
		t[o.name] = o.own
		hears = o.own.Leader != 0
	}
	return appendLetter(nil, o.name, hears, t)
}

// appendLetter appends what servers send each other: the name of the group of the sender (a text), 1 if it
// hears a leader (1), and its table.
func appendLetter(b []byte, name string, hears bool, t topology.Table) []byte {
	b = append(topology.AppendText(b, name), 0)
	if hears {
		b[len(b)-1] = 1
	}
	return append(b, t.Encode()...)
}

// respond implements mesh.Config.Respond. To what it does not understand it replies nothing.
func (o *others) respond(ctx context.Context, letter []byte) []byte {
	if reply := o.respondToMove(ctx, letter); reply != nil {
		return reply
	}
	if reply := o.respondToServer(ctx, letter); reply != nil {
		return reply
	}
	if err := o.take(letter); err != nil {
		o.n.config.Logf(raftnode.LogInfo, "a letter about other groups: %v", err)
		return nil
	}
	return o.letter()
}

// take takes a letter.
func (o *others) take(letter []byte) error {
	d := topology.Decoder{Rest: letter}
	sender, hears := d.Text(topology.MaxGroupName), d.Number() == 1
	if d.Err != nil || len(d.Rest) == 0 {
		return topology.ErrTable
	}
	t, err := topology.DecodeTable(d.Rest)
	if err != nil {
		return err
	}
	o.mu.Lock()
	news, kept, dissolved := false, false, false
	for name, g := range t {
		before := o.table[name]
		if name == o.name {
			o.outdone = o.outdone || sender != o.name && o.own != nil && o.own.Outdone(g) // members differ for a moment
			dissolved = o.own != nil && o.own.Leader != o.n.self.Member && o.own.DissolvedBy(g)
			continue
		}
		if before == nil && (len(g.Members) == 0 || !o.table.HasRoom()) {
			continue
		}
		if now := topology.Joined(before, g); now != before {
			o.table[name], news = now, true
			if before == nil {
				o.metLocked(name)
			}
			kept = kept || before == nil || now.Index != before.Index || now.Claim.Since != before.Claim.Since
		}
	}
	back := hears && sender != o.name && !o.upLocked(sender) // the group was not heard lately
	if hears && sender != o.name {
		o.heard[sender] = o.n.monotonic()
	}
	var text []byte
	if kept {
		text = o.table.Encode()
	}
	o.mu.Unlock()
	if dissolved { // the leader has left after this member, which has not heard that it was let go
		o.n.dismiss("the group is dissolved")
	}
	if kept {
		o.n.note(func(self *topology.Identity) { self.Others = text })
		o.tell()
	}
	if news || back {
		o.reckon()
	}
	return nil
}

// tell has the table sent to everybody.
func (o *others) tell() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}
