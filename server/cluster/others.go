package cluster

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// Several groups make a cluster: each has some of the slots. What a server tells others of its own
// group is what the log of the group and raft say; of other groups it repeats what it was told. Servers
// exchange their tables (exchange.go) once a second, and at once when something changes. ADR 0062.

// others is what a node knows of the other groups, and its connections with them.
type others struct {
	n       *Node
	name    string // of the own group
	mesh    *mesh.Mesh
	names   *topology.NameBook
	changed chan struct{} // has room for one: there is news for the others

	division atomic.Pointer[topology.Division]
	moves    moves
	began    time.Duration // by Now

	mu      sync.Mutex
	table   topology.Table           // without the own group; guarded by mu
	own     *topology.Group          // as it was told to others last; guarded by mu
	listens *slots.Set               // whose shard channels the own clients may hear, nil before that is known; guarded by mu
	heard   map[string]time.Duration // when a group was, by Now; guarded by mu
	met     map[string]bool          // contacts that have replied; guarded by mu
	contest string                   // what was logged of slots that others claim; guarded by mu
	lay     map[string]uint64        // the groups that lie buried, as was logged; guarded by mu
	parts   map[string]bool          // of a cluster snapshot that other groups are restored from; guarded by mu
	outdone bool                     // a letter of this period tells more of the own group than its leader knows; guarded by mu
}

// newOthers returns the part of a node that knows the other groups, with the table that its
// directory has. It exchanges nothing before run.
func newOthers(n *Node, self *topology.Identity, logf func(format string, args ...any)) (*others, error) {
	t, err := topology.DecodeTable(self.Others)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	delete(t, self.Name)
	o := &others{n: n, name: self.Name, table: t, changed: make(chan struct{}, 1), heard: map[string]time.Duration{}, met: map[string]bool{}, moves: moves{arrivals: newTurn()},
		began: n.monotonic(), names: topology.NewNameBook(self, n.config.Names)}
	o.mesh = mesh.New(mesh.Config{Cluster: topology.ClusterID(n.config.Secret), ID: topology.MeshID(self.Name, self.Member), Self: n.origin(self),
		Dial: n.dial, ReceivePublished: n.server.Published, Respond: o.respond, MaxRequest: maxCarriedKeys + 1<<20, Refused: n.refusedByOthers, Logf: logf})
	o.reckon()
	return o, nil
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
	if now.Same(o.own) && slices.Equal(now.Members, o.own.Members) {
		return false
	}
	o.own = now
	o.reckonLocked()
	return true
}

// Division returns how the slots are divided, nil for a group whose clients see no cluster.
func (n *Node) Division() *topology.Division {
	if n.runner.Load() == nil || n.others == nil {
		return nil
	}
	return n.others.division.Load()
}

// Name returns the name of the group, once this server has begun to take part.
func (n *Node) Name() string { return n.self.Name }

// Shard returns the slots of the group, nil for all, and whether all slots can be used.
func (s *Seat) Shard() (own *slots.Set, covered bool) {
	n := s.Node()
	switch d := n.Division(); {
	case n.config.Cluster == nil:
		return nil, true
	case d == nil:
		return new(slots.Set), false
	case d.Whole:
		return nil, true
	default:
		return d.Slots, d.Covered
	}
}

// ownGroup is what this server says of its own group.
func (n *Node) ownGroup() *topology.Group {
	r, m := n.runner.Load(), n.roster()
	v := r.Seen()
	g := &topology.Group{Name: n.self.Name, Index: m.Index, Claim: m.Claim, Term: v.Term, Leader: v.Leader}
	for _, id := range m.IDs() {
		g.Members = append(g.Members, topology.GroupMember{ID: id, Address: n.addressIn(m, id), Learner: !m.Voter(id)})
	}
	return g
}

// metLocked notes that others speak of a group for the first time: it is not lost before it could be heard.
func (o *others) metLocked(name string) {
	if _, ever := o.heard[name]; !ever {
		o.heard[name] = o.n.monotonic()
	}
}

// upLocked reports whether a group was heard lately.
func (o *others) upLocked(name string) bool {
	at, ever := o.heard[name]
	return ever && o.n.monotonic()-at < o.n.config.Cluster.Silence
}

func (o *others) up(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.upLocked(name)
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
	of, come, taken := t.Divide()
	d := &topology.Division{Name: name, Slots: of[name].Union(nil), Covered: taken.Len() == slots.Count, Arriving: come[name].Union(nil), Lie: t.Lying()}
	d.Whole = d.Slots.Len() == slots.Count
	roster := map[uint64]string{}
	for _, other := range slices.Sorted(maps.Keys(o.table)) {
		g := topology.OtherGroup{Group: o.table[other], Slots: of[other].Union(come[other]), Up: o.upLocked(other)}
		if len(g.Members) == 0 || d.Lies(other) {
			continue
		}
		d.Others = append(d.Others, g)
		d.Covered = d.Covered && (g.Up || g.Slots.Len() == 0)
		for _, m := range g.Members {
			if bus, err := topology.BusOf(m.Address); err == nil {
				roster[topology.MeshID(other, m.ID)] = bus
			}
		}
	}
	o.listenLocked(d.Slots, come)
	o.division.Store(d)
	o.mesh.SetPeers(roster)
	o.reportLocked(d)
	o.reportBurialsLocked(d.Lie)
}

// reportLocked logs that slots which this group claims are another one's.
func (o *others) reportLocked(d *topology.Division) {
	if o.own == nil || d.Lies(o.name) {
		return
	}
	lost := o.own.Claim.Slots.Without(d.Slots)
	text := ""
	for _, g := range d.Others {
		if theirs := lost.Both(g.Slots); theirs.Len() > 0 {
			text += fmt.Sprintf("; %s of %s", theirs, topology.GroupLabel(o.n.config.Secret, g.Name, g.Group))
		}
	}
	if text != o.contest && text != "" {
		o.n.config.Logf(raftnode.LogWarn, "slots that this group claims are those of groups which have had slots for longer%s: clients are sent there, and keys of these slots that are here stay on disk, unseen", text)
	}
	o.contest = text
}

// refusedByOthers implements mesh.Config.Refused for connections with other groups.
func (n *Node) refusedByOthers(incoming bool, where string, why error) {
	if !errors.Is(why, io.EOF) && n.refusals.due(where+why.Error(), n.monotonic()) {
		n.config.Logf(raftnode.LogNotice, "no connection with %s, of another group: %v (incoming: %v)", where, why, incoming)
	}
}
