package chunklog

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Shorten ends a log, which is not open, behind a record: a chunk that has later ones is written again without them.
// It returns the end of the journal, and how much of which segment is on the device. The log that ends before that
// record stays as it is. The error is a [log.Damage] for what cannot be read.
func Shorten(cfg storelog.Config, last uint64) (end journal.Position, at log.Position, err error) {
	f, err := findEnd(cfg, last)
	if err != nil || f.rest == nil {
		return f.end, f.at, err
	}
	d := &log.Damage{File: f.file, Offset: f.begin.Offset}
	if f.begin.Offset == log.HeadBytes && !f.first {
		d.Offset = -1 // nothing is left of the segment, which may be one of a single frame
	}
	segment, bytes, err := storelog.Cut(cfg, d)
	if err != nil {
		return end, at, err
	}
	if cfg.Synced = nil; segment > 0 {
		cfg.Synced = map[uint64]int64{segment: bytes}
	}
	l, err := Open(cfg)
	if err != nil {
		return end, at, err
	}
	if len(f.rest) > format.EntryHeader {
		_, err = l.Log.Append(chunk, f.rest)
	}
	if err == nil {
		err = errors.Join(l.Flush(), l.Sync())
	}
	end, at = f.end, l.Synced()
	return end, at, errors.Join(err, l.Close())
}

// found is where a log has to end.
type found struct {
	end   journal.Position // of what is left
	at    log.Position     // where its last frame ends
	begin log.Position     // of the frame with what has to go, if rest is not nil
	file  string
	first bool   // no segment is before that of the frame
	rest  []byte // what is left of the chunk in it
}

func findEnd(cfg storelog.Config, last uint64) (f found, err error) {
	l, err := View(cfg)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r := l.Read(0)
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		more, err := r.Next()
		if err != nil || !more {
			return f, err
		}
		c, err := r.Chunk()
		if err != nil {
			return f, err
		}
		records, err := c.Open()
		if err != nil {
			return f, err
		}
		left, n, err := upTo(records, c.First, last)
		if err != nil {
			return f, fmt.Errorf("frame at %v: %w", r.frame.Position, err)
		}
		if left == len(records) {
			f.end, f.at = journal.Position{Index: c.Index, LSN: n}, r.r.Position()
			continue
		}
		f.begin, f.rest = r.frame.Position, append([]byte(nil), c.Bytes[:len(c.Bytes)-len(records)+left]...)
		if left > 0 {
			f.end = journal.Position{Index: c.Index, LSN: n}
		}
		for i, s := range l.Segments() {
			if s.Number == f.begin.Segment {
				f.file, f.first = s.Name, i == 0
			}
		}
		return f, nil
	}
}

// upTo returns how many bytes of records lie up to the one with a number, and the number of the last of them.
func upTo(records []byte, first, last uint64) (bytes int, n uint64, err error) {
	rest := records
	for n = first - 1; len(rest) > 0 && n < last; n++ {
		if _, rest, err = format.NextRecord(rest); err != nil {
			return 0, 0, err
		}
	}
	return len(records) - len(rest), n, nil
}
