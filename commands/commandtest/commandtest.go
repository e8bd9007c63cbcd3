// Package commandtest runs the handlers of commands without a server, for the
// tests of their families.
package commandtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Rig runs handlers as the server does, without one: it locks, calls, commits
// and returns the reply as it goes over the wire.
type Rig struct {
	T     testing.TB
	Store *persistence.Store
	Ctx   commands.Ctx

	Limits     commands.Limits     // what Host.Limits returns
	Classes    commands.EventClass // of the events that are asked for
	Events     []string            // those that were published: name and key
	UnderLocks int                 // bytes of the last reply that were written under the locks
	Unlocked   []string            // keys that calls do not lock, as those that wait and are run again

	keys []commands.KeyRef
}

// host is the part of a server that every family needs. A test of a family that needs
// more puts a host of its own into Rig.Ctx, with this one embedded.
type host struct{ r *Rig }

func (h host) Limits() *commands.Limits         { return &h.r.Limits }
func (h host) Random(n int) int                 { return n / 3 }
func (h host) MayCompute(int) bool              { return true }
func (h host) Membership() *commands.Membership { return nil }

// Synced and Copies are keys.Durability.
func (h host) Synced(*commands.Ctx, bool) bool       { return true }
func (h host) Copies(*commands.Ctx, bool) func() int { return func() int { return 0 } }

func (h host) NotifyClasses() commands.EventClass { return h.r.Classes }
func (h host) Notify(_ commands.EventClass, event string, _ int, key []byte) {
	h.r.Events = append(h.r.Events, event+" "+string(key))
}
func (h host) NotifyParts(commands.EventClass, string, int, []byte, [][]byte) {}

// New makes a Rig with an empty store in memory, for the commands of groups.
func New(t testing.TB, groups ...commands.Group) *Rig {
	t.Helper()
	table, err := commands.NewTable(groups)
	if err != nil {
		t.Fatal(err)
	}
	store, err := persistence.Open(persistence.Options{InMemory: true, Seed: 1, IdleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &Rig{T: t, Store: store}
	r.Limits = commands.Limits{Databases: 16, MaxBulk: 512 << 20, HLLSparseMax: 3000, ModuleMemoryLimit: 1 << 30, Filters: commands.StandardFilters()}
	r.Ctx = commands.Ctx{Tx: store.NewTx(), Table: table, Host: &host{r: r}, Client: new(commands.Client), Now: 1_700_000_000_000}
	r.Ctx.Reply = commands.NewReply(nil, 2)
	return r
}

// Do runs a call and returns its reply, valid until the next.
func (r *Rig) Do(argv [][]byte) []byte {
	c := &r.Ctx
	cmd, sub := c.Table.Lookup(argv)
	c.Command = cmd
	first := 1
	if sub {
		first = 2
	}
	c.Args.Reset(argv, first)
	c.Reply.Rewind(0)
	var set persistence.Shards
	if cmd.Everywhere(argv) {
		set.AddAll()
	}
	r.keys = cmd.AppendKeys(r.keys[:0], argv)
	for _, k := range r.keys {
		if key := argv[k.Index]; !slices.Contains(r.Unlocked, string(key)) {
			set.Add(r.Store.Hash(key))
		}
	}
	c.Tx.Lock(&set, c.Now)
	c.Tx.Select(0)
	err := cmd.Run(c)
	c.Tx.Commit()
	c.Tx.Unlock()
	r.UnderLocks = c.Reply.Len()
	if write := c.TakeLater(); write != nil && err == nil {
		err = write()
	}
	if err != nil {
		c.Reply.Rewind(0)
		text, _ := commands.Text(err)
		c.Reply.Error(text)
	}
	return c.Reply.Encoded()
}

// Call is Do for strings.
func (r *Rig) Call(args ...string) string { return string(r.Do(Argv(args...))) }

// Argv makes the arguments of a call of strings.
func Argv(args ...string) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = []byte(a)
	}
	return out
}

// Want checks the reply of a call.
func (r *Rig) Want(reply string, args ...string) {
	r.T.Helper()
	if got := r.Call(args...); got != reply {
		r.T.Errorf("%q: got %q, want %q", args, got, reply)
	}
}

// Put gives a key a value, without a command.
func (r *Rig) Put(key string, value structures.Value) {
	var set persistence.Shards
	set.AddAll()
	r.Ctx.Tx.Lock(&set, r.Ctx.Now)
	if err := persistence.Replace(r.Ctx.Tx, []byte(key), value, persistence.NoExpiry); err != nil {
		r.T.Error(err)
	}
	r.Ctx.Tx.Commit()
	r.Ctx.Tx.Unlock()
}

// Journal is the number of bytes recorded so far.
func (r *Rig) Journal() int64 {
	s := r.Store.Stats()
	return s.JournalBytes + s.PendingBytes
}

// WantEvents checks and then forgets the keyspace events so far.
func (r *Rig) WantEvents(events ...string) {
	r.T.Helper()
	if !slices.Equal(r.Events, events) {
		r.T.Errorf("events: got %q, want %q", r.Events, events)
	}
	r.Events = r.Events[:0]
}

// SplitBulks takes the strings out of an encoded array of strings.
func SplitBulks(reply string) (out []string) {
	var n, size int
	if _, err := fmt.Sscanf(reply, "*%d\r\n", &n); err != nil {
		return nil
	}
	reply = reply[len(fmt.Sprintf("*%d\r\n", n)):]
	for range n {
		if _, err := fmt.Sscanf(reply, "$%d\r\n", &size); err != nil {
			return nil
		}
		head := len(fmt.Sprintf("$%d\r\n", size))
		out = append(out, reply[head:head+size])
		reply = reply[head+size+2:]
	}
	return out
}

// Payload returns the payload with which DUMP replies for an existing key.
func (r *Rig) Payload(key string) string {
	r.T.Helper()
	bulks := SplitBulks("*1\r\n" + r.Call("DUMP", key))
	if len(bulks) != 1 {
		r.T.Fatalf("DUMP %s: got %d bulks", key, len(bulks))
	}
	return bulks[0]
}
