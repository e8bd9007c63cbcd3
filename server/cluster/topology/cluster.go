package topology

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

// Several groups make a cluster: each has some of the slots. What a server tells others of its own
// group is what the log of the group and raft say; of other groups it repeats what it was told. Servers
// exchange their tables (exchange.go) once a second, and at once when something changes. ADR 0062.

// Own is the group of this server.
type Own interface {
	// Group returns what this server says of the group; nil before it takes part.
	Group() *Group
	// Gone reports whether the server has left the group.
	Gone() bool
	// Dismiss is called when others say that the server has left it.
	Dismiss(why string)
	// Keep notes a table in the directory.
	Keep(table []byte)
	// Last returns the last entry of the log of the group.
	Last() uint64
}

// Network reaches the servers of other groups: a mesh.
type Network interface {
	Ask(ctx context.Context, address string, to uint64, request []byte) ([]byte, error)
	SetPeers(addresses map[uint64]string)
}

// Steward is what a leader does about the assignment of its group.
type Steward interface {
	// First is called each time that the own group was looked at.
	First()
	// Renew is called before tables are exchanged with another server of each group; outdone says that others told more of the own
	// group, since the last time, than this server knows.
	Renew(outdone bool)
}

// Options is what a cluster needs of its server. All fields are needed unless their comment says otherwise.
type Options struct {
	Self    *Identity // which is not changed
	Secret  string
	Own     Own
	Network Network
	// Contacts are addresses of servers of other groups, and Silence is for how long a group may not be heard before it counts as lost.
	Contacts []string
	Silence  time.Duration
	// Names returns what this server announces; nil for nothing.
	Names func() Names
	Now   func() time.Duration // a monotonic clock
	Clock clock.Clock          // the time of day, and of pauses
	Done  context.Context      // ends with the server
	Go    func(f func())       // runs a function in a goroutine that whoever closes the server waits for
	Logf  logs.Func
	// Due reports whether something may be logged that was logged before.
	Due func(what string) bool
	// Strange reports whether an error says that a server is of another cluster, or of a version that this one does not understand.
	Strange func(error) bool
	// ShardChannels and Asked are those of handlers.Handlers, which may be nil.
	ShardChannels func(of *slots.Set)
	Asked         func(ctx context.Context, request []byte) (reply []byte)
}

// Cluster is what a server knows of the groups of its cluster, and tells others.
type Cluster struct {
	opts    Options
	name    string // of the own group
	names   *nameBook
	changed chan struct{} // has room for one: there is news for the others

	division atomic.Pointer[Division]
	began    time.Duration // by Now

	mu      sync.Mutex
	table   Table                    // without the own group; guarded by mu
	own     *Group                   // as it was told to others last; guarded by mu
	listens *slots.Set               // whose shard channels the own clients may hear, nil before that is known; guarded by mu
	heard   map[string]time.Duration // when a group was, by Now; guarded by mu
	met     map[string]bool          // contacts that have replied; guarded by mu
	contest string                   // what was logged of slots that others claim; guarded by mu
	removed map[string]uint64        // removed groups, as was logged; guarded by mu
	parts   map[string]bool          // of a cluster snapshot that other groups are restored from; guarded by mu
	outdone bool                     // gossip of this period tells more of the own group than its leader knows; guarded by mu
}

// New returns the cluster as the directory of a server knows it. It exchanges nothing before Run.
func New(o Options) (*Cluster, error) {
	t, err := decodeTable(o.Self.Others)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	delete(t, o.Self.Name)
	c := &Cluster{opts: o, name: o.Self.Name, table: t, changed: make(chan struct{}, 1), heard: map[string]time.Duration{}, met: map[string]bool{},
		began: o.Now(), names: newNameBook(o.Self, o.Names)}
	c.reckon()
	return c, nil
}

// Division returns how the slots are divided, by what this server knows.
func (c *Cluster) Division() *Division { return c.division.Load() }

// Name returns the name of the own group.
func (c *Cluster) Name() string { return c.name }

// Announced returns the names of the servers.
func (c *Cluster) Announced() *Announced { return c.names.look() }

// Look notes what is new of the own group, and reports whether there is anything.
func (c *Cluster) Look() bool {
	// What is read, and what follows from it, is one step: of two calls the later one must not be undone by the
	// earlier one, which would bring slots back that were given away.
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Own.Group()
	if now == nil {
		return false
	}
	if now.same(c.own) && slices.Equal(now.Members, c.own.Members) {
		return false
	}
	c.own = now
	c.reckonLocked()
	return true
}

// metLocked notes that others speak of a group for the first time: it is not lost before it could be heard.
func (c *Cluster) metLocked(name string) {
	if _, ever := c.heard[name]; !ever {
		c.heard[name] = c.opts.Now()
	}
}

// upLocked reports whether a group was heard lately.
func (c *Cluster) upLocked(name string) bool {
	at, ever := c.heard[name]
	return ever && c.opts.Now()-at < c.opts.Silence
}

func (c *Cluster) Up(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.upLocked(name)
}

// reckon divides the slots anew.
func (c *Cluster) reckon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reckonLocked()
}

func (c *Cluster) reckonLocked() {
	t, name := maps.Clone(c.table), c.name
	if c.own != nil {
		t[name] = c.own
	}
	of, come, taken := t.divide()
	d := &Division{Name: name, Slots: of[name].Union(nil), Covered: taken.Len() == slots.Count, Importing: come[name].Union(nil), RemovedAt: t.removed()}
	d.Whole = d.Slots.Len() == slots.Count
	roster := map[uint64]string{}
	for _, other := range slices.Sorted(maps.Keys(c.table)) {
		g := OtherGroup{Group: c.table[other], Slots: of[other].Union(come[other]), Up: c.upLocked(other)}
		if len(g.Members) == 0 || d.Removed(other) {
			continue
		}
		d.Others = append(d.Others, g)
		d.Covered = d.Covered && (g.Up || g.Slots.Len() == 0)
		for _, m := range g.Members {
			if bus, err := BusOf(m.Address); err == nil {
				roster[MeshID(other, m.ID)] = bus
			}
		}
	}
	c.listenLocked(d.Slots, come)
	c.division.Store(d)
	c.opts.Network.SetPeers(roster)
	c.reportLocked(d)
	c.reportRemovedLocked(d.RemovedAt)
}

// reportLocked logs that slots which this group claims are another one's.
func (c *Cluster) reportLocked(d *Division) {
	if c.own == nil || d.Removed(c.name) {
		return
	}
	lost := c.own.Assignment.Slots.Without(d.Slots)
	text := ""
	for _, g := range d.Others {
		if theirs := lost.Both(g.Slots); theirs.Len() > 0 {
			text += fmt.Sprintf("; %s of %s", theirs, GroupLabel(c.opts.Secret, g.Name, g.Group))
		}
	}
	if text != c.contest && text != "" {
		c.opts.Logf(logs.Warn, "slots that this group claims are those of groups which have had slots for longer%s: clients are sent there, and keys of these slots that are here stay on disk, unseen", text)
	}
	c.contest = text
}
