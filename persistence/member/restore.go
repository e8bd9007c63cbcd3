package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// Restore replaces all that the store has by what was received as a whole, and the log by what
// came with it, in one step: a crash leaves the one or the other. Memory is made anew of it, as
// by Follow. state is the hard state from then on, whose commit is that entry. The goroutine that calls
// Commit calls it, and the member does not lead. After an error the store is to be closed.
func (m *Member) Restore(i *Import, state grouplog.HardState) error {
	if err := m.restore(i, state); err != nil {
		err = fmt.Errorf("restore the state as of entry %d: %w", i.Index, err)
		m.broken.Store(&err)
		return err
	}
	return nil
}

func (m *Member) restore(i *Import, state grouplog.HardState) error {
	if err := i.Finish(); err != nil {
		return err
	}
	if state.Commit != i.Index || i.Index <= m.Applied() || m.leads.Load() {
		return fmt.Errorf("entry %d is to be committed, %d is applied, leads %v: %w", state.Commit, m.Applied(), m.leads.Load(), grouplog.ErrCorrupt)
	}
	if term, err := m.log.Term(i.Index); err == nil && term == i.Term {
		return fmt.Errorf("the log has entry %d, and perhaps acknowledged others: %w", i.Index, grouplog.ErrCorrupt)
	}
	i.takeover.State = state
	m.closeExports()
	m.durable.Fail(ErrNotLeader) // a pass may wait for a commit
	defer m.host.HoldStill()()
	if err := m.replace(i.ingest); err != nil {
		return err
	}
	m.live = nil
	m.applied.Store(i.Index)
	m.expiries.Reset()
	if err := m.remake(); err != nil {
		return err
	}
	m.host.Trimmed(m.host.Meta().Trimmed.LSN)
	m.durable.Abandon()
	m.durable.Advance(i.last)
	m.torn = false
	return i.Close()
}

// replace has something else put another state of the group in the place of that in Pebble, with the records of its log. Nothing copies the store
// meanwhile.
func (m *Member) replace(do func() error) error {
	m.replacing.Lock()
	defer m.replacing.Unlock()
	if err := do(); err != nil {
		return err
	}
	return m.log.Reload()
}

// ingest replaces all that the group had by the tables.
func (i *Import) ingest() error {
	m := i.m
	if planted != ingestApart {
		if err := i.writeRecords(); err != nil {
			return err
		}
	}
	if err := fence.SyncDir(m.fs, i.dir); err != nil {
		return err
	}
	span := pebble.KeyRange{Start: format.AppendGroup(nil, streamed[0]), End: format.AppendGroupEnd(nil, streamed[len(streamed)-1])}
	if planted == ingestApart {
		span.End = format.AppendGroupEnd(nil, format.PrefixStage)
	}
	err := m.disk.Change(func(db *pebble.DB) error {
		_, err := db.IngestAndExcise(context.Background(), i.paths, nil, nil, span)
		return err
	})
	if planted == ingestApart && err == nil {
		b := m.disk.DB.NewBatch()
		err = errors.Join(i.m.log.Records(&i.takeover, func(k, v []byte) error { return b.Set(k, v, nil) }), m.disk.Apply(b, pebble.Sync))
	}
	return err
}

// writeRecords writes a table with the records of the log.
func (i *Import) writeRecords() error {
	if err := i.beginTable(); err != nil {
		return err
	}
	return errors.Join(i.m.log.Records(&i.takeover, i.table.Set), i.endTable())
}
