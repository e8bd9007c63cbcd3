package chunklog

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Behind calls f with the chunks behind a damage that can still be read, and returns how many bytes are there.
func Behind(cfg storelog.Config, d *log.Damage, f func(format.Chunk)) (bytes int64, err error) {
	return storelog.Behind(cfg, d, func(fr log.Frame) {
		if c, err := format.OpenEntry(fr.Payload); err == nil && fr.Kind == chunk {
			f(c)
		}
	})
}

// Verify reads all of the log. The error is a [log.Damage] for the first place that cannot be read.
func (l *Log) Verify() error {
	r := l.Read(0)
	for {
		more, err := r.Next()
		if more && err == nil {
			_, err = r.Chunk()
		}
		if err != nil || !more {
			if closed := r.Close(); err == nil {
				err = closed
			}
			return err
		}
	}
}

// Last returns the end of the last chunk that can be read. Without a chunk it is zero.
func (l *Log) Last() (last journal.Position, err error) {
	segments := l.Segments()
	for i := len(segments) - 1; i >= 0 && last.Index == 0 && err == nil; i-- {
		last, err = l.lastOf(log.Position{Segment: segments[i].Number})
	}
	return last, err
}

func (l *Log) lastOf(segment log.Position) (last journal.Position, err error) {
	r := &Reader{r: l.NewReader(segment)}
	more, err := r.Next()
	for more && err == nil {
		var c format.Chunk
		if c, err = r.Chunk(); err != nil {
			break
		}
		records, _ := c.Open() // an entry has no checksum of its own
		last.Index = c.Index
		if last.LSN, err = format.LastRecord(c.First, records); err == nil {
			more, err = r.Next()
		}
	}
	if closed := r.Close(); err == nil {
		err = closed
	}
	return last, err
}
