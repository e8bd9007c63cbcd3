package persistence

import (
	"fmt"
	"slices"

	"github.com/vigildb/vigil/persistence/journal"
)

// maxFlying is how many entries are under way to their commit. The others gather records
// meanwhile: entries of few records cost more than those of many.
const maxFlying = 4

// task makes the task that proposes what is journalled. It stands in the place of the
// committer, and has its name.
func (m *Member) task() *task {
	t := &task{name: "commit", wake: m.s.journal.Wake(), period: syncPeriod, last: m.sync}
	t.step = func(periodic bool) {
		if periodic {
			m.s.journal.Trim()
			if SyncPolicy(m.policy.Load()) == SyncEverySecond {
				m.sync()
			}
		}
		if !m.pulled {
			m.Propose()
		}
	}
	if m.pulled {
		t.wake = nil
	}
	return t
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
	_, last := m.log.Bounds()
	if err := m.s.syncLog(); err != nil {
		m.unsynced.Store(true)
		return fmt.Errorf("sync the log of the group: %w", err)
	}
	// What was appended meanwhile in the place of something counts with the next call only.
	m.forced.Store(last)
	return nil
}

// Forced returns up to which entry the device has the log. A member that leads knows: its entries are not replaced.
func (m *Member) Forced() uint64 { return m.forced.Load() }

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
			s.durable.Advance(m.due[0].Last, true)
		}
		m.flying = append(m.flying, m.due[0].Last)
		m.drop(1)
	}
}

// BeginRound is called by a goroutine that is about to make changes for clients, and calls EndRound
// behind them: a member proposes them there and then, while others would have to be woken for it.
func (s *Store) BeginRound() {
	if m := s.member; m != nil && m.pulled {
		s.journal.BeginRound()
	}
}

// EndRound ends a round, without locks of the caller.
func (s *Store) EndRound() {
	if m := s.member; m != nil && m.pulled && s.journal.EndRound() {
		m.replicator.(Puller).Attend()
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
	sealChunk(b, ch.First, ch.Flags)
	return b[entryHeader:]
}
