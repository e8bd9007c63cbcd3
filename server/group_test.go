package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/internal/handlers"
	"github.com/vigildb/vigil/server/pubsub"
	"github.com/vigildb/vigil/structures/slots"
)

// testGroup is a group whose other members are the test's to play. It commits what the
// server proposes at once, unless it is held back.
type testGroup struct {
	t    *testing.T
	wake chan struct{}
	done chan struct{}

	engine              sync.Mutex // one call of the member at a time; guards what follows
	m                   *member.Member
	lead, follow, leave func()
	term, last          uint64
	back                bool          // nothing is committed
	to                  *testGroup    // which follows, if any
	follows             chan struct{} // closed when another member leads, which waits for the server to settle; nil for one that leads at once
	amid                func()        // called when the leadership has ended, and nothing is rolled back

	mu        sync.Mutex
	moved     sync.Cond
	proposals [][]byte // guarded by mu
	over      uint64   // the term whose leadership has ended, 0 while it leads; guarded by mu
	leads     bool     // guarded by mu
	held      bool     // guarded by mu
	waits     int      // replies that wait for the lease; guarded by mu
	heard     bool     // guarded by mu: by all
	patient   bool     // guarded by mu: by those that are patient
	settle    func() (resume func())
	settled   bool     // guarded by mu
	handed    int      // times that the leadership was given away; guarded by mu
	asked     int      // times that the leadership was asked for; guarded by mu
	published []string // guarded by mu: what other members were given
	own       atomic.Pointer[slots.Set]
	uncovered atomic.Bool
	gone      bool     // guarded by mu: it has left
	changes   []string // guarded by mu: what was asked of the group
	refuses   error    // what changes return
	level     uint64   // of the group; 0 is 1

	receive  func(kind byte, channel, message []byte)
	channels func(of *slots.Set)

	acknowledged func()
	testMoves
	testNeighbours
}

// newGroupRig opens a server that leads a group.
func newGroupRig(t *testing.T, change ...func(*Options)) (*rig, *testGroup) {
	t.Helper()
	g := newTestGroup(t)
	r := newRig(t, append([]func(*Options){g.join}, change...)...)
	g.elect()
	return r, g
}

func newTestGroup(t *testing.T) *testGroup {
	g := &testGroup{t: t, wake: make(chan struct{}, 1), done: make(chan struct{}), heard: true, patient: true}
	g.moved.L = &g.mu
	return g
}

// renew takes the server out of its group, with an empty store.
func (g *testGroup) renew() {
	g.t.Helper()
	g.depose()
	g.engine.Lock()
	if err := g.m.Renew([]byte("another"), true); err != nil {
		g.t.Fatal(err)
	}
	g.last, g.term = 0, 0
	g.engine.Unlock()
	g.leave()
}

// join makes a server a member of the group.
func (g *testGroup) join(o *Options) {
	o.Group = g
	o.Membership = func() *commands.Membership {
		m := &commands.Membership{Leader: -1, Members: make([]commands.Member, 3)}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.leads {
			m.Leader, m.Led, m.Leads = 0, true, true
		}
		return m
	}
}

func (g *testGroup) Replicator() member.Replicator { return g }

func (g *testGroup) Start(m *member.Member, _ bool, h handlers.Handlers) error {
	g.m, g.lead, g.follow, g.leave, g.settle, g.acknowledged = m, h.Lead, h.Follow, h.Leave, h.Settle, h.Acknowledged
	g.receive, g.channels, g.ask = h.Published, h.ShardChannels, h.Asked
	g.take, g.remove, g.order = h.TakeKeys, h.RemoveKeys, h.OrderMove
	g.last, g.term = m.Applied(), m.Log().State().Term
	m.SetLevel(m.NewestLevel())
	go func() {
		defer close(g.done)
		for range g.wake {
			g.commit()
		}
	}()
	return nil
}

func (g *testGroup) Propose(term uint64, data []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if term <= g.over {
		return nil // as the driver drops what comes after its leadership
	}
	g.proposals = append(g.proposals, data)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return nil
}

// commit commits what was proposed.
func (g *testGroup) commit() {
	g.engine.Lock()
	defer g.engine.Unlock()
	if g.back {
		return
	}
	g.mu.Lock()
	proposals := g.proposals
	g.proposals = nil
	g.mu.Unlock()
	for _, data := range proposals {
		g.append(grouplog.Records, data)
	}
}

func (g *testGroup) append(kind byte, data []byte) {
	g.last++
	if o := g.to; o != nil { // first, so that it has what clients have replies to
		o.engine.Lock()
		defer o.engine.Unlock()
		o.last, o.term = g.last, g.term
		o.enter(grouplog.Entry{Index: g.last, Term: g.term, Type: kind, Data: slices.Clone(data)})
	}
	g.enter(grouplog.Entry{Index: g.last, Term: g.term, Type: kind, Data: data})
}

// enter appends and commits an entry.
func (g *testGroup) enter(entry grouplog.Entry) {
	e := []grouplog.Entry{entry}
	if err := errors.Join(g.m.Append(e, &grouplog.HardState{Term: entry.Term, Commit: entry.Index}), g.m.Commit(e)); err != nil {
		g.t.Error(err)
	}
}

// holdBack commits nothing from now on; with false it commits all that waits.
func (g *testGroup) holdBack(yes bool) {
	g.engine.Lock()
	g.back = yes
	g.engine.Unlock()
	g.commit()
}

// elect makes the server the leader of a new term.
func (g *testGroup) elect() {
	g.engine.Lock()
	defer g.engine.Unlock()
	g.term++
	g.set(func() { g.over = 0 })
	g.append(2, nil)
	g.lead()
	if err := g.m.Lead(g.term); err != nil {
		g.t.Error(err)
	}
	g.set(func() { g.leads, g.held = true, true })
}

// depose ends the leadership. What is not committed is lost.
func (g *testGroup) depose() {
	g.engine.Lock()
	defer g.engine.Unlock()
	g.set(func() { g.leads, g.held, g.proposals, g.over = false, false, nil, g.term })
	g.back = false
	g.follow()
	if g.amid != nil {
		g.amid()
	}
	if err := g.m.Follow(); err != nil {
		g.t.Error(err)
	}
}

func (g *testGroup) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	g.moved.Broadcast()
}

func (g *testGroup) Held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *testGroup) WaitHeld() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.held {
		if !g.leads {
			return persistence.ErrNotLeader
		}
		g.waits++
		g.moved.Wait()
		g.waits--
	}
	return nil
}

func (g *testGroup) Fresh(patient bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard || patient && g.patient
}

func (g *testGroup) Shard() (own *slots.Set, covered bool) { return g.own.Load(), !g.uncovered.Load() }

func (g *testGroup) Meet(_ context.Context, address string) error {
	g.set(func() { g.changes = append(g.changes, "meet "+address) })
	return g.refuses
}

func (g *testGroup) TakeSlots(_ context.Context, add *slots.Set) error {
	g.set(func() { g.changes = append(g.changes, "take "+add.String()) })
	return g.refuses
}

func (g *testGroup) Replicate(_ context.Context, master string) error {
	g.set(func() { g.changes = append(g.changes, "replicate "+master) })
	return g.refuses
}

func (g *testGroup) Forget(_ context.Context, id string) (known bool, err error) {
	g.set(func() { g.changes = append(g.changes, "forget "+id) })
	return len(id) == 40 && id[0] != '7', g.refuses
}

func (g *testGroup) Reset(context.Context) error {
	g.set(func() { g.changes = append(g.changes, "reset") })
	return g.refuses
}

func (g *testGroup) DropSlots(_ context.Context, drop *slots.Set) error {
	g.set(func() { g.changes = append(g.changes, "drop "+drop.String()) })
	return g.refuses
}

func (g *testGroup) Gone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

func (g *testGroup) RemoveMember(_ context.Context, member uint64, force bool) error {
	g.set(func() { g.changes = append(g.changes, fmt.Sprintf("leave %d %v", member, force)) })
	return g.refuses
}

func (g *testGroup) ReplaceMember(_ context.Context, leaves, by uint64) error {
	g.set(func() { g.changes = append(g.changes, fmt.Sprintf("replace %d %d", leaves, by)) })
	return g.refuses
}

func (g *testGroup) TransferTo(member uint64) error {
	g.set(func() { g.changes = append(g.changes, fmt.Sprintf("transfer %d", member)) })
	return g.refuses
}

func (g *testGroup) BuryGroup(_ context.Context, node string) (freed *slots.Set, known bool, err error) {
	g.set(func() { g.changes = append(g.changes, "bury "+node) })
	freed = new(slots.Set)
	if node[0] != '8' {
		freed.Add(slots.Range{First: 5, Last: 9})
	}
	return freed, node[0] != '7', g.refuses
}

func (g *testGroup) Upgrade(_ context.Context, dry bool) (from, to uint64, adds []string, err error) {
	g.set(func() { g.changes = append(g.changes, fmt.Sprintf("upgrade %v", dry)) })
	g.mu.Lock()
	defer g.mu.Unlock()
	level := max(1, g.level)
	return level, 3, []string{"one thing", "another one"}[:3-level], g.refuses
}

func (g *testGroup) RecoverVote() (last, term uint64, err error) {
	g.set(func() { g.changes = append(g.changes, "recover") })
	return 40, 7, g.refuses
}

func (g *testGroup) TakeOver() { g.set(func() { g.asked++ }) }

func (g *testGroup) Publish(kind byte, channel, message []byte, wide bool) {
	if wide != (pubsub.Kind(kind) == pubsub.Channel) {
		g.t.Errorf("a message of kind %d is for other groups: %v", kind, wide)
	}
	g.set(func() { g.published = append(g.published, fmt.Sprintf("%d %s %s", kind, channel, message)) })
}

func (g *testGroup) Published() (sent, dropped, received uint64) { return 5, 6, 7 }

// given returns what other members were given so far.
func (g *testGroup) given() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.published, ", ")
}

// Close ends the group before the store, whose task may propose yet.
func (g *testGroup) Close() error {
	g.set(func() {
		g.over = math.MaxUint64
		close(g.wake)
	})
	<-g.done
	g.m.Resign()
	g.set(func() { g.leads, g.held = false, false })
	return nil
}

// Under the policy of fsync that waits for nothing, replies of a leader wait: those of
// writes for the commit, and so do those that show what is not committed.
func TestRepliesOfALeaderWaitForTheCommit(t *testing.T) {
	r, g := newGroupRig(t)
	writer, reader, other := r.dial(), r.dial(), r.dial()
	other.want("SET other 1", "OK")
	g.holdBack(true)
	writer.send("SET", "k", "v")
	r.until("the write is in memory", func() bool { return len(g.waiting()) == 1 })
	reader.send("GET", "k")
	other.want("GET other", `"1"`) // which is committed
	g.holdBack(false)
	writer.next("OK")
	reader.next(`"v"`)
}

func (g *testGroup) waiting() [][]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proposals
}

// No reply that depends on keys leaves without the lease, be the key there or not. Replies
// that depend on none do.
func TestRepliesOfALeaderWaitForItsLease(t *testing.T) {
	r, g := newGroupRig(t)
	r.dial().want("SET k v", "OK")
	g.set(func() { g.held = false })
	calls := map[string]string{"GET k": `"v"`, "GET nosuch": "(nil)", "EXISTS nosuch": "(int) 0", "SET l w": "OK",
		"INCR k": "(error) ERR value is not an integer or out of range", "EVAL return{redis.call('get','k')} 0": `["v"]`}
	clients := map[string]*testClient{}
	for call := range calls {
		clients[call] = r.dial()
		clients[call].send(strings.Fields(call)...)
	}
	r.dial().want("PING", "PONG")
	r.until("all wait for the lease", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.waits == len(calls)
	})
	g.set(func() { g.held = true })
	for call, want := range calls {
		if got := clients[call].reply(); got != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
}

// A leader that is deposed forgets what was not committed, and its clients get no reply to
// it: whether another leader has it they cannot know.
func TestDeposedLeaderForgetsAndDisconnects(t *testing.T) {
	r, g := newGroupRig(t)
	writer, reader, popper, watcher := r.dial(), r.dial(), r.dial(), r.dial()
	writer.want("SET k old", "OK")
	watcher.want("WATCH k", "OK")
	popper.send("BLPOP", "list", "0")
	r.blocked(1)
	g.holdBack(true)
	writer.send("SET", "k", "new")
	r.until("the write is in memory", func() bool { return len(g.waiting()) == 1 })
	reader.send("GET", "k")
	r.until("it was read", func() bool { return r.srv.stats.calls("get") == 1 })
	g.depose()
	writer.ended()
	reader.ended() // it has seen what is lost
	popper.ended()
	watcher.ended()
	r.connected(0)
	c := r.dial()
	c.want("GET k", `"old"`)
	c.want("SET k newer", "(error) READONLY You can't write against a read only replica.")
	g.elect()
	c.want("SET k newer", "OK")
	c.want("GET k", `"newer"`)
}

// A follower is read while it hears its leader. What changes keys, or rests on what only a
// leader knows, is refused.
func TestFollowersAreReadOnly(t *testing.T) {
	r, g := newGroupRig(t)
	c := r.dial()
	c.want("SET k v PX 60000", "OK")
	c.want("XADD s 1-1 f v", `"1-1"`)
	c.do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function{function_name='f',callback=function() return 1 end,flags={'no-writes'}}")
	g.depose()
	const readOnly = "(error) READONLY You can't write against a read only replica."
	c = r.dial()
	for call, want := range map[string]string{
		"SET k w": readOnly, "BLPOP l 0": readOnly, "FLUSHALL": readOnly, "EXPIRE k 1": readOnly, "FUNCTION FLUSH": readOnly, "SPOP s": readOnly,
		"SCHED.OBSERVE s 1 1": readOnly,
		"GET k":               `"v"`, "XLEN s": "(int) 1", "PING": "PONG", "XREAD STREAMS s 0": `[["s" [["1-1" ["f" "v"]]]]]`,
		"XREAD BLOCK 0 STREAMS s $":            "(error) READONLY 'xread' needs the member that leads the group",
		"WATCH k":                              "(error) READONLY 'watch' needs the member that leads the group",
		"CLIENT TRACKING ON":                   "(error) READONLY 'client|tracking' needs the member that leads the group",
		"FCALL f 0":                            "(error) READONLY 'fcall' needs the member that leads the group",
		"FCALL_RO f 0":                         "(error) READONLY 'fcall_ro' needs the member that leads the group",
		"EVAL return(redis.call('get','k')) 0": `"v"`,
		"CONFIG SET appendfsync always":        "(error) ERR CONFIG SET failed (possibly related to argument 'appendfsync') - a member of a group keeps its appendfsync until it starts again",
	} {
		if got := c.do(strings.Fields(call)...); got != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
	if got := c.do("EVAL", "return redis.call('set','k','w')", "0"); !strings.HasPrefix(got, "(error) READONLY You can't write") {
		t.Errorf("a script that writes: %s", got)
	}
	if got := c.do("EVAL", "#!lua\nreturn 1", "0"); got != readOnly {
		t.Errorf("a script that declares that it may write: %s", got)
	}
	c.want("MULTI", "OK")
	c.want("SET k w", readOnly)
	c.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
	r.clock.advance(time.Minute)
	c.want("GET k", "(nil)") // it is over, and the leader deletes it
	c.want("DBSIZE", "(int) 2")
}

// A follower that does not hear its leader is not read, but by clients that accept old
// data, and by those no longer than is configured.
func TestFollowersThatHearNothingAreDown(t *testing.T) {
	r, g := newGroupRig(t)
	r.dial().want("SET k v", "OK")
	g.depose()
	g.set(func() { g.heard = false })
	const down = "(error) CLUSTERDOWN The cluster is down"
	c := r.dial()
	c.want("GET k", down)
	c.want("SET k w", down)
	c.want("KEYS *", down)
	c.want("PING", "PONG")
	c.want("READONLY", "OK")
	c.want("GET k", `"v"`)
	c.want("SET k w", down)
	c.want("READWRITE", "OK")
	c.want("GET k", down)
	c.want("READONLY", "OK")
	g.set(func() { g.patient = false })
	c.want("GET k", down)
}
