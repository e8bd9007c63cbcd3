package member

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
)

// In format 2 the entries of a group's log are in Pebble. There they stay when the store is opened, as what precedes the log, and go when they
// are cut off. What a process that was killed had not given to Pebble is in the tail, as runs of entries, and is appended to the log.
// Until its last step, which writes the meta, the store is in format 2: an attempt that is cut short, or finds no
// room on the disk, has changed nothing that matters.

// upgrade makes a store in format 2 one in format 3.
func (m *Member) upgrade() error {
	cfg := m.host.LogConfig()
	cfg.Synced, cfg.Note = nil, nil              // the version before does not know of segments
	if err := storelog.Remove(cfg); err != nil { // of an attempt before
		return err
	}
	l, err := grouplog.Open(logDisk{m.disk}, format.Group, cfg)
	if err != nil {
		return err
	}
	if err = errors.Join(m.takeKept(l), l.Close()); err != nil {
		return errors.Join(err, storelog.Remove(cfg))
	}
	meta := *m.host.Meta()
	meta.Pebble = false
	b := m.disk.DB.NewBatch()
	if err := errors.Join(b.Set(format.AppendMetaKey(nil), meta.Append(nil), nil), m.disk.Apply(b, pebble.Sync)); err != nil {
		return err
	}
	m.host.Meta().Pebble = false
	m.host.DropKept() // of no use any more
	m.logger.Infof("the store is in format 3 now, with what is new in the log of its group in %s: versions before refuse it", storelog.Dir)
	return nil
}

// takeKept appends to the log what a process that was killed has left in the tail and the log lacks. If that is not known, because the tail is
// gone, the log forgets that the machine has not been booted since.
func (m *Member) takeKept(l *grouplog.Log) error {
	kept, ours, err := m.host.Kept()
	if err != nil {
		return err
	}
	if !ours && l.Boot().ID != [16]byte{} {
		if err := l.SetBoot(grouplog.Boot{}); err != nil {
			return err
		}
	}
	entries, err := foldKept(kept)
	if err == nil {
		entries, err = lacking(l, entries)
	}
	if err == nil && len(entries) > 0 {
		err = l.Append(entries, nil, true)
	}
	if err != nil {
		return fmt.Errorf("%s: write what the disk lacks: %w", m.fs.PathJoin(m.dir, tail.Name), err)
	}
	if len(entries) > 0 {
		m.logger.Infof("the process before was killed: %s had what the disk lacked (entries of the group's log: %d)", tail.Name, len(entries))
	}
	return nil
}

// lacking returns those entries that a log lacks, or has others in the place of.
func lacking(l *grouplog.Log, entries []grouplog.Entry) ([]grouplog.Entry, error) {
	first, last := l.Bounds()
	for len(entries) > 0 && entries[0].Index <= last {
		e := &entries[0]
		if e.Index >= first {
			term, err := l.Term(e.Index)
			if err != nil {
				return nil, err
			}
			if term != e.Term {
				break // it replaces another one
			}
		}
		entries = entries[1:]
	}
	return entries, nil
}

// entryPrefix is what the tail has in front of the data of an entry: their length, the term, the type.
const entryPrefix = 4 + 8 + 1

// foldKept returns the entries that runs have left, in which later ones have replaced others.
func foldKept(runs []tail.Chunk) (entries []grouplog.Entry, err error) {
	for _, run := range runs {
		if run.Damaged {
			return nil, fmt.Errorf("entry %d, or one behind it, is damaged; without the file what the disk lacks is lost: checksum: %w", run.First, format.ErrCorrupt)
		}
		switch {
		case len(entries) == 0 || run.First <= entries[0].Index:
			entries = entries[:0]
		case run.First <= entries[len(entries)-1].Index+1:
			entries = entries[:run.First-entries[0].Index]
		default:
			return nil, fmt.Errorf("entry %d is missing before %d: %w", entries[len(entries)-1].Index+1, run.First, format.ErrCorrupt)
		}
		for index, b := run.First, run.Records; len(b) > 0; index++ {
			if len(b) < entryPrefix || uint64(len(b)-entryPrefix) < uint64(binary.LittleEndian.Uint32(b)) {
				return nil, fmt.Errorf("length of entry %d: %w", index, format.ErrCorrupt)
			}
			end := entryPrefix + int(binary.LittleEndian.Uint32(b))
			entries = append(entries, grouplog.Entry{Index: index, Term: binary.LittleEndian.Uint64(b[4:]), Type: b[12], Data: b[entryPrefix:end:end]})
			b = b[end:]
		}
	}
	return entries, nil
}
