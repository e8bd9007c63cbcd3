package raftnode

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock"
)

// trio is three members that run, with links between them that can be cut.
type trio struct {
	t       *testing.T
	members [3]*running

	mu   sync.Mutex
	cut  map[[2]uint64]bool // from, to; guarded by mu
	half bool               // the next state is cut short; guarded by mu
	// byBringer counts messages that were sent by a bringer of one, and byRound those that were by
	// the end of a round; guarded by mu.
	byBringer, byRound int
}

type running struct {
	g      *trio
	store  *persistence.Store
	runner *Runner
	roles  chan string
	acked  atomic.Int64 // calls of Acknowledged
}

// Send implements [Mesh].
func (m *running) Send(msg *Message) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	switch stack := debug.Stack(); {
	case bytes.Contains(stack, []byte("(*Runner).Receive")):
		m.g.byBringer++
	case bytes.Contains(stack, []byte("(*Commits).EndRound")):
		m.g.byRound++
	}
	if !m.g.cut[[2]uint64{msg.GetFrom(), msg.GetTo()}] {
		to := m.g.members[msg.GetTo()-1]
		go to.runner.Receive(msg, false)
	}
}

func newTrio(t *testing.T) *trio { return newTrioOf(t, false, newest, newest, newest) }

// newTrioOf makes a trio of members that know levels up to some.
func newTrioOf(t *testing.T, lazy bool, newest ...uint64) *trio {
	t.Helper()
	g := &trio{t: t, cut: map[[2]uint64]bool{}}
	proposals := [3]*Proposals{}
	for i := range 3 {
		proposals[i] = NewProposals()
		store, err := persistence.Open(persistence.Options{InMemory: true, Databases: 1, Seed: uint64(i + 1), Replicator: proposals[i], NewestLevel: newest[i],
			JournalBound: 1 << 10, Tail: 1 << 10, Now: func() int64 { return 1000 }})
		if err != nil {
			t.Fatal(err)
		}
		g.members[i] = &running{g: g, store: store, roles: make(chan string, 100)}
	}
	g.mu.Lock()
	defer g.mu.Unlock() // nothing is sent before all are there
	for i, m := range g.members {
		var err error
		m.runner, err = Run(m.store.Member(), lazy, RunnerConfig{ID: uint64(i + 1), Founders: []uint64{1, 2, 3}, Election: 200 * time.Millisecond,
			Proposals: proposals[i], Mesh: m, SendState: m.sendState, Now: Now, Clock: clock.System{}, Logf: func(logs.Level, string, ...any) {},
			NewestLevel: func(id uint64) uint64 { return newest[id-1] },
			Role:        Role{Lead: func() { m.roles <- "lead" }, Follow: func() { m.roles <- "follow" }, Acknowledged: func() { m.acked.Add(1) }}})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, m := range g.members {
			if err := errors.Join(m.runner.Close(), m.store.Close()); err != nil {
				t.Error(err)
			}
		}
	})
	return g
}

func (g *trio) until(what string, done func() bool) {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			g.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// leader waits until a member leads with a lease.
func (g *trio) leader() (m *running) {
	g.t.Helper()
	g.until("a member leads", func() bool {
		for _, m = range g.members {
			if m.runner.Held() {
				return true
			}
		}
		return false
	})
	return m
}

// A goroutine that has brought a message takes the turn of the driver which replies to it. Else two goroutines would be
// woken for each message.
func TestBringerOfAMessageWorksOnIt(t *testing.T) {
	g := newTrio(t)
	g.leader()
	g.until("a reply is sent by the bringer of a message", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.byBringer > 0
	})
}

// A goroutine that serves clients proposes what they have changed by itself at the end of its round, unless that
// waits for the device.
func TestTheEndOfARoundProposes(t *testing.T) {
	for _, lazy := range []bool{true, false} {
		g := newTrioOf(t, lazy, newest, newest, newest)
		m := g.leader()
		proposed := func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.byRound > 0
		}
		for range 100 {
			m.store.Commits().BeginRound()
			position := m.write("k")
			m.store.Commits().EndRound(false)
			told := make(chan error, 1)
			m.store.Commits().NotifyDurable(position, func(err error) { told <- err })
			if err := <-told; err != nil {
				t.Fatal(err)
			}
		}
		if proposed() != lazy {
			t.Errorf("lazy %v: proposed at the end of a round: %v", lazy, proposed())
		}
	}
}

// A caller that waits for other members looks at the view, and is told when there is more to see in it. Callers that have
// not looked are told nothing.
func TestCallersThatLookAreToldOfAcknowledgements(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	for range 5 {
		if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.acked.Load(); n > 0 {
		t.Errorf("told %d times, and nobody has looked", n)
	}
	for range 50 {
		record := persistence.Record(m.write("k"))
		for has := 0; has < 3; {
			before := m.acked.Load()
			has = 0
			for _, o := range m.runner.View().Members {
				if o.Record >= record {
					has++
				}
			}
			if has < 3 {
				g.until("there is more to see", func() bool { return m.acked.Load() > before })
			}
		}
	}
}

// A goroutine that gets no turn leaves a token, so that the one of the driver looks.
func TestATokenIsLeftIfTheDriverIsAtWork(t *testing.T) {
	p := NewProposals()
	token := func() bool {
		select {
		case <-p.Wake():
			return true
		default:
			return false
		}
	}
	if p.Attend(); !token() {
		t.Error("no token before there is a driver")
	}
	for _, worked := range []bool{true, false} {
		p.attendBy(func() bool { return worked })
		if p.Attend(); token() == worked {
			t.Errorf("the driver has worked: %v, and there is a token: %v", worked, !worked)
		}
	}
	m := newTrio(t).leader()
	m.runner.turn.Lock()
	if m.runner.tryTurn() {
		t.Error("two turns at a time")
	}
	m.runner.turn.Unlock()
	m.runner.stop()
	<-m.runner.Ended()
	if m.runner.tryTurn() {
		t.Error("a driver that has ended has worked")
	}
}

// isolate cuts a member off from the others, both ways.
func (g *trio) isolate(m *running, yes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := m.runner.config.ID
	for other := uint64(1); other <= 3; other++ {
		g.cut[[2]uint64{id, other}], g.cut[[2]uint64{other, id}] = yes, yes
	}
}

// write changes a key and returns the position that its reply waits for.
func (m *running) write(key string) uint64 {
	tx := m.store.NewTx()
	var set persistence.Shards
	set.Add(m.store.Hash([]byte(key)))
	tx.Lock(&set, 1000)
	defer tx.Unlock()
	if !tx.Writable() {
		return 0
	}
	tx.SetString([]byte(key), []byte("v"), persistence.NoExpiry)
	return tx.Commit()
}

// What the leader writes is committed, and it knows what the others have.
func TestRunningMembersCommit(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	if <-m.roles != "lead" {
		t.Error("the server was not told that it leads")
	}
	g.until("all have it", func() bool {
		v := m.runner.View()
		for _, o := range v.Members {
			if !o.Active || o.Match != v.Last {
				return false
			}
		}
		return v.Leads && v.Leader == v.ID && v.Committed == v.Last
	})
	for _, o := range g.members {
		if o != m && (o.runner.Held() || !errors.Is(o.runner.WaitHeld(), persistence.ErrNotLeader) || o.write("k") != 0) {
			t.Errorf("member %d takes writes", o.runner.config.ID)
		}
	}
}

// A leader that is cut off has no lease as soon as another one has: what waits for it
// fails, and so do its writes. It follows when it is back.
func TestLeaderThatIsCutOffLosesItsLease(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	g.isolate(m, true)
	position := m.write("k")
	g.until("another one leads", func() bool {
		for _, o := range g.members {
			if o != m && o.runner.Held() {
				if m.runner.Held() {
					t.Error("two members hold a lease")
				}
				return true
			}
		}
		return false
	})
	if err := m.runner.WaitHeld(); err == nil {
		t.Error("WaitHeld returns nil")
	}
	if err := m.store.Commits().WaitDurable(position); err == nil {
		t.Error("a write without a majority is confirmed")
	}
	for _, want := range []string{"lead", "follow"} {
		if got := <-m.roles; got != want {
			t.Errorf("the server was told %s, want %s", got, want)
		}
	}
	g.isolate(m, false)
	g.until("it follows", func() bool { return m.runner.View().Leader != 0 && m.runner.Heard() < 100*time.Millisecond })
}

// Handing over, a leader waits until it leads no more, and another member does.
func TestHandOver(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	settled, resumed := 0, 0
	m.runner.config.Role.Settle = func() func() {
		if settled++; !m.runner.Held() {
			t.Error("its lease has ended before clients have settled")
		}
		return func() { resumed++ }
	}
	m.runner.HandOver()
	if m.runner.Held() {
		t.Error("it leads")
	}
	next := false
	var view *View // that of the turn in which it has heard the next leader
	m.runner.ask(func() { next, view = m.runner.driver.led(), m.runner.view.Load() })
	if !next {
		t.Error("nobody has followed it yet, and may need its vote")
	}
	if view.Leads || view.Leader == 0 {
		t.Errorf("it shows member %d as the leader, itself: %v", view.Leader, view.Leads)
	}
	o := g.leader()
	if o == m {
		t.Error("it leads again")
	}
	o.runner.ask(func() { view = o.runner.view.Load() })
	if !view.Leads {
		t.Error("it leads, and does not show it")
	}
	m.runner.HandOver() // of nothing
	if settled != 1 || resumed != 1 {
		t.Errorf("clients have settled %d times, and gone on %d times, want once", settled, resumed)
	}
}

// A leader that has started a moment ago, as another member has, hands over when its own vote counts.
func TestHandOverAmidStarts(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	for _, o := range g.members {
		o.runner.ask(func() { o.runner.driver.started = o.runner.config.Now() })
	}
	m.runner.HandOver()
	next := false
	m.runner.ask(func() { next = m.runner.driver.led() })
	if !next {
		t.Error("it had to be followed without the votes of others")
	}
}

// Without another member to take over, it ends after an election timeout.
func TestHandOverOfAMinorityEnds(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	g.isolate(m, true)
	m.runner.HandOver()
}
