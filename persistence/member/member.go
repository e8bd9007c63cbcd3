package member

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
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
	// Attend looks after a token in the place of its receiver, or sends it on. It may
	// take as long as any call of the engine.
	Attend()
}

// Apart is the Replicator of a copy that takes part in nothing: a member that reads what is committed, and never leads.
type Apart struct{}

// Propose takes nothing.
func (Apart) Propose(uint64, []byte) error { return ErrNotLeader }

// Member is a store as a member of a group of machines that share the data. Its journal is
// the group's log: what one member, the leader, changes is proposed in place of being
// written, counts when it is committed, and is applied by the others then. ADR 0047.
//
// What commits.Commits.WaitDurable waits for, and what values on disk contain, is committed. So
// everything that is not can be given up: Follow forgets memory and replays the journal.
// The numbers that Tx.Commit and Tx.Seen return are positions then: what depends on
// something that was given up is never confirmed, whatever is recorded later.
//
// The engine calls Append, Commit, Lead and Follow, one at a time. The entries of
// Commit were appended before. After an error of the disk the store is to be closed.
type Member struct {
	host       Host
	logger     Log
	log        *grouplog.Log
	replicator Replicator
	disk       *lsm.Disk
	keyspace   *keyspace.Keyspace
	journal    *journal.Journal
	durable    *journal.Durability
	size       *journal.Log // of the chunks in the log
	expiries   *expiry.Clock
	fs         vfs.FS
	dir        string
	boot       [16]byte
	kept       int64  // bytes that the log keeps for others
	committed  uint64 // Config.Committed

	// leads is changed with all shards locked. Code that holds one may rely on it.
	leads   atomic.Bool
	applied atomic.Uint64 // last entry that memory contains, or is given up for
	policy  atomic.Int32  // journal.SyncPolicy of what is appended
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

	live Applier // of a follower; nil until the first entry
	torn bool    // an entry was applied in part

	mu     sync.Mutex      // guards below; taken before the journal's
	term   uint64          // in which it leads
	due    []journal.Chunk // taken from the journal, not proposed
	flying []uint64        // last record of each entry that was proposed and may not be committed
}

// logDisk is where records of the log of a group lie.
type logDisk struct{ *lsm.Disk }

func (d logDisk) Reader() *pebble.DB { return d.DB }

func (d logDisk) Apply(b *pebble.Batch) error { return d.Disk.Apply(b, pebble.Sync) }

// Config is what a member works on. All of it belongs to the store.
type Config struct {
	Host       Host
	Log        Log
	Replicator Replicator
	Newest     uint64 // the newest level that the member reads and writes
	Disk       *lsm.Disk
	Keyspace   *keyspace.Keyspace
	Journal    *journal.Journal
	Durable    *journal.Durability
	Size       *journal.Log
	Expiries   *expiry.Clock
	FS         vfs.FS
	Dir        string
	Boot       [16]byte // of the machine, zero if that is not known
	Tail       int64    // bytes that the log keeps for other members
	Committed  uint64   // entry of the log up to which everything is committed, whatever the log says; 0: none
}

// New makes a member, whose log is not open.
func New(c Config) *Member {
	m := &Member{host: c.Host, logger: c.Log, replicator: c.Replicator, disk: c.Disk, keyspace: c.Keyspace, journal: c.Journal,
		durable: c.Durable, size: c.Size, expiries: c.Expiries, fs: c.FS, dir: c.Dir, boot: c.Boot, kept: c.Tail, committed: c.Committed, syncNow: make(chan struct{}, 1)}
	m.level.newest = c.Newest
	if p, ok := c.Replicator.(Puller); ok && p.Wake() != nil {
		m.pulled = true
		m.journal.WakeBy(p.Wake())
	}
	m.durable.Branch()
	return m
}

// Open opens the log of the group.
func (m *Member) Open() error {
	if err := m.openEntries(); err != nil {
		return err
	}
	if err := m.readable(); err != nil {
		return err
	}
	if state := m.log.State(); state.Commit < m.committed {
		state.Commit = m.committed
		if err := m.log.Append(nil, &state, true); err != nil {
			return err
		}
	}
	m.whole = m.boot != [16]byte{} && m.log.Boot().ID == m.boot
	m.applied.Store(m.log.State().Commit)
	return m.dropIncoming()
}

// openEntries opens the log of the group. One in format 2 gets files now. What is damaged is not cut off: the others have what
// would be lost, and the member has promised it to them.
func (m *Member) openEntries() (err error) {
	if m.host.Meta().Pebble {
		if err := m.upgrade(); err != nil {
			return fmt.Errorf("move the log of the group from format 2 into files: %w", err)
		}
	}
	m.log, err = grouplog.Open(logDisk{m.disk}, format.Group, m.host.LogConfig())
	if d := log.AsDamage(err); d != nil {
		return &wal.Damage{File: storelog.Dir + "/" + d.File, Offset: d.Offset, Reason: d.Reason}
	}
	return err
}

// CloseLog ends the log, if it is open.
func (m *Member) CloseLog() error {
	if m.log == nil {
		return nil
	}
	return m.log.Close()
}

// HoldFiles returns the files of the log, which all stay, and what the store has, until release is called.
func (m *Member) HoldFiles() (files *storelog.Log, release func()) {
	m.replacing.RLock()
	files = m.log.Files()
	unpin := files.Pin()
	return files, func() {
		unpin()
		m.replacing.RUnlock()
	}
}

// Whole reports that the log has everything that was appended to it before the store was opened: its grouplog.Boot has what
// [Member.Boot] returned to the process before, and returns to this one, so that the process died and not the machine.
func (m *Member) Whole() bool { return m.whole }

// Boot identifies the boot of the machine during which the death of the process loses nothing that was
// appended, under any policy. It is zero if that is not known.
func (m *Member) Boot() (id [16]byte) { return m.boot }

// Follows reports whether the store is a member that does not lead: nothing may be
// changed by it. The lock of a shard is held, or the answer is of the past.
func (m *Member) Follows() bool { return m != nil && !m.leads.Load() }

// Leads reports whether the member leads its group. By the time that it returns this may
// have changed, unless a lock of a shard is held.
func (m *Member) Leads() bool { return m.leads.Load() }

// Broken returns why the member cannot go on, nil if it can.
func (m *Member) Broken() error {
	if err := m.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// SetPolicy changes when entries are forced to the device, and returns what replies are
// to wait for: the commit, always.
func (m *Member) SetPolicy(p journal.SyncPolicy) journal.SyncPolicy {
	if m == nil {
		return p
	}
	m.policy.Store(int32(p))
	return journal.SyncAlways
}

// Log returns the log for reading, and for what else the engine keeps in it. Entries are
// added by Append and removed by the store.
func (m *Member) Log() *grouplog.Log { return m.log }

// Applied returns the last entry that memory contains.
func (m *Member) Applied() uint64 { return m.applied.Load() }

// Append writes entries, and the hard state unless it is nil: they outlive the process. It is forced to the device
// if term or vote changed and, with entries, under journal.SyncAlways. Under other policies a
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
	sync := len(entries) > 0 && (journal.SyncPolicy(m.policy.Load()) == journal.SyncAlways || unsynced > MostUnsynced)
	if err := m.log.Append(entries, state, sync); err != nil {
		return m.failed(err)
	}
	if unsynced > HurriedUnsynced && !sync {
		m.hurry()
	}
	return nil
}

// failed returns an error of the log, after which the disk is not written any more, unless nothing was to be written.
func (m *Member) failed(err error) error {
	if errors.Is(err, grouplog.ErrCorrupt) {
		return err
	}
	return m.host.Failed(err)
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
		m.journal.Signal()
	}
	m.host.Grown()
	return nil
}

func (m *Member) commit(e *grouplog.Entry) error {
	if !m.leads.Load() {
		return m.follow(e)
	}
	last, err := m.log.LastRecord(e.Index)
	if err == nil && last > m.journal.Newest() {
		err = fmt.Errorf("entry %d ends with record %d, the leader has %d: %w", e.Index, last, m.journal.Newest(), grouplog.ErrCorrupt)
	}
	if err == nil && e.Type == grouplog.Records {
		m.size.Add(last, int64(len(e.Data)), 0)
		m.durable.Advance(last)
	}
	return err
}

// Lead makes the member the leader in a term, once the first entry of it is applied: from
// now on it takes changes. It waits for all shards.
func (m *Member) Lead(term uint64) error {
	_, end := m.log.Bounds()
	last, err := m.log.LastRecord(end)
	if err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	var all keyspace.Shards
	all.AddAll()
	m.keyspace.Lock(&all, true)
	defer m.keyspace.Unlock(&all)
	if m.torn || m.leads.Load() || last != m.journal.Newest() {
		return fmt.Errorf("lead in term %d: record %d of %d is applied: %w", term, m.journal.Newest(), last, grouplog.ErrCorrupt)
	}
	m.mu.Lock()
	m.term = term
	m.mu.Unlock()
	m.live = nil
	m.durable.Advance(last)
	m.leads.Store(true)
	return nil
}

// Follow makes the member a follower, before anything of a later term is appended. It
// waits for all shards. What is in memory and not committed is given up: waiting calls get
// an error, and memory is made again of what is on disk, which takes as long as Open.
func (m *Member) Follow() error {
	var all keyspace.Shards
	all.AddAll()
	m.keyspace.Lock(&all, true)
	m.leads.Store(false)
	m.host.Deposed()
	stale := m.torn || m.keyspace.Tear.Torn() || m.journal.Newest() > m.durable.Synced()
	m.keyspace.Unlock(&all)
	m.live = nil
	if !stale {
		return nil
	}
	m.durable.Fail(ErrNotLeader) // a pass may wait for a commit
	if planted == keptTail {
		return nil
	}
	if err := m.rollBack(); err != nil {
		err = fmt.Errorf("roll back: %w", err)
		m.broken.Store(&err)
		m.keyspace.Tear.Over(err)
		return err
	}
	if m.keyspace.Tear.Torn() {
		m.host.Rewarm()
	}
	m.keyspace.Tear.Over(nil)
	return nil
}

// Resign ends the leadership, if there is one, for good: what waits for a commit fails. The
// engine calls no other method any more.
func (m *Member) Resign() {
	if m == nil {
		return
	}
	var all keyspace.Shards
	all.AddAll()
	m.keyspace.Lock(&all, true)
	m.leads.Store(false)
	m.keyspace.Unlock(&all)
	m.durable.Close(ErrClosed)
	if m.keyspace.Tear.Torn() {
		m.keyspace.Tear.Over(ErrClosed)
	}
	m.closeExports()
}

// Rest adds to a batch that its values may contain all that is committed and on the device.
func (m *Member) Rest(b *pebble.Batch) error {
	if m == nil || planted == forgottenRest {
		return nil
	}
	_, forced := m.log.Forced()
	if planted == hastyLog {
		forced = m.durable.Synced()
	}
	return m.log.Rest(b, min(m.durable.Synced(), forced))
}

// InLog returns a position of the journal with the index that the log of the group has for it.
func (m *Member) InLog(to journal.Position) journal.Position {
	if m != nil {
		to.Index = m.log.Holding(to.LSN)
	}
	return to
}

// maxTail is how many entries a member keeps for others at most, however small they are.
const maxTail = 1 << 18

// CutTail removes what the log has beyond Options.Tail up to the record behind which a
// replay begins.
func (m *Member) CutTail(lsn uint64) error {
	if m == nil {
		return nil
	}
	index := m.log.Excess(m.log.Holding(lsn), m.kept, maxTail)
	if keep := m.keep.Load(); keep != 0 {
		index = min(index, keep)
	}
	if index == 0 {
		return nil
	}
	return m.log.Cut(index)
}

// Keep keeps what is behind an entry of the log, beyond Options.Tail, until it is called with
// another one; 0 is none. A member that is being given the state needs the log from there on.
func (m *Member) Keep(index uint64) { m.keep.Store(index) }

// Replayed checks where a replay has ended.
func (m *Member) Replayed(at journal.Position) error {
	if m == nil {
		return nil
	}
	last, err := m.log.LastRecord(m.Applied())
	if err == nil && (at.Index != m.Applied() || at.LSN != last) {
		err = fmt.Errorf("the journal ends with record %d of entry %d, want %d of %d: %w", at.LSN, at.Index, last, m.Applied(), format.ErrCorrupt)
	}
	return err
}

// Common is what a store has in common with those of all members of its group: the secret from which the keys of its hashes come,
// and the number of databases. It never changes.
func (m *Member) Common() (secret [16]byte, databases int) {
	meta := m.host.Meta()
	return meta.Secret, len(meta.Phys)
}

// KeysFrom reports whether a database from one on has a key. It waits for what is under way.
func (m *Member) KeysFrom(db int) bool {
	defer m.host.HoldStill()()
	return m.host.AnyKeys(db)
}

// Origin returns the snapshot that the store was made of, nil if there is none, or it has been used since. The
// error is format.ErrCorrupt for a damaged note.
func (m *Member) Origin() (*snapshot.Origin, error) {
	return snapshot.ReadOrigin(m.fs, m.dir)
}

// DropOrigin removes the note of Origin. It returns when that is on the device.
func (m *Member) DropOrigin() error { return snapshot.RemoveOrigin(m.fs, m.dir) }

// DiskError returns why the disk cannot be written any more, nil if it can. A store in a group is
// to be closed then, so that another member leads: this one would refuse all changes.
func (m *Member) DiskError() error { return m.disk.Err() }
