package commands

import (
	"context"
	"errors"
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Ctx is one call of a command: what a handler reads, works on and replies to.
// The server makes one for each client and uses it again for every call.
type Ctx struct {
	Command *Command
	Args    Args
	Reply   Reply

	// Tx is the transaction in which the keys of the call are locked and the
	// client's database is selected.
	Tx *persistence.Tx

	// Now is the time of the call in unix milliseconds. Every command of a
	// MULTI sees the same.
	Now int64

	Client *Client
	Table  *Table
	Host   Host

	// InMulti is set while EXEC runs: nothing may park.
	InMulti bool
	// InScript is set while a script runs, as InMulti is then.
	InScript bool
	// Woken is the key that changed when a parked call is run again, else nil.
	// Only this key, those that Reaches reports and the call's later keys may be touched then.
	Woken []byte

	// Take, if set, leaves the bytes of a long argument to the handler if it can, which
	// it reports: only the new owner writes to them, and not
	// before the locks of the call are released.
	Take func(arg []byte) bool

	// Lookups are the keys that commands have read since the server last took them.
	Lookups Lookups

	parked *Wait
	wait   Wait
	holds  int // of the last MayCompute
	later  func() error
	// CloseAfter asks the server to close the connection after the reply.
	CloseAfter bool
}

// Wait is what a parked call waits for.
type Wait struct {
	Keys    [][]byte           // any of them
	Millis  int64              // 0: forever
	Expired func(reply *Reply) // writes the reply of a wait that ended without a result
	Work    Work               // set by Compute: the call waits for its end, not for keys
	Holds   int                // bytes that Work holds

	// Rivals names for each key the calls that compete for the same things, as the
	// consumers of a group do: if there is nothing for one of them, the others behind
	// it are not run again. If it is nil, all calls of a family compete that wait for
	// the same key.
	Rivals []string
	// Removed runs the call again also when one of the keys is removed.
	Removed bool
	// Again runs the call again after so many ms even if no key has changed by
	// then; 0: only when one changes.
	Again int64
	// Until, if set, is asked in place of running the call again: the wait ends with the
	// reply of Expired as soon as it is true. It is called without locks, after Again ms
	// and then less and less often.
	Until func() bool
}

// Work is the part of a call that takes long and needs no lock. It reads only what the
// handler has copied for it, and returns soon after ctx has ended: the client has left,
// or the server is being closed. The function reply writes the reply.
type Work func(ctx context.Context) (reply func(*Reply), err error)

// Park makes the client wait until one of the keys changes, and then runs the
// command again. After millis milliseconds (0: never) expired writes the reply.
// Inside MULTI nothing waits: the reply is the one of a wait that has timed
// out.
func (c *Ctx) Park(keys [][]byte, millis int64, expired func(*Reply)) error {
	return c.ParkFor(Wait{Keys: keys, Millis: millis, Expired: expired})
}

// ParkFor is Park for a wait that is described in full.
func (c *Ctx) ParkFor(w Wait) error {
	if c.InMulti {
		w.Expired(&c.Reply)
		return nil
	}
	c.wait = w
	c.parked = &c.wait
	return nil
}

// MayCompute returns ErrComputeFull if there is no room for another
// computation, which would hold so many bytes. Handlers ask before they copy
// anything for Compute.
func (c *Ctx) MayCompute(holds int) error {
	if !c.InMulti && !c.Host.MayCompute(holds) {
		return ErrComputeFull
	}
	c.holds = holds
	return nil
}

// Compute replies with the result of work. The client waits, the locks of the
// call are released, and a worker of the server runs work when its turn has
// come. CLIENT UNBLOCK ends the wait with an error.
//
// Inside MULTI work runs at once, while the locks are held and no other client is
// served: handlers accept less work if InMulti is set.
func (c *Ctx) Compute(work Work) error {
	if c.InMulti {
		reply, err := work(context.Background())
		if err != nil {
			return err
		}
		reply(&c.Reply)
		return nil
	}
	c.wait = Wait{Work: work, Holds: c.holds, Expired: func(r *Reply) { r.Error(ErrUnblocked) }}
	c.parked = &c.wait
	return nil
}

// CheckDB returns why the call cannot use a database, nil if it can. In a cluster, the group may have members of a version that does
// not look for the keys of slots in other databases than 0.
func (c *Ctx) CheckDB(db int64) error {
	limits := c.Host.Limits()
	switch {
	case db < 0 || db >= int64(limits.Databases):
		return ErrDBIndex
	case db != 0 && limits.Slots && !limits.OneDatabase:
		return c.Tx.Require(persistence.LevelDatabases)
	}
	return nil
}

// Reaches reports whether a call looks at one of its keys. One that is run again looks at
// all that are locked by the command that woke it: that may have changed several, and no
// other can have changed.
func (c *Ctx) Reaches(key []byte) bool { return c.Woken == nil || c.Tx.Holds(key) }

// Parked takes the wait that the handler asked for, if it did.
func (c *Ctx) Parked() *Wait {
	w := c.parked
	c.parked = nil
	return w
}

// Later writes the rest of a reply when the locks of the call are released: a
// client that asks for much does not keep others from the same keys. write may use
// only what the handler has copied for it. It takes no locks and cannot fail. Inside
// MULTI, and when a parked call is run again, it runs at once.
func (c *Ctx) Later(write func()) {
	_ = c.TryLater(func() error { write(); return nil })
}

// TryLater is Later for what can fail: the error is the whole reply then. It returns that of a write that ran at once.
func (c *Ctx) TryLater(write func() error) error {
	if c.InMulti || c.Woken != nil {
		return write()
	}
	c.later = write
	return nil
}

// TakeLater takes what Later or TryLater was given, nil if neither was called.
func (c *Ctx) TakeLater() func() error {
	write := c.later
	c.later = nil
	return write
}

// Lookups are how many keys commands that read have found, and not found. What counts is
// the key: one of another type than expected is found.
type Lookups struct{ Hits, Misses int64 }

// Add counts one lookup.
func (l *Lookups) Add(found bool) {
	if found {
		l.Hits++
	} else {
		l.Misses++
	}
}

// Looked counts a lookup of a key to be read, whose outcome was found and err, and
// publishes a miss. It is not called for a key that is looked up only to be written.
func (c *Ctx) Looked(key []byte, found bool, err error) {
	if err != nil && !errors.Is(err, structures.ErrWrongType) {
		return // nobody knows whether it is there
	}
	found = found || err != nil
	c.Lookups.Add(found)
	if !found {
		c.Notify(EventMissed, "keymiss", key)
	}
}

// ViewString finds a string for a command that reads; ok is false if the key
// does not exist, which is published as a miss.
func (c *Ctx) ViewString(key []byte) (b []byte, ok bool, err error) {
	b, ok, err = c.Tx.String(key)
	c.Looked(key, ok, err)
	return b, ok, err
}

// RandomSeed draws the seed of a random generator.
func (c *Ctx) RandomSeed() uint64 {
	return uint64(c.Host.Random(math.MaxInt32))<<31 | uint64(c.Host.Random(math.MaxInt32))
}

// Notify publishes a keyspace event of the client's database, if events of the
// class are asked for. Events go out when the command has succeeded.
func (c *Ctx) Notify(class EventClass, event string, key []byte) {
	if c.Host.NotifyClasses()&class != 0 {
		c.Host.Notify(class, event, c.Client.DB(), key)
	}
}

// PartNames are the parts of a value that a call has changed, if events about parts are asked for.
type PartNames struct {
	wanted bool
	list   [][]byte
}

// PartNames returns what gathers the names of parts for NotifyParts.
func (c *Ctx) PartNames() PartNames {
	return PartNames{wanted: c.Host.NotifyClasses()&EventParts != 0}
}

// Add adds a part, which stays as it is up to NotifyParts.
func (p *PartNames) Add(part []byte) {
	if p.wanted {
		p.list = append(p.list, part)
	}
}

// NotifyParts is Notify of an event about parts of the key.
func (c *Ctx) NotifyParts(class EventClass, event string, key []byte, p *PartNames) {
	c.Notify(class, event, key)
	if len(p.list) > 0 && c.Host.NotifyClasses()&class != 0 {
		c.Host.(PartEvents).NotifyParts(class, event, c.Client.DB(), key, p.list)
	}
}

// NotifyNew publishes that a key is new, unless it exists: handlers call it just
// before they write. The key is looked up only if the event is published.
func (c *Ctx) NotifyNew(key []byte) {
	if c.Host.NotifyClasses()&EventNew != 0 && c.Tx.Kind(key) == structures.KindNone {
		c.Notify(EventNew, "new", key)
	}
}

// NotifyReplaced publishes that a key is new, or that its value gives way to another, of a kind: handlers
// that take no notice of what is there call it just before they write.
func (c *Ctx) NotifyReplaced(key []byte, kind structures.Kind) {
	if c.Host.NotifyClasses()&(EventNew|EventOverwritten|EventTypeChanged) == 0 {
		return
	}
	switch c.Tx.Kind(key) {
	case structures.KindNone:
		c.Notify(EventNew, "new", key)
	case kind:
		c.Notify(EventOverwritten, "overwritten", key)
	default:
		c.Notify(EventOverwritten, "overwritten", key)
		c.Notify(EventTypeChanged, "type_changed", key)
	}
}
