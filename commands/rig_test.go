package commands

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// rig runs handlers as the server does, without one: it locks, calls, commits
// and returns the reply as it goes over the wire.
type rig struct {
	t     testing.TB
	store *persistence.Store
	ctx   Ctx

	limits     Limits     // what Host.Limits returns
	classes    EventClass // of the events that are asked for
	events     []string   // those that were published: name and key
	underLocks int        // bytes of the last reply that were written under the locks

	keys []KeyRef
}

// rigHost is the part of a server that handlers of values need.
type rigHost struct {
	Host
	r *rig
}

func (h rigHost) Limits() *Limits           { return &h.r.limits }
func (h rigHost) Random(n int) int          { return n / 3 }
func (h rigHost) MayCompute(int) bool       { return true }
func (h rigHost) NotifyClasses() EventClass { return h.r.classes }
func (h rigHost) Notify(_ EventClass, event string, _ int, key []byte) {
	h.r.events = append(h.r.events, event+" "+string(key))
}

// newRig makes a rig with an empty store in memory, for the commands of groups.
func newRig(t testing.TB, groups ...Group) *rig {
	t.Helper()
	table, err := NewTable(groups)
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
	r := &rig{t: t, store: store}
	r.limits = Limits{Databases: 16, MaxBulk: 512 << 20, HLLSparseMax: 3000, ModuleMemoryLimit: 1 << 30}
	r.ctx = Ctx{Tx: store.NewTx(), Table: table, Host: &rigHost{r: r}, Client: new(Client), Now: 1_700_000_000_000}
	r.ctx.Reply = NewReply(nil, 2)
	return r
}

// do runs a call and returns its reply, valid until the next.
func (r *rig) do(argv [][]byte) []byte {
	c := &r.ctx
	cmd, sub := c.Table.Lookup(argv)
	c.Command = cmd
	first := 1
	if sub {
		first = 2
	}
	c.Args.Reset(argv, first)
	c.Reply.Rewind(0)
	var set persistence.Shards
	if cmd.Is(Keyspace) {
		set.AddAll()
	}
	r.keys = cmd.AppendKeys(r.keys[:0], argv)
	for _, k := range r.keys {
		set.Add(r.store.Hash(argv[k.Index]))
	}
	c.Tx.Lock(&set, c.Now)
	c.Tx.Select(0)
	err := cmd.Run(c)
	c.Tx.Commit()
	c.Tx.Unlock()
	r.underLocks = c.Reply.Len()
	if write := c.TakeLater(); write != nil {
		write()
	}
	if err != nil {
		c.Reply.Rewind(0)
		text, _ := Text(err)
		c.Reply.Error(text)
	}
	return c.Reply.Encoded()
}

// call is do for strings.
func (r *rig) call(args ...string) string { return string(r.do(argv(args...))) }

// argv makes the arguments of a call of strings.
func argv(args ...string) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = []byte(a)
	}
	return out
}

// want checks the reply of a call.
func (r *rig) want(reply string, args ...string) {
	r.t.Helper()
	if got := r.call(args...); got != reply {
		r.t.Errorf("%q: got %q, want %q", args, got, reply)
	}
}

// journal is the number of bytes recorded so far.
func (r *rig) journal() int64 {
	s := r.store.Stats()
	return s.JournalBytes + s.PendingBytes
}

// wantEvents checks and then forgets the keyspace events so far.
func (r *rig) wantEvents(events ...string) {
	r.t.Helper()
	if !slices.Equal(r.events, events) {
		r.t.Errorf("events: got %q, want %q", r.events, events)
	}
	r.events = r.events[:0]
}

// splitBulks takes the strings out of an encoded array of strings.
func splitBulks(reply string) (out []string) {
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

// payload returns the payload with which DUMP replies for an existing key.
func (r *rig) payload(key string) string {
	r.t.Helper()
	bulks := splitBulks("*1\r\n" + r.call("DUMP", key))
	if len(bulks) != 1 {
		r.t.Fatalf("DUMP %s: got %d bulks", key, len(bulks))
	}
	return bulks[0]
}
