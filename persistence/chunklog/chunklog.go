package chunklog

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// chunk is the kind of a frame with a chunk. Others may come.
const chunk = 1

// Log is the chunks of a journal. Append, Flush, Sync and Repair are for one goroutine at a time; the rest may be
// called by any.
type Log struct{ *storelog.Log }

// Open opens the log for writing, and makes one that is not there. What it finds is on the device. The
// error is that of [log.Open].
func Open(cfg storelog.Config) (*Log, error) {
	l, err := storelog.Open(cfg)
	return wrap(l, err)
}

// View opens the log for reading, and changes nothing.
func View(cfg storelog.Config) (*Log, error) {
	l, err := storelog.View(cfg)
	return wrap(l, err)
}

// Remains opens for reading what a cut would leave of a damaged log, and changes nothing.
func Remains(cfg storelog.Config, d *log.Damage) (*Log, error) {
	l, err := storelog.Remains(cfg, d)
	return wrap(l, err)
}

func wrap(l *storelog.Log, err error) (*Log, error) {
	if err != nil {
		return nil, err
	}
	return &Log{l}, nil
}

// Append puts a chunk behind all others, in memory. It must not be changed, nor recycled, until it is on the
// device. It returns the segment where the chunk will be, or an earlier one.
func (l *Log) Append(c *journal.Chunk) (segment uint64, err error) {
	head := c.Head()
	head = head[len(head)-format.EntryHeader:]
	format.PutEntryHeader(head, c.Index, c.First, c.Flags)
	var at log.Position
	if c.Big() {
		at, err = l.Log.Append(chunk, append([][]byte{head}, c.Parts()...)...)
	} else {
		at, err = l.Log.Append(chunk, c.Bytes()[journal.HeaderBytes-format.EntryHeader:])
	}
	if err != nil {
		return 0, fmt.Errorf("chunk %d: %w", c.Index, err)
	}
	return at.Segment, nil
}
