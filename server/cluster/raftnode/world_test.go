package raftnode

import (
	"bytes"
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
	"google.golang.org/protobuf/proto"

	"github.com/vigildb/vigil/persistence"
)

const (
	members  = 3  // that most groups begin with
	most     = 20 // members that a world may ever have
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

	forgottenMembers bool // a start knows the founders only
	learnersCount    bool // a leader takes a learner for a voter
}

// world is a group under a virtual clock and network, with disks in memory. Everything
// that happens in it follows from its seed.
type world struct {
	testing.TB
	seed     uint64
	rand     *mathrand.Rand
	now      time.Duration
	seq      int
	queue    events
	trace    hash.Hash
	policy   persistence.SyncPolicy
	without  rules
	founders int
	bound    int64   // Options.JournalBound
	tail     int64   // Options.Tail
	nodes    []*node // from 1: the index is the id
	cut      [most + 1][most + 1]bool
	loss     float64                 // share of messages
	slow     bool                    // disks
	late     [most + 1]time.Duration // messages to a member, beyond what all are
	history  history
	loans    []*loan
	effects  map[string]int // how often something happened
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
	return newWorldWith(t, seed, policy, without, members, false)
}

// newWorldWith makes a group of some founders, with logs that are cut off all the time, or not.
func newWorldWith(t testing.TB, seed uint64, policy persistence.SyncPolicy, without rules, founders int, short bool) *world {
	drawn(t, seed)
	w := &world{TB: t, seed: seed, rand: mathrand.New(mathrand.NewPCG(seed, 48)), trace: sha256.New(), policy: policy, without: without,
		founders: founders, nodes: make([]*node, 1), history: history{}, effects: map[string]int{}, bound: 16 << 10}
	if short {
		w.bound, w.tail = 1<<10, 600
	}
	for range founders {
		w.add().start()
	}
	return w
}

// add makes a member, which is not started.
func (w *world) add() *node {
	n := newNode(w, uint64(len(w.nodes)))
	w.nodes = append(w.nodes, n)
	return n
}

// anyone returns a member or a former one.
func (w *world) anyone() *node { return w.nodes[1+w.rand.IntN(len(w.nodes)-1)] }

// storm is how many events are under way only if messages breed: logs that contradict each
// other make raft ask for ever.
const storm = 5_000

func (w *world) after(d time.Duration, do func()) {
	if len(w.queue) > storm {
		w.Fatalf("seed %d: %d events are under way", w.seed, len(w.queue))
	}
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
		w.step()
	}
	w.now = until
}

// step runs the next event.
func (w *world) step() {
	e := heap.Pop(&w.queue).(event)
	w.now = e.at
	e.do()
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
		if n.gone {
			continue
		}
		_, last := n.store.Member().Log().Bounds()
		s += fmt.Sprintf("member %d: up %v, lost %v, log %d, applied %d, %+v, %+v, %v\n", n.id, n.up, n.up && n.replica.Lost(), last,
			n.store.Member().Applied(), n.store.Member().Log().State(), n.driver.node.BasicStatus(), n.replica.Members().Conf)
		if n.up && n.driver.Leading() != 0 {
			first, _ := n.store.Member().Log().Bounds()
			s += fmt.Sprintf("  its log begins with %d; %v; transfers %v, refused %v\n", first, n.driver.node.Status().Progress, n.driver.transfers, n.driver.refused)
		}
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
	w.cut, w.loss, w.slow = [most + 1][most + 1]bool{}, 0, false
	for _, n := range w.nodes[1:] {
		n.paused = 0
		if n.disk.broken.Load() {
			n.stop(false) // it has nothing to write, else it would know
		}
		if !n.up && !n.gone {
			n.start()
		}
	}
}

// settle heals the world and brings all members to the same state.
func (w *world) settle() {
	w.Helper()
	w.heal()
	w.run(time.Second) // for what is under way
	w.replaceGone()
	n := w.elected()
	w.until("all is applied everywhere", func() bool {
		if n = w.leader(); n == nil || n.replica.Members().Joint() {
			return false
		}
		_, last := n.store.Member().Log().Bounds()
		for _, o := range w.group(n) {
			if o.store.Member().Applied() != last {
				return false
			}
		}
		return len(n.waiters) == 0 && n.store.Commits().Confirmed(n.newest)
	})
	for _, key := range keys {
		want := w.ask(n.id, key, false)
		w.until("a last read", func() bool {
			if l := w.leader(); l != nil && want.outcome == refused {
				want = w.ask(l.id, key, false)
			}
			return want.outcome == done
		})
		for _, o := range w.group(n) {
			if got, other, _ := o.read(key); !slices.Equal(got, want.list) || !slices.Equal(other, want.list) {
				w.Errorf("member %d has %v and %v under %s, the leader %v", o.id, got, other, key, want.list)
			}
		}
	}
	want := n.replica.Members().encode()
	for _, o := range w.group(n) {
		if got := o.replica.Members().encode(); !bytes.Equal(got, want) {
			w.Errorf("member %d takes for members %v, the leader %v", o.id, o.replica.Members(), n.replica.Members())
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
	if to >= uint64(len(w.nodes)) {
		return // it joins, and is not started
	}
	if w.without.learnersCount && m.GetType() == raftpb.MsgHeartbeatResp && !n.replica.Members().Voter(n.id) {
		for _, id := range n.replica.Members().Conf.GetVoters() {
			if id != to {
				forged := proto.Clone(m).(*raftpb.Message)
				forged.From = &id
				n.deliver(forged)
			}
		}
	}
	n.deliver(m)
}

func (n *node) deliver(m *raftpb.Message) {
	w, to, version := n.w, m.GetTo(), n.knows()
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
				p.told[n.id] = version
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
