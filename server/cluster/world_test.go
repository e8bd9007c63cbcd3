package cluster

import (
	"container/heap"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"log"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

const (
	members  = 3
	tick     = 10 * time.Millisecond
	election = 10 // ticks
	timeout  = election * tick
	patience = 5 * timeout // of clients
)

// rules switches off some of the rules of the package, those of the server among them.
type rules struct {
	Rules
	replyAtOnce     bool // without R1
	readUncommitted bool // without R2
}

// world is a group under a virtual clock and network, with disks in memory. Everything
// that happens in it follows from its seed.
type world struct {
	testing.TB
	seed    uint64
	rand    *mathrand.Rand
	now     time.Duration
	seq     int
	queue   events
	trace   hash.Hash
	policy  persistence.SyncPolicy
	without rules
	nodes   [members + 1]*node // from 1
	cut     [members + 1][members + 1]bool
	loss    float64                    // share of messages
	slow    bool                       // disks
	late    [members + 1]time.Duration // messages to a member, beyond what all are
	history history
	effects map[string]int // how often something happened
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	o := *e
	x := o[len(o)-1]
	*e = o[:len(o)-1]
	return x
}

// drawn makes raft draw its election timeouts from a seed.
func drawn(t testing.TB, seed uint64) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	before := rand.Reader
	rand.Reader = mathrand.NewChaCha8(key)
	t.Cleanup(func() { rand.Reader = before })
}

// newWorld makes new members and starts them.
func newWorld(t testing.TB, seed uint64, policy persistence.SyncPolicy, without rules) *world {
	drawn(t, seed)
	w := &world{TB: t, seed: seed, rand: mathrand.New(mathrand.NewPCG(seed, 48)), trace: sha256.New(), policy: policy, without: without,
		history: history{}, effects: map[string]int{}}
	for id := uint64(1); id <= members; id++ {
		w.nodes[id] = newNode(w, id)
		w.nodes[id].start()
	}
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + d, w.seq, do})
}

func (w *world) note(format string, a ...any) {
	fmt.Fprintf(w.trace, "%d ", w.now)
	fmt.Fprintf(w.trace, format+"\n", a...)
}

// run lets some time pass.
func (w *world) run(d time.Duration) {
	until := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

// until lets time pass until a condition holds.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for end := w.now + 20*time.Second; !holds(); w.run(tick) {
		if w.now > end {
			w.Fatalf("seed %d: not after 20 s: %s\n%s", w.seed, what, w.describe())
		}
	}
}

// describe returns what state the members are in.
func (w *world) describe() (s string) {
	for _, n := range w.nodes[1:] {
		_, last := n.store.Member().Log().Bounds()
		s += fmt.Sprintf("member %d: up %v, lost %v, log %d, applied %d, %+v, %+v\n", n.id, n.up, n.up && n.replica.Lost(), last,
			n.store.Member().Applied(), n.store.Member().Log().State(), n.driver.node.BasicStatus())
	}
	return s
}

// leader returns the member that leads and has a lease, nil if there is none.
func (w *world) leader() *node {
	for _, n := range w.nodes[1:] {
		if n.serves() {
			return n
		}
	}
	return nil
}

// elected waits for a leader.
func (w *world) elected() *node {
	w.Helper()
	w.until("a member leads", func() bool { return w.leader() != nil })
	return w.leader()
}

// isolate cuts a member off, or takes it back.
func (w *world) isolate(n *node, off bool) {
	for id := range w.cut {
		w.cut[n.id][id], w.cut[id][n.id] = off, off
	}
}

// heal ends all faults.
func (w *world) heal() {
	w.cut, w.loss, w.slow = [members + 1][members + 1]bool{}, 0, false
	for _, n := range w.nodes[1:] {
		n.paused = 0
		if !n.up {
			n.start()
		}
	}
}

// settle heals the world and brings all members to the same state.
func (w *world) settle() {
	w.Helper()
	w.heal()
	w.run(time.Second) // for what is under way
	n := w.elected()
	w.until("all is applied everywhere", func() bool {
		if n = w.leader(); n == nil {
			return false
		}
		_, last := n.store.Member().Log().Bounds()
		for _, o := range w.nodes[1:] {
			if o.store.Member().Applied() != last {
				return false
			}
		}
		return len(n.waiters) == 0 && n.store.Confirmed(n.newest)
	})
	for _, key := range keys {
		want := w.ask(n.id, key, false)
		w.until("a last read", func() bool {
			if l := w.leader(); l != nil && want.outcome == refused {
				want = w.ask(l.id, key, false)
			}
			return want.outcome == done
		})
		for _, o := range w.nodes[1:] {
			if got, other, _ := o.read(key); !slices.Equal(got, want.list) || !slices.Equal(other, want.list) {
				w.Errorf("member %d has %v and %v under %s, the leader %v", o.id, got, other, key, want.list)
			}
		}
	}
}

// close ends the world.
func (w *world) close() {
	for _, n := range w.nodes[1:] {
		n.stop(true)
	}
}

func quiet() raft.Logger { return &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)} }

// Send delivers a message after a delay of its own, twice at times or never.
func (n *node) Send(m *raftpb.Message) {
	w, to := n.w, m.GetTo()
	for range 1 + w.rand.IntN(20)/19 {
		if w.rand.Float64() < w.loss {
			continue
		}
		delay := n.lag + w.late[to] + time.Duration(w.rand.ExpFloat64()*float64(2*time.Millisecond))
		w.after(delay, func() {
			if w.cut[n.id][to] {
				return
			}
			p := w.nodes[to]
			p.when(p.life, func() {
				w.note("%d->%d %v %d %d", n.id, to, m.GetType(), m.GetTerm(), m.GetIndex())
				if err := p.driver.Step(p.clock(), m); err != nil && err != raft.ErrStepPeerNotFound {
					w.note("%v", err)
				}
				p.work()
			})
		})
	}
}

// ask sends an operation to a member.
func (w *world) ask(to uint64, key string, write bool) *operation {
	op := w.history.begin(key, write, w.now)
	delay := func() time.Duration { return time.Duration(w.rand.ExpFloat64() * float64(time.Millisecond)) }
	n := w.nodes[to]
	w.after(delay(), func() {
		if !n.up {
			op.outcome = refused
		}
		n.when(n.life, func() {
			n.execute(op, func(o outcome) {
				w.after(delay(), func() {
					w.note("%s %d %v %d %d", key, op.id, write, o, len(op.list))
					op.outcome, op.end = o, w.now
				})
			})
			n.work()
		})
	})
	return op
}
