package persistence

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// Replicator is the engine of consensus of a group, as a member that leads sees it.
type Replicator interface {
	// Propose hands over the data of an entry of type grouplog.Records, to be appended
	// to the log in the order of the calls, provided that the engine's term is still
	// the given one at that moment: records of an earlier leadership must not get into
	// a later one. With an error nothing was taken, and the store tries again later.
	// data belongs to the engine for good. It must wait neither for the entry to be
	// committed nor for a call of the store, nor call the store.
	Propose(term uint64, data []byte) error
}

// Puller is a Replicator that has the store propose when it is ready for that, so that a
// record is on its way without another goroutine in between.
type Puller interface {
	Replicator
	// Wake returns the channel that gets a token when something may be due, for Member.Propose.
	// With nil the store proposes by itself.
	Wake() chan struct{}
	// Attend looks after a token in the place of its receiver, or has it come after all. It may
	// take as long as any call of the engine.
	Attend()
}

// Member is a store as a member of a group of machines that share the data. Its journal is
// the group's log: what one member, the leader, changes is proposed in place of being
// written, counts when it is committed, and is applied by the others then. ADR 0047.
//
// What [Store.WaitDurable] waits for, and what values on disk contain, is committed. So
// everything that is not can be given up: Follow forgets memory and replays the journal.
// The numbers that Tx.Commit and Tx.Seen return are positions then: what depends on
// something that was given up is never confirmed, whatever is recorded later.
//
// The engine calls Append, Commit, Lead and Follow, one at a time. The entries of
// Commit were appended before. After an error of the disk the store is to be closed.
type Member struct {
	s          *Store
	log        *grouplog.Log
	replicator Replicator

	// leads is changed with all shards locked. Code that holds one may rely on it.
	leads   atomic.Bool
	applied atomic.Uint64 // last entry that memory contains, or is given up for
	policy  atomic.Int32  // SyncPolicy of what is appended
	whole   bool          // see Whole
	syncNow chan struct{} // see hurry
	broken  atomic.Pointer[error]
	exports sync.Map      // of *Export that are not closed
	keep    atomic.Uint64 // see Keep
	imports atomic.Uint64 // states that were begun to be received
	level   groupLevel

	// replacing is held while the log and what Pebble has are replaced, and for reading while both are copied. No other lock is taken
	// under it but those of the disk.
	replacing sync.RWMutex

	pulled bool // the replicator is a Puller

	live *replay // of a follower; nil until the first entry
	torn bool    // an entry was applied in part

	mu     sync.Mutex      // guards below; taken before the journal's
	term   uint64          // in which it leads
	due    []journal.Chunk // taken from the journal, not proposed
	flying []uint64        // last record of each entry that was proposed and may not be committed
}

// memberDisk is where records of the log of a group lie.
type memberDisk struct{ s *Store }

func (d memberDisk) Reader() *pebble.DB { return d.s.disk.DB }

func (d memberDisk) Apply(b *pebble.Batch) error { return d.s.disk.Apply(b, pebble.Sync) }

// Member returns the store as a member of its group, nil if it is alone.
func (s *Store) Member() *Member { return s.member }

// join makes the store a member before anything is read.
func (s *Store) join() {
	s.durable.Init()
	if s.opts.Replicator != nil {
		s.member = &Member{s: s, replicator: s.opts.Replicator, syncNow: make(chan struct{}, 1)}
		if s.member.level.newest = s.opts.NewestLevel; s.opts.NewestLevel == 0 {
			s.member.level.newest = NewestLevel
		}
		if p, ok := s.opts.Replicator.(Puller); ok && p.Wake() != nil {
			s.member.pulled = true
			s.journal.WakeBy(p.Wake())
		}
		s.durable.Branch()
	}
}

// openLog opens the log of the store, or of its group if it is in one.
func (s *Store) openLog() (err error) {
	m := s.member
	if s.mapping.Grouped != (m != nil) {
		if m != nil {
			return fmt.Errorf("the store is alone, and cannot become a member of a group: %w", ErrMember)
		}
		return fmt.Errorf("the store is a member of a group, and cannot be opened alone: %w", ErrMember)
	}
	if m == nil {
		return s.openChunks()
	}
	if err := m.openEntries(); err != nil {
		return err
	}
	if err := m.readable(); err != nil {
		return err
	}
	m.whole = s.opts.Boot != [16]byte{} && m.log.Boot().ID == s.opts.Boot
	m.applied.Store(m.log.State().Commit)
	return m.dropIncoming()
}

// Whole reports that the log has everything that was appended to it before the store was opened: its grouplog.Boot has what
// [Member.Boot] returned to the process before, and returns to this one, so that the process died and not the machine.
func (m *Member) Whole() bool { return m.whole }

// Boot identifies the boot of the machine during which the death of the process loses nothing that was
// appended, under any policy. It is zero if that is not known.
func (m *Member) Boot() (id [16]byte) { return m.s.opts.Boot }

// follows reports whether the store is a member that does not lead: nothing may be
// changed by it. The lock of a shard is held, or the answer is of the past.
func (m *Member) follows() bool { return m != nil && !m.leads.Load() }

// Leads reports whether the member leads its group. By the time that it returns this may
// have changed, unless a lock of a shard is held.
func (m *Member) Leads() bool { return m.leads.Load() }

// enter is called when a transaction begins.
func (m *Member) enter(tx *Tx) {
	tx.follows, tx.time = m.follows(), m.s.durable.Time()
	if err := m.broken.Load(); err != nil {
		tx.err = *err
	}
}

// setPolicy changes when entries are forced to the device, and returns what replies are
// to wait for: the commit, always.
func (m *Member) setPolicy(p SyncPolicy) SyncPolicy {
	if m == nil {
		return p
	}
	m.policy.Store(int32(p))
	return SyncAlways
}

// Log returns the log for reading, and for what else the engine keeps in it. Entries are
// added by Append and removed by the store.
func (m *Member) Log() *grouplog.Log { return m.log }

// Applied returns the last entry that memory contains.
func (m *Member) Applied() uint64 { return m.applied.Load() }

// Append writes entries, and the hard state unless it is nil: they outlive the process. It is forced to the device
// if term or vote changed and, with entries, under SyncAlways. Under other policies a
// machine that fails may lose what was appended last: the
// engine must not let such a member vote before it has caught up.
//
// The error is grouplog.ErrCorrupt, and nothing was written, for what no correct engine
// asks for; see [grouplog.Log.Append]. After another one nothing of it counts.
func (m *Member) Append(entries []grouplog.Entry, state *grouplog.HardState) error {
	for i := range entries {
		switch e := &entries[i]; {
		case e.Index <= m.applied.Load():
			return fmt.Errorf("entry %d was applied: %w", e.Index, grouplog.ErrCorrupt)
		case m.leads.Load() && e.Term != m.term:
			return fmt.Errorf("entry %d of term %d for the leader of term %d: %w", e.Index, e.Term, m.term, grouplog.ErrCorrupt)
		}
	}
	unsynced := m.log.Unsynced()
	sync := len(entries) > 0 && (SyncPolicy(m.policy.Load()) == SyncAlways || unsynced > mostUnsynced)
	if err := m.log.Append(entries, state, sync); err != nil {
		return m.failed(err)
	}
	if unsynced > hurriedUnsynced && !sync {
		m.hurry()
	}
	return nil
}

// failed returns an error of the log, after which the disk is not written any more, unless nothing was to be written.
func (m *Member) failed(err error) error {
	if errors.Is(err, grouplog.ErrCorrupt) {
		return err
	}
	return m.s.logFailed(err)
}

// Commit takes entries, the next ones, that are committed. On the leader replies and
// values that wait for them go on; a follower applies them to memory, for which it locks
// shards and reads the disk. After an error Follow is to be called, and to go on behind
// Applied.
func (m *Member) Commit(entries []grouplog.Entry) error {
	for i := range entries {
		e := &entries[i]
		term, err := m.log.Term(e.Index)
		if err == nil && (e.Index != m.applied.Load()+1 || e.Term != term || m.leads.Load() && term != m.term) {
			err = fmt.Errorf("entry %d of term %d behind %d, in the log of term %d: %w",
				e.Index, e.Term, m.applied.Load(), term, grouplog.ErrCorrupt)
		}
		if err == nil {
			err = m.commit(e)
		}
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		m.applied.Store(e.Index)
	}
	if m.leads.Load() && !m.pulled {
		m.s.journal.Signal()
	}
	if m.s.log.Bytes() > m.s.writer.JournalBound() {
		m.s.writer.Signal()
	}
	return nil
}

func (m *Member) commit(e *grouplog.Entry) error {
	if !m.leads.Load() {
		return m.follow(e)
	}
	last, err := m.log.LastRecord(e.Index)
	if err == nil && last > m.s.journal.Newest() {
		err = fmt.Errorf("entry %d ends with record %d, the leader has %d: %w", e.Index, last, m.s.journal.Newest(), grouplog.ErrCorrupt)
	}
	if err == nil && e.Type == grouplog.Records {
		m.s.log.Add(last, int64(len(e.Data)), 0)
		m.s.durable.Advance(last)
	}
	return err
}

// Lead makes the member the leader in a term, once the first entry of it is applied: from
// now on it takes changes. It waits for all shards.
func (m *Member) Lead(term uint64) error {
	s := m.s
	_, end := m.log.Bounds()
	last, err := m.log.LastRecord(end)
	if err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	var all Shards
	all.AddAll()
	s.keyspace.Lock(&all, true)
	defer s.keyspace.Unlock(&all)
	if m.torn || m.leads.Load() || last != s.journal.Newest() {
		return fmt.Errorf("lead in term %d: record %d of %d is applied: %w", term, s.journal.Newest(), last, grouplog.ErrCorrupt)
	}
	m.mu.Lock()
	m.term = term
	m.mu.Unlock()
	m.live = nil
	s.durable.Advance(last)
	m.leads.Store(true)
	return nil
}

// Follow makes the member a follower, before anything of a later term is appended. It
// waits for all shards. What is in memory and not committed is given up: waiting calls get
// an error, and memory is made again of what is on disk, which takes as long as Open.
func (m *Member) Follow() error {
	s := m.s
	var all Shards
	all.AddAll()
	s.keyspace.Lock(&all, true)
	m.leads.Store(false)
	stale := m.torn || s.keyspace.Tear.Torn() || s.journal.Newest() > s.Synced()
	s.keyspace.Unlock(&all)
	m.live = nil
	if !stale {
		return nil
	}
	s.durable.Fail(ErrNotLeader) // a pass may wait for a commit
	if planted == keptTail {
		return nil
	}
	if err := m.rollBack(); err != nil {
		err = fmt.Errorf("roll back: %w", err)
		m.broken.Store(&err)
		s.keyspace.Tear.Over(err)
		return err
	}
	if s.keyspace.Tear.Torn() {
		s.warmer.restart()
	}
	s.keyspace.Tear.Over(nil)
	return nil
}

// Resign ends the leadership, if there is one, for good: what waits for a commit fails. The
// engine calls no other method any more.
func (m *Member) Resign() {
	if m == nil {
		return
	}
	var all Shards
	all.AddAll()
	m.s.keyspace.Lock(&all, true)
	m.leads.Store(false)
	m.s.keyspace.Unlock(&all)
	m.s.durable.Close(ErrClosed)
	if m.s.keyspace.Tear.Torn() {
		m.s.keyspace.Tear.Over(ErrClosed)
	}
	m.closeExports()
}

// rest adds to a batch that what it writes may contain all that is committed, as far as the device has it.
func (m *Member) rest(b *pebble.Batch) error {
	if m == nil || planted == forgottenRest {
		return nil
	}
	_, forced := m.log.Forced()
	if planted == hastyLog {
		forced = m.s.Synced()
	}
	return m.log.Rest(b, min(m.s.Synced(), forced))
}

// inLog returns a position of the journal with the index that the log of the group has for it.
func (m *Member) inLog(to journal.Position) journal.Position {
	if m != nil {
		to.Index = m.log.Holding(to.LSN)
	}
	return to
}

// maxTail is how many entries a member keeps for others at most, however small they are.
const maxTail = 1 << 18

// cutTail removes what the log has beyond Options.Tail up to the record behind which a
// replay begins.
func (m *Member) cutTail(lsn uint64) error {
	if m == nil {
		return nil
	}
	index := m.log.Excess(m.log.Holding(lsn), m.s.opts.Tail, maxTail)
	if keep := m.keep.Load(); keep != 0 {
		index = min(index, keep)
	}
	if index == 0 {
		return nil
	}
	return m.log.Cut(index)
}

// Keep has the log keep what is behind an entry, beyond Options.Tail, until it is called with
// another one; 0 is none. A member that is being given the state needs the log from there on.
func (m *Member) Keep(index uint64) { m.keep.Store(index) }

// replayed checks where a replay has ended.
func (m *Member) replayed(at journal.Position) error {
	if m == nil {
		return nil
	}
	last, err := m.log.LastRecord(m.Applied())
	if err == nil && (at.Index != m.Applied() || at.LSN != last) {
		err = fmt.Errorf("the journal ends with record %d of entry %d, want %d of %d: %w", at.LSN, at.Index, last, m.Applied(), ErrCorrupt)
	}
	return err
}

// Origin returns of which snapshot the store was made, nil if it was made of none, or has been used since. The
// error is ErrCorrupt for a damaged note.
func (m *Member) Origin() (*snapshot.Origin, error) {
	return snapshot.ReadOrigin(m.s.opts.FS, m.s.opts.Dir)
}

// DropOrigin forgets of which snapshot the store was made. It returns when that is on the device.
func (m *Member) DropOrigin() error { return snapshot.RemoveOrigin(m.s.opts.FS, m.s.opts.Dir) }
