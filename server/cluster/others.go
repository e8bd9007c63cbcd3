package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/structures/slots"
)

// Several groups make a cluster: each has some of the slots. What a server tells others of its own
// group is what the log of the group and raft say; of other groups it repeats what it was told. Servers
// exchange their tables once a second, and at once when something changes. ADR 0062.

const (
	// lookPeriod is how often a server looks whether there is news of its own group.
	lookPeriod = 100 * time.Millisecond
	// exchangePeriod is how often it exchanges tables with one member of each other group, and
	// exchangeTimeout how long one may take.
	exchangePeriod  = time.Second
	exchangeTimeout = 2 * time.Second
	// tellPause is how long it waits after it has told everybody of a change, before it tells the next ones together: while
	// slots move, each group has news many times a second, of which every server tells every other one.
	tellPause = 20 * time.Millisecond
)

// Division is how the slots are divided among the groups, as far as this server knows. It is not
// changed any more.
type Division struct {
	Name   string       // of this server's group
	Slots  *slots.Set   // of this server's group
	Others []OtherGroup // in the order of their names
	// Arriving are slots that other groups have given to this server's, which has not taken them yet.
	Arriving *slots.Set
	// Covered says that every slot is one of a group, and that of every other group something was
	// heard lately.
	Covered bool
	whole   bool // the group has all slots
}

// OtherGroup is a group that this server is not of.
type OtherGroup struct {
	*Group
	Slots *slots.Set // that it has: the claim, without what more senior groups claim, and what was given to it
	Up    bool       // a member of it that hears its leader was heard lately
}

// others is what a node knows of the other groups, and its connections with them.
type others struct {
	n       *Node
	name    string // of the own group
	mesh    *mesh.Mesh
	changed chan struct{} // has room for one: there is news for the others

	division atomic.Pointer[Division]
	moves    moves

	mu      sync.Mutex
	table   table                    // without the own group; guarded by mu
	own     *Group                   // as it was told to others last; guarded by mu
	listens *slots.Set               // whose shard channels the own clients may hear, nil before that is known; guarded by mu
	heard   map[string]time.Duration // when a group was, by Now; guarded by mu
	met     map[string]bool          // contacts that have replied; guarded by mu
	contest string                   // what was logged of slots that others claim; guarded by mu
	outdone bool                     // a letter of this period tells more of the own group than its leader knows; guarded by mu
}

// newOthers returns the part of a node that knows the other groups, with the table that its
// directory has. It exchanges nothing before run.
func newOthers(n *Node, self *identity, logf func(format string, args ...any)) (*others, error) {
	t, err := decodeTable(self.Others)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	delete(t, self.Name)
	o := &others{n: n, name: self.Name, table: t, changed: make(chan struct{}, 1), heard: map[string]time.Duration{}, met: map[string]bool{}}
	o.mesh = mesh.New(mesh.Config{Cluster: clusterID(n.config.Secret), ID: meshID(self.Name, self.Member), Self: n.origin(self),
		Dial: n.dial, ReceivePublished: n.published, Respond: o.respond, MaxRequest: maxCarriedKeys + 1<<20, Refused: n.refusedByOthers, Logf: logf})
	o.reckon()
	return o, nil
}

// run exchanges tables until the node ends.
func (o *others) run() {
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	outdone := 0 // periods in a row
	var rested <-chan time.Time
	for last := time.Duration(-exchangePeriod); ; {
		everybody, more := o.await(tick.C, &rested)
		if !more {
			return
		}
		everybody = o.look() || everybody
		o.claimAtFirst()
		if now := Now(); everybody || now-last >= exchangePeriod {
			last = now
			outdone = o.claimAgain(outdone)
			o.visit(o.targets(everybody))
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

// look notes what is new of the own group, and reports whether there is anything.
func (o *others) look() bool {
	if o.n.runner.Load() == nil {
		return false
	}
	// What is read, and what follows from it, is one step: of two calls the later one must not be undone by the
	// earlier one, which would bring slots back that were given away.
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.n.ownGroup()
	if now.same(o.own) && slices.Equal(now.Members, o.own.Members) {
		return false
	}
	o.own = now
	o.reckonLocked()
	return true
}

// Division returns how the slots are divided, nil for a group whose clients see no cluster.
func (n *Node) Division() *Division {
	if n.runner.Load() == nil || n.others == nil {
		return nil
	}
	return n.others.division.Load()
}

// Name returns the name of the group, once this server has begun to take part.
func (n *Node) Name() string { return n.self.Name }

// Shard returns the slots of the group, nil for all, and whether all slots can be used.
func (n *Node) Shard() (own *slots.Set, covered bool) {
	switch d := n.Division(); {
	case n.config.Cluster == nil:
		return nil, true
	case d == nil:
		return new(slots.Set), false
	case d.whole:
		return nil, true
	default:
		return d.Slots, d.Covered
	}
}

// ownGroup is what this server says of its own group.
func (n *Node) ownGroup() *Group {
	r, m := n.runner.Load(), n.roster()
	v := r.view.Load()
	g := &Group{Name: n.self.Name, Index: m.Index, Claim: m.Claim, Term: v.Term, Leader: v.Leader}
	for _, id := range m.IDs() {
		g.Members = append(g.Members, GroupMember{ID: id, Address: n.addressIn(m, id), Learner: !m.Voter(id)})
	}
	return g
}

// targets are the addresses of clients of servers to exchange tables with: one member of each other group,
// or all of them, and the contacts of the configuration that no group names as a member.
func (o *others) targets(everybody bool) (addresses []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.table {
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
		if !known[contact] {
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
			o.n.tasks.Go(func() { // ends with exchangeTimeout
				err, level := o.exchange(o.n.ctx, address), LogInfo
				if fatalToServer(err) {
					level = LogWarn
				}
				if err != nil && o.n.refusals.due("exchange "+address+err.Error(), Now()) {
					o.n.config.Logf(level, "nothing is heard from %s: %v", address, err)
				}
			})
		}
	}
}

// exchange sends the table to a server and takes what that has.
func (o *others) exchange(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	bus, err := busOf(address)
	if err != nil {
		return err
	}
	reply, err := o.mesh.Ask(ctx, bus, 0, o.letter())
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
func appendLetter(b []byte, name string, hears bool, t table) []byte {
	b = append(appendText(b, name), 0)
	if hears {
		b[len(b)-1] = 1
	}
	return append(b, t.encode()...)
}

// respond implements mesh.Config.Respond. To what is neither a letter nor about a move it replies nothing.
func (o *others) respond(ctx context.Context, letter []byte) []byte {
	if reply := o.respondToMove(ctx, letter); reply != nil {
		return reply
	}
	if err := o.take(letter); err != nil {
		o.n.config.Logf(LogInfo, "a letter about other groups: %v", err)
		return nil
	}
	return o.letter()
}

// take takes a letter.
func (o *others) take(letter []byte) error {
	d := decoder{b: letter}
	sender, hears := d.text(maxGroupName), d.number() == 1
	if d.err != nil || len(d.b) == 0 {
		return errTable
	}
	t, err := decodeTable(d.b)
	if err != nil {
		return err
	}
	o.mu.Lock()
	news, kept := false, false
	for name, g := range t {
		before := o.table[name]
		if name == o.name {
			o.outdone = o.outdone || o.own != nil && o.own.outdone(g)
			continue
		}
		if before == nil && (len(g.Members) == 0 || !o.table.hasRoom()) {
			continue
		}
		if now := joined(before, g); now != before {
			o.table[name], news = now, true
			if before == nil {
				o.metLocked(name)
			}
			kept = kept || before == nil || now.Index != before.Index || now.Claim.Since != before.Claim.Since
		}
	}
	back := hears && sender != o.name && !o.upLocked(sender) // the group was not heard lately
	if hears && sender != o.name {
		o.heard[sender] = Now()
	}
	var text []byte
	if kept {
		text = o.table.encode()
	}
	o.mu.Unlock()
	if kept {
		o.n.note(func(self *identity) { self.Others = text })
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

// metLocked notes that others speak of a group for the first time: it is not lost before it could be heard.
func (o *others) metLocked(name string) {
	if _, ever := o.heard[name]; !ever {
		o.heard[name] = Now()
	}
}

// upLocked reports whether a group was heard lately.
func (o *others) upLocked(name string) bool {
	at, ever := o.heard[name]
	return ever && Now()-at < o.n.config.Cluster.Silence
}

// reckon divides the slots anew.
func (o *others) reckon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reckonLocked()
}

func (o *others) reckonLocked() {
	t, name := maps.Clone(o.table), o.name
	if o.own != nil {
		t[name] = o.own
	}
	of, come, taken := t.divide()
	d := &Division{Name: name, Slots: of[name].Union(nil), Covered: taken.Len() == slots.Count, Arriving: come[name].Union(nil)}
	d.whole = d.Slots.Len() == slots.Count
	roster := map[uint64]string{}
	for _, other := range slices.Sorted(maps.Keys(o.table)) {
		g := OtherGroup{Group: o.table[other], Slots: of[other].Union(come[other]), Up: o.upLocked(other)}
		if len(g.Members) == 0 {
			continue
		}
		d.Others = append(d.Others, g)
		d.Covered = d.Covered && (g.Up || g.Slots.Len() == 0)
		for _, m := range g.Members {
			if bus, err := busOf(m.Address); err == nil {
				roster[meshID(other, m.ID)] = bus
			}
		}
	}
	o.listenLocked(d.Slots, come)
	o.division.Store(d)
	o.mesh.SetPeers(roster)
	o.reportLocked(d)
}

// reportLocked logs that slots which this group claims are another one's.
func (o *others) reportLocked(d *Division) {
	if o.own == nil {
		return
	}
	lost := o.own.Claim.Slots.Without(d.Slots)
	text := ""
	for _, g := range d.Others {
		if theirs := lost.Both(g.Slots); theirs.Len() > 0 {
			text += fmt.Sprintf("; %s of group %q", theirs, g.Name)
		}
	}
	if text != o.contest && text != "" {
		o.n.config.Logf(LogWarn, "slots that this group claims are those of groups which have had slots for longer%s: clients are sent there, and keys of these slots that are here stay on disk, unseen", text)
	}
	o.contest = text
}

// refusedByOthers implements mesh.Config.Refused for connections with other groups.
func (n *Node) refusedByOthers(incoming bool, where string, why error) {
	if !errors.Is(why, io.EOF) && n.refusals.due(where+why.Error(), Now()) {
		n.config.Logf(LogNotice, "no connection with %s, of another group: %v (incoming: %v)", where, why, incoming)
	}
}
