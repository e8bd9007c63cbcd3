package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/member"
)

// inboxSize is how many messages may wait for the driver. More wait in their
// connections.
const inboxSize = 256

// ErrStopped is returned while and after a member ends.
var ErrStopped = errors.New("cluster: the member has ended")

// Role is what changes with the leadership of a member. It is called in a turn of the
// driver, and must not call the runner.
type Role struct {
	// Lead is called when the member is about to lead: memory has everything, and
	// nothing is changed yet.
	Lead func()
	// Follow is called when the leadership is lost, before memory is rolled back.
	Follow func()
	// Acknowledged, unless it is nil, is called on a leader when another member has more than before, or more is
	// committed, and View was called since the last time.
	Acknowledged func()
	// Settle, unless it is nil, is called outside a turn before the leadership is handed over. It keeps clients from changing more,
	// waits for a while until what they have changed is committed, and returns what ends that when another member leads, or none has
	// in an election timeout.
	Settle func() (resume func())
}

// RunnerConfig describes a member that runs.
type RunnerConfig struct {
	ID        uint64
	Founders  []uint64      // the first members of a group that has not begun; see OpenReplica
	Election  time.Duration // timeout of an election
	Proposals *Proposals    // what the store proposes to
	Mesh      Mesh
	// SendState sends a state with its message to the member that it is for, and waits until that
	// has taken it. Nil: members that lack what the log has no more wait.
	SendState func(ctx context.Context, m *raftpb.Message, state io.Reader) error
	Role      Role
	// Address returns where clients connect to a member, "" if that is not known. Nil: what the
	// members say.
	Address func(m *Members, id uint64) string
	// Told returns where a member says that it is, "" if it was not heard: so a leader learns the addresses of founders,
	// which the group agrees on then. Nil: it does not.
	Told func(id uint64) string
	// NewestLevel is that of the driver.
	NewestLevel func(id uint64) uint64
	// Odd keeps the number of voters odd: a learner that would make it even waits for another one, and can be
	// read meanwhile.
	Odd bool
	// Changed, unless it is nil, is called with the members when they have changed.
	Changed func(*Members)
	// Led, unless it is nil, is called with the last view and the next one when these have other leaders, or this member
	// has lost or regained its vote; before is nil at first. It waits for nothing.
	Led func(before, now *View)
	// Now is a monotonic clock that counts the time in which the machine sleeps: a
	// lease must not outlast it.
	Now func() time.Duration
	// Clock makes pauses.
	Clock clock.Clock
	// Logf writes to the log.
	Logf logs.Func
}

// ticks is how many ticks make an election timeout.
const ticks = 10

// Runner gives the driver of a member what it has not of its own: a goroutine, a
// clock, and an inbox. A goroutine that brings a message takes a turn of the driver itself if
// that is free: to wake another one takes longer than most of that work.
type Runner struct {
	config  RunnerConfig
	replica *Replica
	inbox   chan *raftpb.Message // emptied by the holder of turn
	asked   chan func()
	ctx     context.Context
	stop    context.CancelFunc
	ended   chan struct{}

	turn    sync.Mutex // guards the driver and what is below
	driver  *Driver
	stopped error // what ended the driver: run ends with it
	pending bool  // sendLate is due
	forcing bool  // a task forces, and sends to forced then
	// lastForced is when the last of these began, by Now.
	lastForced time.Duration

	tasks  sync.WaitGroup // those that send states, the one that forces, and those in give
	forced chan struct{}  // has room for one, so that nobody waits

	lease atomic.Int64 // until when replies may leave, by Now; 0 for not at all
	heard atomic.Int64 // when the leader was heard, or this member was it, by Now
	view  atomic.Pointer[View]
	ends  atomic.Uint64 // counts the ends of leaderships

	states stateBytes

	reads   atomic.Bool // it votes, or has what there was when it joined
	watched atomic.Bool // View was called: the next one is made as soon as possible
	awaited atomic.Bool // View was called since Acknowledged was
	acked   bool        // a member has replied in this turn; guarded by turn

	mu      sync.Mutex
	moved   sync.Cond // the lease or the leadership of another one began, or a leadership ended
	leads   bool      // guarded by mu
	led     bool      // another one is known to lead; guarded by mu
	waiting int       // in WaitHeld; guarded by mu
	err     error     // why the member has ended; guarded by mu
	roster  roster    // guarded by mu
}

// Run starts a member, whose store was loaded just now and is closed after Close.
func Run(store *member.Member, lazy bool, c RunnerConfig) (*Runner, error) {
	replica, err := NewReplica(store, c.Founders, lazy)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if c.Address == nil {
		c.Address = func(m *Members, id uint64) string { return m.Addresses[id] }
	}
	r := &Runner{config: c, replica: replica, inbox: make(chan *raftpb.Message, inboxSize), asked: make(chan func()), forced: make(chan struct{}, 1),
		ended: make(chan struct{})}
	r.roster = roster{members: replica.Members(), changed: make(chan struct{})}
	r.moved.L = &r.mu
	r.ctx, r.stop = context.WithCancel(context.Background())
	now := c.Now()
	var sender SnapshotSender
	if c.SendState != nil {
		sender = r
	}
	r.driver, err = New(Config{ID: c.ID, Tick: c.Election / ticks, Election: ticks, Log: replica, Machine: machine{replica, r}, Mesh: c.Mesh,
		Sender: sender, Keepalive: r.keepalive, Logger: logger{c.Logf}, Proposals: c.Proposals, NewestLevel: c.NewestLevel, Changed: r.rosterChanged, Give: r.giveLater}, now)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	r.look() // before anybody else has a turn
	c.Proposals.pull = store.Propose
	if lazy { // else a turn waits for the device, and nobody who has other things to do takes it
		c.Proposals.attendBy(r.tryTurn)
	}
	go r.run()
	return r, nil
}

// machine tells of the leadership what others are to know of it.
type machine struct {
	*Replica
	r *Runner
}

// Lead implements [Machine].
func (m machine) Lead(term uint64) error {
	m.r.config.Role.Lead()
	return m.Replica.Lead(term)
}

// Follow implements [Machine].
func (m machine) Follow() error {
	m.r.publish()
	m.r.ends.Add(1)
	m.r.config.Role.Follow()
	return m.Replica.Follow()
}

// Receive hands over a message of another member, and takes a turn of the driver. With more the turn is left to the next
// call, which follows at once. Receive waits while the inbox is full.
func (r *Runner) Receive(m *raftpb.Message, more bool) {
	select {
	case r.inbox <- m:
	default:
		r.config.Proposals.signal()
		select {
		case r.inbox <- m:
		case <-r.ctx.Done():
			return
		}
	}
	if !more && !r.tryTurn() {
		r.config.Proposals.signal()
	}
}

// tryTurn takes a turn of the driver for what has come, and reports whether it could. Otherwise somebody else has the turn, or
// the driver has ended: the caller signals then.
func (r *Runner) tryTurn() bool {
	if !r.turn.TryLock() {
		return false
	}
	defer r.turn.Unlock()
	return r.takeLocked(nothing) == nil
}

// nothing is done in a turn that is for what has come.
func nothing() {}

// run is the goroutine of the runner. It does what nobody else does.
func (r *Runner) run() {
	defer close(r.ended)
	tick, err := r.nextTick(), r.take(nothing)
	for err == nil {
		select {
		case <-r.ctx.Done():
			err = r.take(func() { r.stopped = ErrStopped })
		case <-tick:
			tick, err = r.nextTick(), r.take(r.tick)
		case <-r.config.Proposals.Wake():
			err = r.take(nothing)
		case ask := <-r.asked:
			err = r.take(ask)
		case <-r.forced:
			err = r.take(r.afterForce)
		}
	}
	if err != ErrStopped {
		r.config.Logf(logs.Error, "the member of the group ends: %v", err)
	}
	r.end(err)
}

// take calls do in a turn of the driver, which then works on what follows. It returns what has ended the driver.
func (r *Runner) take(do func()) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	return r.takeLocked(do)
}

func (r *Runner) takeLocked(do func()) error {
	if r.stopped == nil {
		do()
	}
	if r.stopped == nil {
		r.work()
	}
	return r.stopped
}

// sendLate sends what has waited for entries to go with, in vain.
func (r *Runner) sendLate() {
	if r.take(func() {
		r.driver.SendLate(r.config.Now())
		r.pending = false
	}) != nil {
		r.config.Proposals.signal() // run ends
	}
}

func (r *Runner) nextTick() <-chan struct{} {
	return clock.After(r.config.Clock, r.config.Election/ticks)
}

func (r *Runner) afterForce() {
	r.forcing = false
	r.driver.Tell()
}

// tick is what is due with each tick of the clock.
func (r *Runner) tick() {
	now := r.config.Now()
	if r.stopped = r.driver.Advance(now); r.stopped != nil {
		return
	}
	r.driver.Renew(now)
	r.look()
	r.agreeOnAddresses()
	r.raiseAtFirst()
	r.stopped = r.replica.DiskError() // of what the store writes by itself: all changes are refused
}

// work passes the inbox to the driver, and does what is due.
func (r *Runner) work() {
	for range len(r.inbox) {
		r.step(<-r.inbox)
	}
	r.publish()
	r.stopped = r.driver.Work()
	r.publish()
	r.force()
	if due, ok := r.driver.Late(); ok && !r.pending {
		r.pending = true
		r.config.Clock.AfterFunc(max(0, due-r.config.Now()), r.sendLate)
	}
	if r.stopped == nil {
		r.show()
	}
}

// end has everything that waits fail.
func (r *Runner) end(err error) {
	r.lease.Store(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads, r.led, r.err = false, false, err
	r.moved.Broadcast()
	r.toldLocked(r.roster.members)
}

func (r *Runner) step(m *raftpb.Message) {
	now := r.config.Now()
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat:
		if m.GetTerm() >= r.driver.node.BasicStatus().HardState.GetTerm() {
			r.heard.Store(int64(now))
		}
	case raftpb.MsgAppResp:
		r.acked = true
	}
	// What does not fit the state of this member, such as a reply to a former leadership,
	// is of no use.
	if err := r.driver.Step(now, m); err != nil {
		r.config.Logf(logs.Debug, "a message of member %d: %v", m.GetFrom(), err)
	}
}

// publish shows others how long this member leads at least. A lease is shown only
// after what ends it was: no reply relies on one that the driver has given up.
func (r *Runner) publish() {
	until := r.driver.Held()
	before := r.lease.Swap(int64(until))
	if before != 0 && until == 0 { // until then it has heard a majority
		r.heard.Store(min(before, int64(r.config.Now())))
	}
	leads := r.driver.leads()
	led := !leads && r.driver.led()
	r.mu.Lock()
	defer r.mu.Unlock()
	if leads != r.leads || led != r.led || before == 0 && until != 0 || r.waiting > 0 && int64(until) > before {
		if leads != r.leads {
			r.toldLocked(r.roster.members)
		}
		r.leads, r.led = leads, led
		r.moved.Broadcast()
	}
}

// Held reports whether this member leads, and no other can: replies may leave.
func (r *Runner) Held() bool {
	until := r.lease.Load()
	return until != 0 && int64(r.config.Now()) < until
}

// WaitHeld waits until Held, or the end of the leadership, which is
// persistence.ErrNotLeader.
func (r *Runner) WaitHeld() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.Held() {
		switch {
		case r.err != nil:
			return r.err
		case !r.leads:
			return persistence.ErrNotLeader
		}
		r.waiting++
		r.moved.Wait()
		r.waiting--
	}
	return nil
}

// Heard returns how long ago the leader, or this member as it, was heard.
func (r *Runner) Heard() time.Duration {
	if r.Held() {
		return 0
	}
	return r.config.Now() - time.Duration(r.heard.Load())
}

// ask has something done in a turn of the driver, and waits until it is done. A member
// that has ended does nothing.
func (r *Runner) ask(do func()) {
	done := make(chan struct{})
	select {
	case r.asked <- func() { do(); close(done) }:
	case <-r.ended:
		return
	}
	select {
	case <-done:
	case <-r.ended:
	}
}

// HandOver transfers the leadership to the member that has most of the log, if this
// one leads. It waits for that, an election timeout at most: until it hears the next leader,
// whose election may need its vote. The third of three may have started a moment ago, and not
// vote yet. If that is so of this one, it leads until it may, another election timeout at most.
func (r *Runner) HandOver() {
	mute, to := time.Duration(0), uint64(0)
	r.ask(func() {
		if r.driver.leads() {
			mute = r.driver.mute(r.config.Now())
		}
	})
	select {
	case <-clock.After(r.config.Clock, mute):
	case <-r.ended:
	}
	next := func() {
		if to = 0; r.driver.leads() {
			to = r.driver.successor()
		}
	}
	if r.ask(next); to == 0 {
		return
	}
	r.give(func() {
		if next(); to != 0 {
			r.driver.Transfer(r.config.Now(), to)
		}
	})
}

// give calls do in a turn, when clients have settled. If do begins to hand the leadership over, give waits until another member
// leads, an election timeout at most.
func (r *Runner) give(do func()) {
	if r.config.Role.Settle != nil {
		resume := r.config.Role.Settle()
		defer resume()
	}
	begun := false
	r.ask(func() {
		do()
		begun = r.driver.handing != 0
	})
	if !begun {
		return
	}
	over := false // guarded by mu
	defer r.config.Clock.AfterFunc(r.config.Election, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		over = true
		r.moved.Broadcast()
	})()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil && !r.led && !over {
		r.moved.Wait()
	}
}

// giveLater is give for a turn, which goes on.
func (r *Runner) giveLater(do func()) { r.tasks.Go(func() { r.give(do) }) }

// TakeOver asks the leader to hand over to this member.
func (r *Runner) TakeOver() { r.ask(r.driver.TakeOver) }

// Close ends the member in order. The store is to be closed next.
func (r *Runner) Close() error {
	r.stop()
	<-r.ended
	r.tasks.Wait()
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	r.replica.Resign()
	if err == ErrStopped {
		return r.replica.Close()
	}
	return err
}

// Retire is Close for a store that goes on: what was not committed is given up, and it does not
// lead. Nothing waits for a leadership of this runner any more.
func (r *Runner) Retire() error {
	r.stop()
	<-r.ended
	r.tasks.Wait()
	if err := r.Err(); err != ErrStopped {
		return err
	}
	if err := r.replica.Follow(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	r.config.Proposals.forget()
	return r.replica.Close()
}

// Ended is closed when the member has ended, by itself, by Close or by Retire.
func (r *Runner) Ended() <-chan struct{} { return r.ended }

// Err returns why the member has ended.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
