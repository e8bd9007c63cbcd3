package migrate

import (
	"context"
	"sync"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

// Group is the group of this server, which agrees on its assignment.
type Group interface {
	// Assignment returns the assignment that this server goes by, and whether it leads the group, as it knew a moment ago. It waits for nothing.
	Assignment() (now topology.Assignment, leads bool)
	// Agree changes the assignment of the group, and returns when the group has agreed. proposed reports whether the change may be made although
	// there is an error. Only a leader can.
	Agree(ctx context.Context, c topology.Change) (proposed bool, err error)
	// Leading returns the term in which this member leads the group, 0 if it does not.
	Leading() (term uint64)
	// Lease reports whether this member leads and no other one can, and how many of its leaderships have ended. It waits for nothing.
	Lease() (held bool, ends uint64)
	// Settled returns the assignment, and the entry of the log that says so, at a leader that has no successor, while no change of it is
	// under way.
	Settled() (index uint64, now topology.Assignment, err error)
}

// Network asks servers of other groups: a mesh.
type Network interface {
	Ask(ctx context.Context, address string, to uint64, request []byte) ([]byte, error)
}

// Options is what slots of a group need of its server. All fields are needed unless their comment says otherwise.
type Options struct {
	Group   Group
	Cluster *topology.Cluster
	Network Network
	Secret  string
	// Slots are those that the group claims when it begins; nil for none, unless All is set. It waits until all Contacts have replied.
	Slots    *slots.Set
	All      bool
	Contacts []string
	// Written reports whether the group has ever written data.
	Written func() (bool, error)
	// Refer says why this server does not do what a leader does, and where that is found; "" at a leader.
	Refer func() (why, leader string)
	Now   func() time.Duration // a monotonic clock
	Clock clock.Clock          // the time of day, and of pauses
	Done  context.Context      // ends with the server
	Go    func(f func())       // runs a function in a goroutine that whoever closes the server waits for
	Logf  logs.Func
	// Due reports whether something may be logged that was logged before.
	Due func(what string) bool
	// Databases, which may be nil, TakeKeys, RemoveKeys and OrderMove are those of handlers.Handlers.
	Databases  func() int
	TakeKeys   func(keys []byte, expected func() bool) error
	RemoveKeys func(ctx context.Context, of *slots.Set, allowed func() bool) error
	OrderMove  func(to string, of *slots.Set) error
}

// Slots is what a server does about the slots of its group, as its leader.
type Slots struct {
	opts    Options
	cluster *topology.Cluster
	periods int // exchanges in a row in which others told more of the own group; of Renew
	// importing is held while keys or slots are taken: none of an attempt come when its slots have.
	importing Turn

	mu       sync.Mutex
	leaving  *leaving          // the move that this leader makes; guarded by mu
	still    time.Duration     // by Now: until then none begins; guarded by mu
	emptied  map[uint64]uint64 // attempts before whose keys old ones were removed, to the term in which that was; guarded by mu
	emptying map[uint64]bool   // guarded by mu
}

// New returns the slots of a group. Nothing is done about them before Run.
func New(o Options) *Slots { return &Slots{opts: o, cluster: o.Cluster, importing: NewTurn()} }

// wall is the time of day, in milliseconds of Unix time.
func (o *Slots) wall() uint64 { return uint64(o.opts.Clock.Now().UnixMilli()) }

// now is the assignment that this server goes by.
func (o *Slots) now() topology.Assignment {
	c, _ := o.opts.Group.Assignment()
	return c
}

// leads reports whether this server leads the group, as it knew a moment ago.
func (o *Slots) leads() bool {
	_, leads := o.opts.Group.Assignment()
	return leads
}

// held reports whether it leads and no other one can.
func (o *Slots) held() bool {
	held, _ := o.opts.Group.Lease()
	return held
}

// ends counts the ends of its leaderships.
func (o *Slots) ends() uint64 {
	_, ends := o.opts.Group.Lease()
	return ends
}

// agree changes the assignment of the group, however long other changes take.
func (o *Slots) agree(ctx context.Context, next func(now topology.Assignment) (topology.Assignment, error), done func(now topology.Assignment) bool) error {
	_, err := o.opts.Group.Agree(ctx, topology.Change{Patient: true, Done: done,
		Next: func(_ uint64, now topology.Assignment) (topology.Assignment, error) { return next(now) }})
	return err
}
