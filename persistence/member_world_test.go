package persistence

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// world is three members of a group, and in place of an engine of consensus the rules of
// Raft, whose messages arrive when the test wants it.
type world struct {
	testing.TB
	r     *rand.Rand
	nodes [3]*node
	term  uint64 // the newest
	now   int64
	// states are what leaders had in memory behind their records; nil if the test knows
	// what is to be there.
	states  map[recordAt]state
	terms   map[uint64]uint64 // of entries that are committed, by their last records
	effects map[string]int    // how often something happened
	tail    int64             // Options.Tail
	live    bool              // background work runs by itself
	policy  SyncPolicy
	segment int64 // Options.SegmentBytes
}

// recordAt is a record by the term of its entry.
type recordAt struct{ term, lsn uint64 }

type state struct {
	m     *model
	exact bool // nothing that is over is in memory
}

// node is a member with its disk.
type node struct {
	w      *world
	id     uint64
	fs     *disktest.Disk
	boot   byte // of its machine
	s      *Store
	commit Task
	disk   fullDisk // over fs

	elected  uint64                     // term in which it won the election, 0 if it does not lead
	began    uint64                     // last record before that
	leads    bool                       // the store was told so
	lost     bool                       // it may have lost what it acknowledged, and has not caught up
	m        *model                     // of the leader
	made     []recordAt                 // records of clients that wait
	position []uint64                   // theirs
	passes   []chan error               // of the writeback that are under way
	fed      *groupFeed                 // the last one, nil if there was none
	told     map[byte]map[string]string // of texts, by the operation that changes them

	mu     sync.Mutex
	data   []proposal // not appended; guarded by mu
	refuse bool       // proposals; guarded by mu
}

type proposal struct {
	term uint64
	data []byte
}

// newWorld makes three new members.
func newWorld(t testing.TB, seed uint64, tail int64) *world {
	w := &world{TB: t, r: rand.New(rand.NewPCG(seed, 47)), states: map[recordAt]state{}, terms: map[uint64]uint64{}, effects: map[string]int{}, tail: tail,
		now: 1000, policy: SyncAlways}
	w.states[recordAt{}] = state{newModel(), true}
	return w.open()
}

func (w *world) open() *world {
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, id: uint64(i + 1), fs: disktest.New()}
		w.nodes[i].open()
	}
	return w
}

func (n *node) open() {
	o := Options{FS: errorfs.Wrap(n.fs, &n.disk), Databases: modelDBs, Seed: n.id, IdleAfter: -1, Sync: n.w.policy,
		RecentBytes: 1 + int(n.id%2)<<12, LargeBytes: pagedLarge(n.id), MaxMemory: pagedLimit(n.id), BatchBytes: 64 << 10,
		Boot: [16]byte{1, n.boot}, SegmentBytes: cmp.Or(n.w.segment, 16<<10),
		Replicator: n, Tail: n.w.tail, JournalBound: 32 << 10, OnUsers: n.hear(format.OpUser), OnConfiguration: n.hear(format.OpConfiguration), OnMoves: n.hear(format.OpMove)}
	if !n.w.live {
		o.Background = func(t Task) {
			if t.Name == "commit" {
				n.commit = t
			}
		}
	}
	n.s = openMemory(n.w, o)
	n.s.Member().SetLevel(NewestLevel())
	n.heed()
	stageParts(n.s)
}

// Propose implements Replicator.
func (n *node) Propose(term uint64, data []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse {
		return errors.New("later")
	}
	n.data = append(n.data, proposal{term, data})
	return nil
}

// proposed takes what was proposed in the term of the leadership.
func (n *node) proposed() (data [][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.data {
		if p.term == n.elected {
			data = append(data, p.data)
		}
	}
	n.data = nil
	return data
}

// setRefuse says whether the engine refuses proposals.
func (n *node) setRefuse(refuse bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = refuse
}

func (n *node) must(err error) {
	n.w.Helper()
	if err != nil {
		n.w.Fatalf("member %d: %v", n.id, err)
	}
}

func (n *node) log() *grouplog.Log { return n.s.Member().Log() }

func (n *node) last() (index uint64) {
	_, index = n.log().Bounds()
	return index
}

func (n *node) termOf(index uint64) uint64 {
	term, err := n.log().Term(index)
	if err != nil {
		return 0
	}
	return term
}

// newest is the newest record in memory.
func (n *node) newest() recordAt {
	lsn := n.s.commits.Journal.Newest()
	if n.leads && lsn > n.began {
		return recordAt{n.elected, lsn}
	}
	return recordAt{n.termOfRecord(lsn), lsn}
}

// termOfRecord is the term of the entry with a record, 0 if the log has none.
func (n *node) termOfRecord(lsn uint64) uint64 {
	index := n.log().Holding(lsn)
	if lsn == 0 || index > n.last() {
		return 0
	}
	if first, _ := n.log().Bounds(); index < first {
		return n.w.terms[lsn]
	}
	return n.termOf(index)
}

// transact changes something at random on a member that leads, or takes itself for the leader.
func (n *node) transact() {
	w := n.w
	w.now += int64(w.r.IntN(3))
	n.m.now = w.now
	n.m.expire()
	before := n.s.commits.Journal.Newest()
	position := uint64(0)
	var set Shards
	set.AddAll()
	tx := n.s.NewTx()
	tx.Lock(&set, w.now)
	for range 1 + w.r.IntN(4) {
		n.m.step(w, w.r, tx)
	}
	position = tx.Commit()
	tx.Unlock()
	n.heed()
	if position != 0 {
		n.made = append(n.made, recordAt{n.elected, n.s.commits.Journal.Newest()})
		n.position = append(n.position, max(position, tx.Seen()))
		w.effects["write"]++
	}
	if n.s.commits.Journal.Newest() > before {
		w.states[n.newest()] = state{n.m.clone(), false}
	}
	if w.r.IntN(3) == 0 {
		n.check()
	}
}

// expire runs the cycle that deletes what is over.
func (n *node) expire() {
	if !n.leads {
		n.s.ExpireCycle(n.w.now, 1e6)
		return
	}
	if n.s.commits.Journal.Newest() > n.s.commits.Synced() || len(n.passes) > 0 {
		return // a pass may end an entry in the middle of it
	}
	n.s.ExpireCycle(n.w.now, 1e6)
	if n.s.commits.Journal.Newest() > n.s.commits.Synced() {
		n.m.now = n.w.now
		n.m.expire()
		all(n.s, n.m.now, func(tx *Tx) { n.m.sweep(n.w, tx) })
		n.w.states[n.newest()] = state{n.m.clone(), false}
	}
}

// check compares the memory of a leader with its model. What is over goes by that.
func (n *node) check() {
	n.m.now = n.w.now
	if diff := n.m.diff(n.s); diff != "" {
		n.w.Fatalf("leader %d: %s", n.id, diff)
	}
	n.w.states[n.newest()] = state{n.m.clone(), true}
}

// propose has the leader append what it has proposed.
func (n *node) propose() {
	if n.elected == 0 {
		return
	}
	if !n.w.live {
		n.commit.Step(n.w.r.IntN(2) == 0)
	}
	var entries []grouplog.Entry
	for i, data := range n.proposed() {
		entries = append(entries, grouplog.Entry{Index: n.last() + 1 + uint64(i), Term: n.elected, Type: grouplog.Records, Data: data})
	}
	n.must(n.s.Member().Append(entries, nil))
}

// follow ends the leadership of a member.
func (n *node) follow() {
	if n.elected == 0 {
		return
	}
	if n.leads && n.s.commits.Journal.Newest() > n.s.commits.Synced() {
		n.w.effects["roll back"]++
	}
	n.elected, n.leads = 0, false
	n.must(n.s.Member().Follow())
	n.endPasses()
	n.same("deposed")
}

// elect makes a member the leader if another one votes for it.
func (w *world) elect(n, voter *node) {
	if n == voter || n.lost || voter.lost || n.elected != 0 && n.elected == w.term {
		return
	}
	a, b := recordAt{n.termOf(n.last()), n.last()}, recordAt{voter.termOf(voter.last()), voter.last()}
	if a.term < b.term || a.term == b.term && a.lsn < b.lsn {
		return
	}
	w.term++
	for _, v := range []*node{n, voter} {
		v.follow()
		v.must(v.s.Member().Append(nil, &grouplog.HardState{Term: w.term, Vote: n.id, Commit: v.log().State().Commit}))
	}
	n.elected = w.term
	var err error
	n.began, err = n.log().LastRecord(n.last())
	n.must(err)
	n.must(n.s.Member().Append([]grouplog.Entry{{Index: n.last() + 1, Term: w.term, Type: 2}}, nil))
	w.effects["election"]++
}

// send brings a member what a leader has, or the leader a newer term.
func (n *node) send(to *node) {
	if n.elected == 0 || n == to {
		return
	}
	if to.log().State().Term > n.elected {
		n.follow()
		return
	}
	if to.log().State().Term < n.elected {
		to.follow()
	}
	match := min(n.last(), to.last())
	for n.termOf(match) != to.termOf(match) {
		match--
	}
	first, _ := n.log().Bounds()
	if match+1 < first { // what it lacks was cut off
		n.give(to)
		return
	}
	state := to.log().State()
	if state.Term < n.elected {
		state.Term, state.Vote = n.elected, 0
	}
	var entries []grouplog.Entry
	if match < n.last() {
		var err error
		entries, err = n.log().Entries(match+1, n.last()+1, 1<<30)
		n.must(err)
		if n.w.states != nil {
			entries = entries[:1+n.w.r.IntN(len(entries))]
		}
	}
	committed := min(n.s.Member().Applied(), match+uint64(len(entries)))
	if n.w.r.IntN(3) == 0 { // else it is written late
		state.Commit = max(state.Commit, committed)
	}
	to.must(to.s.Member().Append(entries, &state))
	if to.elected == 0 {
		to.take(committed)
	}
	// What it acknowledged was committed before the leader's term, or is in this.
	if n.leads && to.last() == n.last() {
		to.lost = false
	}
}

// take applies the entries up to one that is committed.
func (n *node) take(committed uint64) {
	from := n.s.Member().Applied() + 1
	if committed < from {
		return
	}
	entries, err := n.log().Entries(from, committed+1, 1<<30)
	n.must(err)
	n.must(n.s.Member().Commit(entries))
	for _, e := range entries {
		if e.Type == grouplog.Records {
			last, err := n.log().LastRecord(e.Index)
			n.must(err)
			n.w.terms[last] = e.Term
		}
	}
	if n.elected == 0 {
		n.same("following")
	}
}

// count finds what is committed in the term of a leader, which leads once its first entry is.
func (n *node) count() {
	if n.elected == 0 {
		return
	}
	for index := n.last(); index > n.s.Member().Applied() && n.termOf(index) == n.elected; index-- {
		holders := 0
		for _, o := range n.w.nodes {
			if o.termOf(index) == n.elected {
				holders++
			}
		}
		if holders >= 2 {
			n.take(index)
			break
		}
	}
	if !n.leads && n.termOf(n.s.Member().Applied()) == n.elected {
		at := n.newest()
		n.must(n.s.Member().Lead(n.elected))
		if n.leads = true; n.w.states == nil {
			return
		}
		n.m = n.w.stateOf(n, at).m.clone()
		n.m.effects = n.w.effects
	}
}

// materialise begins a pass, which waits for what is not committed.
func (n *node) materialise() {
	if n.s.commits.Journal.Newest() == n.s.commits.Synced() {
		n.endPasses()
		materialise(n.w, n.s)
		n.w.effects["pass"]++
		return
	}
	if len(n.passes) > 0 {
		return
	}
	done, s := make(chan error, 1), n.s
	n.passes = append(n.passes, done)
	go func() { done <- s.passes.Materialise(s.passes.Ctx) }()
	n.w.effects["pass that waits"]++
}

// endPasses waits for passes that can end.
func (n *node) endPasses() {
	for _, done := range n.passes {
		<-done
	}
	n.passes = nil
}

func (w *world) close() {
	w.Helper()
	for _, n := range w.nodes {
		n.stop()
		r, err := check.Run(check.Options{FS: n.fs, Dir: "db"}, func(string, int64, int64) {})
		if n.must(err); len(r.Damage) > 0 {
			w.Errorf("the disk of member %d: %s", n.id, r.Damage)
		}
	}
}

// settle makes one member the leader and brings all to the same state.
func (w *world) settle() *node {
	n := w.nodes[w.r.IntN(3)]
	for range 100 {
		if n.elected == 0 || n.elected != w.term {
			for _, c := range w.nodes {
				for _, v := range w.nodes {
					w.elect(c, v)
				}
				if c.elected != 0 && c.elected == w.term {
					n = c
					break
				}
			}
		}
		n.propose()
		for _, o := range w.nodes {
			n.send(o)
		}
		n.count()
		if n.leads {
			n.setRefuse(false)
			break
		}
	}
	if w.states != nil {
		n.check()
	}
	done := false
	for range 1000 {
		if done {
			break
		}
		n.propose()
		done = n.s.commits.Synced() == n.s.commits.Journal.Newest()
		for _, o := range w.nodes {
			n.send(o)
			done = done && o.s.Member().Applied() == n.last()
		}
		n.count()
	}
	if !done {
		w.Fatalf("members do not come to rest")
	}
	for _, o := range w.nodes {
		o.confirm()
		o.same("at the end")
	}
	return n
}
