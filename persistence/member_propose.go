package persistence

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
)

// maxFlying is how many entries are under way to their commit. The others gather records
// meanwhile: entries of few records cost more than those of many.
const maxFlying = 4

// task makes the task that proposes what is journalled. It stands in the place of the
// committer, and has its name.
func (m *Member) task() *task {
	t := &task{name: "commit", wake: m.s.journal.Wake(), period: syncPeriod, last: m.sync}
	if m.pulled {
		t.wake = m.syncNow
	}
	t.step = func(periodic bool) {
		if periodic {
			m.s.journal.Trim()
			m.mend(true)
		}
		if periodic && SyncPolicy(m.policy.Load()) == SyncEverySecond || m.kept.crowded() {
			m.sync()
		}
		if !m.pulled {
			m.Propose()
		}
	}
	return t
}

// hurry has the task sync before its period is over: the tail is filling up.
func (m *Member) hurry() {
	if !m.pulled {
		m.s.journal.Signal()
		return
	}
	select {
	case m.syncNow <- struct{}{}:
	default:
	}
}

// sync is Sync, for the task.
func (m *Member) sync() {
	if err := m.Sync(); err != nil {
		m.s.report(LevelError, "commit", err)
	}
}

// Sync forces what was appended to the device.
func (m *Member) Sync() error {
	if !m.unsynced.Swap(false) {
		return nil
	}
	return m.force()
}

// force is Sync also if one that was called before is under way.
func (m *Member) force() error {
	// Before the end of the log is asked for: what is appended in the place of an entry from now on may be
	// left out by the sync.
	begun, room := m.device.begin(), m.kept.seal()
	_, last := m.log.Bounds()
	if planted == hastyFree {
		m.kept.free(room)
		return nil
	}
	if err := m.s.syncLog(); err != nil {
		m.unsynced.Store(true)
		return fmt.Errorf("sync the log of the group: %w", err)
	}
	m.device.end(begun, last)
	m.kept.free(room)
	return nil
}

// Forced returns up to which entry the device has the log.
func (m *Member) Forced() uint64 {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	return m.device.forced
}

// device is what the device has of the log of a group.
type device struct {
	mu           sync.Mutex
	forced       uint64 // entry up to which it has the log at least; guarded by mu
	replacements uint64 // how often entries were appended in the place of others; guarded by mu
}

// append notes that entries were appended to a log that ended with entry was.
func (d *device) append(entries []grouplog.Entry, was uint64, synced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := entries[0].Index; first <= was {
		d.replacements++
		d.forced = min(d.forced, first-1)
	}
	if synced {
		d.forced = entries[len(entries)-1].Index
	}
}

// begin is called before a sync, and end behind it.
func (d *device) begin() (replacements uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replacements
}

// end notes that a sync has taken entries up to last, unless some were replaced meanwhile: these count with the
// next one.
func (d *device) end(begun, last uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if begun == d.replacements {
		d.forced = max(d.forced, last)
	}
}

// reset notes that the log is another one.
func (d *device) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replacements++
	d.forced = 0
}

// Propose hands the journal to the engine, chunk by chunk, as far as it leads and few entries
// are under way. A [Puller] calls it when there may be something, and after each Commit.
func (m *Member) Propose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.s
	committed := s.Synced()
	m.flying = slices.DeleteFunc(m.flying, func(last uint64) bool { return last <= committed })
	for m.leads.Load() && len(m.flying) < maxFlying {
		if len(m.due) == 0 {
			if m.due = s.journal.Take(m.due, true); len(m.due) == 0 {
				return
			}
		}
		if err := m.replicator.Propose(m.term, entryData(&m.due[0])); err != nil {
			s.report(LevelDebug, "propose", fmt.Errorf("propose an entry: %w", err))
			return
		}
		if planted == hastyCommit {
			s.durable.Advance(m.due[0].Last)
		}
		m.flying = append(m.flying, m.due[0].Last)
		m.drop(1)
	}
}

// drop gives the first n chunks that are due back to the journal.
func (m *Member) drop(n int) {
	for i := range m.due[:n] {
		m.s.journal.Written(&m.due[i], m.due[i].Size())
	}
	m.s.journal.Recycle(m.due[:n])
	m.due = slices.Delete(m.due, 0, n)
}

// entryHeader is what a chunk has in front of the data of an entry: its term and type.
const entryHeader = 9

// entryData returns a copy of a chunk as the data of an entry.
func entryData(ch *journal.Chunk) []byte {
	b := make([]byte, journal.HeaderBytes, ch.Size())
	for _, p := range ch.Parts() {
		b = append(b, p...)
	}
	format.SealChunk(b, ch.First, ch.Flags)
	return b[entryHeader:]
}
