package member

import (
	"fmt"
	"slices"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
)

// maxFlying is how many entries are under way to their commit. The others gather records
// meanwhile: entries of few records cost more than those of many.
const maxFlying = 4

// Wake gets a token when Step may have something to do.
func (m *Member) Wake() chan struct{} {
	if m.pulled {
		return m.syncNow
	}
	return m.journal.Wake()
}

// Step proposes what is journalled, unless a Puller does, and forces the log to the device when that is due: periodically
// under SyncEverySecond.
func (m *Member) Step(periodic bool) {
	if periodic {
		m.journal.Trim()
	}
	if periodic && journal.SyncPolicy(m.policy.Load()) == journal.SyncEverySecond || m.log.Unsynced() > HurriedUnsynced {
		m.SyncLater()
	}
	if !m.pulled {
		m.Propose()
	}
}

// Pulled reports that the replicator is a Puller, and Attend is what that has.
func (m *Member) Pulled() bool { return m.pulled }

// Attend is part of Puller.
func (m *Member) Attend() { m.replicator.(Puller).Attend() }

// The system may have so many bytes of the log that the device has not, as they stay in memory too: from HurriedUnsynced on the task forces
// them to the device, from MostUnsynced on Append itself.
const HurriedUnsynced, MostUnsynced = 8 << 20, 16 << 20

// hurry has the task sync before its period is over.
func (m *Member) hurry() {
	if !m.pulled {
		m.journal.Signal()
		return
	}
	select {
	case m.syncNow <- struct{}{}:
	default:
	}
}

// SyncLater is Sync whose error is logged, and tried again by the next call.
func (m *Member) SyncLater() {
	if err := m.Sync(); err != nil {
		m.logger.Error("commit", err)
	}
}

// Sync forces what was appended to the device.
func (m *Member) Sync() error {
	if err := m.log.Sync(); err != nil {
		return m.failed(err)
	}
	return nil
}

// AwaitForce syncs the log up to a record that is committed.
func (m *Member) AwaitForce(lsn uint64) error {
	if m == nil {
		return nil
	}
	if _, record := m.log.Forced(); record >= lsn || planted == hastyLog {
		return nil
	}
	return m.Sync()
}

// Forced returns up to which entry the device has the log.
func (m *Member) Forced() uint64 {
	index, _ := m.log.Forced()
	return index
}

// Propose hands the journal to the engine, chunk by chunk, while it leads and few entries are
// under way. A [Puller] calls it when there may be something, and after each Commit.
func (m *Member) Propose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	committed := m.durable.Synced()
	m.flying = slices.DeleteFunc(m.flying, func(last uint64) bool { return last <= committed })
	for m.leads.Load() && len(m.flying) < maxFlying {
		if len(m.due) == 0 {
			if m.due = m.journal.Take(m.due, true); len(m.due) == 0 {
				return
			}
		}
		if err := m.replicator.Propose(m.term, entryData(&m.due[0])); err != nil {
			m.logger.Debug("propose", fmt.Errorf("propose an entry: %w", err))
			return
		}
		if planted == hastyCommit {
			m.durable.Advance(m.due[0].Last)
		}
		m.flying = append(m.flying, m.due[0].Last)
		m.drop(1)
	}
}

// drop gives the first n chunks that are due back to the journal.
func (m *Member) drop(n int) {
	for i := range m.due[:n] {
		m.journal.Written(&m.due[i], m.due[i].Size())
	}
	m.journal.Recycle(m.due[:n])
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
