package resharding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/hold"
	"github.com/vigildb/vigil/server/internal/clock/clocktest"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// room is the moves of a leader with the slots 0 to 8191 of two groups, a store in memory, and a group that is functions.
// The key b is of the slot 3300, and a of the slot 15495.
type room struct {
	Resharding
	t     *testing.T
	store *persistence.Store
	clock *clocktest.Clock
	fence hold.Fence
	peers peers.Peers
	stop  context.CancelFunc
	work  sync.WaitGroup

	giving chan *slots.Set // slots that are about to be given away
	given  chan error      // what comes of that; nil gives them

	mu     sync.Mutex
	m      *commands.Membership      // guarded by mu
	leads  bool                      // guarded by mu
	begins func(of *slots.Set) error // guarded by mu
	sends  func(keys []byte) error   // guarded by mu
	own    int                       // databases of this group; guarded by mu
	theirs int                       // databases of the other group; guarded by mu
	under  *slots.Set                // the slots of the attempt; guarded by mu
	sent   []byte                    // guarded by mu
	frames [][]byte                  // the same, one by one; guarded by mu
	undone bool                      // whose the slots are is not decided; guarded by mu
	busy   bool                      // a script runs; guarded by mu
	full   bool                      // guarded by mu
	away   []string                  // slots whose clients were sent away; guarded by mu
	kept   *slots.Set                // guarded by mu
	logs   []string                  // guarded by mu
}

const here, there = "group-a", "group-b"

// databases is how many the store of a room has.
const databases = 5

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{t: t, clock: clocktest.New(), giving: make(chan *slots.Set), given: make(chan error), leads: true, own: databases, theirs: databases}
	low := slotstest.Set(t, "0-8191")
	r.m = &commands.Membership{ID: here, Led: true, Leads: true, Slots: low, Members: []commands.Member{{ID: "node-a", Host: "10.0.0.1", Port: 7000}},
		OtherShards: []commands.Shard{{ID: there, Slots: slots.All().Without(low), Members: []commands.Member{{ID: "node-b", Host: "10.0.0.2", Port: 7000}}}}}
	var err error
	if r.store, err = persistence.Open(persistence.Options{InMemory: true, Databases: databases, MaxMemory: 1 << 30, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	done, stop := context.WithCancel(context.Background())
	r.stop = stop
	t.Cleanup(func() {
		stop()
		r.work.Wait()
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
	membership := func() *commands.Membership {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.m
	}
	r.peers.Open(peers.Options{Network: r, Membership: membership, Go: func(f func()) { r.work.Go(f) }})
	r.Open(Options{Store: r.store, Group: r, Peers: &r.peers, Fence: &r.fence, Calls: r, Clock: r.clock, Done: done,
		Membership: membership, Durable: r.store.Commits().WaitDurable,
		Leads:     func() bool { return get(r, &r.leads) },
		Databases: func() int { return get(r, &r.own) },
		Divided: func() (kept, own *slots.Set) {
			return get(r, &r.kept), membership().Slots
		},
		Go:       func(f func()) { r.work.Go(f) },
		MaxFence: func() time.Duration { return 3 * time.Second },
		ID:       func() string { return fmt.Sprint("task-", r.clock.Now().UnixMilli()) },
		Logf: func(_ int, format string, args ...any) {
			change(r, func() { r.logs = append(r.logs, fmt.Sprintf(format, args...)) })
		}})
	return r
}

// change changes what mu guards.
func change(r *room, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func get[V any](r *room, v *V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *v
}

func (r *room) BeginMove(_ context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	begins := get(r, &r.begins)
	change(r, func() { r.under = of })
	if begins != nil {
		err = begins(of)
	}
	return 1, get(r, &r.theirs), err
}

func (r *room) SendKeys(ctx context.Context, _ uint64, keys []byte) error {
	if sends := get(r, &r.sends); sends != nil {
		if err := sends(keys); err != nil {
			return err
		}
	}
	change(r, func() { r.sent, r.frames = append(r.sent, keys...), append(r.frames, bytes.Clone(keys)) })
	return nil
}

func (r *room) GiveSlots(ctx context.Context, _ uint64) (decided bool, err error) {
	of := get(r, &r.under)
	select {
	case r.giving <- of:
		select {
		case err = <-r.given:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		r.have(r.m.Slots.Without(of), r.m.OtherShards[0].Slots.Union(of))
	}
	return !get(r, &r.undone), err
}

func (r *room) EndMove(uint64) { change(r, func() { r.under = nil }) }

func (r *room) ScriptsEnded() bool { return !get(r, &r.busy) }

func (r *room) SendAway(of *slots.Set) { change(r, func() { r.away = append(r.away, of.String()) }) }

func (r *room) Crowded() bool { return get(r, &r.full) }

func (r *room) Foreign(key []byte) bool {
	return !get(r, &r.m).Slots.Has(commands.KeySlot(key))
}

// AskServer asks nobody: tests with two servers have a network of their own.
func (r *room) AskServer(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("connection refused")
}

// know changes what the server knows of the groups.
func (r *room) know(f func(m *commands.Membership)) {
	change(r, func() {
		m := *r.m
		m.OtherShards = slices.Clone(m.OtherShards)
		f(&m)
		r.m = &m
	})
}

// have changes which slots the two groups have.
func (r *room) have(own, other *slots.Set) {
	r.know(func(m *commands.Membership) { m.Slots, m.OtherShards[0].Slots = own, other })
}

// until waits for a condition.
func (r *room) until(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			r.t.Fatalf("it does not come to it that %s; the moves are %s", what, r.progress())
		}
	}
}

// progress returns the moves in short.
func (r *room) progress() string {
	var all []string
	for _, m := range r.Moves.List() {
		all = append(all, fmt.Sprintf("%s of %s %d/%d", m.State, m.Destination.Slots, m.Moved, m.Slots))
	}
	return strings.Join(all, ", ")
}

func (r *room) untilProgress(want string) {
	r.t.Helper()
	r.until("the moves are "+want, func() bool { return r.progress() == want })
}

// order orders moves of slots to the other group.
func (r *room) order(of ...string) {
	r.t.Helper()
	for _, text := range of {
		if err := r.Moves.Order([]cluster.Destination{r.to(text)}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *room) to(of string) cluster.Destination {
	return cluster.Destination{Shard: there, Node: "node-b", Slots: slotstest.Set(r.t, of)}
}

// gives waits until slots are about to be given away, and returns them.
func (r *room) gives() string {
	r.t.Helper()
	return r.givesAfter(0)
}

// givesAfter does the same while time passes, in steps.
func (r *room) givesAfter(step time.Duration) string {
	r.t.Helper()
	var of *slots.Set
	r.until("slots are given away", func() bool {
		r.clock.Advance(step)
		select {
		case of = <-r.giving:
			return true
		default:
			return false
		}
	})
	return of.String()
}

// tx changes keys in a transaction.
func (r *room) tx(keys []string, do func(tx *persistence.Tx)) {
	tx := r.store.NewTx()
	var locks persistence.Shards
	for _, key := range keys {
		locks.Add(tx.Expect([]byte(key)))
	}
	if keys == nil {
		locks.AddAll()
	}
	tx.Lock(&locks, r.clock.Now().UnixMilli())
	defer tx.Unlock()
	tx.Select(0)
	do(tx)
	tx.Commit()
}

// set sets a string of database 0, or of others.
func (r *room) set(key, value string, dbs ...int) {
	r.tx([]string{key}, func(tx *persistence.Tx) {
		for _, db := range only(dbs) {
			tx.Select(db)
			tx.SetString([]byte(key), []byte(value), persistence.NoExpiry)
		}
	})
}

// value returns a string of database 0, or those of others, "" if there is none.
func (r *room) value(key string, dbs ...int) (value string) {
	r.t.Helper()
	r.tx([]string{key}, func(tx *persistence.Tx) {
		for _, db := range only(dbs) {
			tx.Select(db)
			b, _, err := tx.String([]byte(key))
			if value += string(b); err != nil {
				r.t.Error(err)
			}
		}
	})
	return value
}

// only returns the databases that are meant.
func only(dbs []int) []int {
	if dbs == nil {
		return []int{0}
	}
	return dbs
}
