package persistence

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
)

// pebbleLog passes on what an instance of Pebble has to say. Behind a fallen
// fence that does not matter.
type pebbleLog struct {
	s *Store
	f *fence.FS
}

func (l pebbleLog) Infof(format string, args ...any) {
	l.s.opts.Logf(LevelDebug, "pebble: "+format, args...)
}

func (l pebbleLog) Errorf(format string, args ...any) {
	if l.f.Err() == nil {
		l.s.report(LevelError, format, fmt.Errorf("pebble: "+format, args...))
	}
}

// Fatalf is Pebble's word for a state that it cannot go on from. The process
// does, without that instance.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.f.Fall(fmt.Errorf("pebble: "+format, args...))
}

// pebbleEvents handles the events of an instance that the store needs.
func (s *Store) pebbleEvents(f *fence.FS) *pebble.EventListener {
	return &pebble.EventListener{
		// A flush or compaction that failed is tried again. It cannot have failed
		// to write, for that the fence falls.
		BackgroundError: func(err error) {
			if f.Err() == nil && s.ctx.Err() == nil && !errors.Is(err, fence.ErrHeld) {
				s.report(LevelError, "background", fmt.Errorf("pebble: background: %w", err))
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			s.report(LevelError, i.Path, fmt.Errorf("file %s is damaged: %w", i.Path, i.Details))
		},
		FlushEnd:      func(pebble.FlushInfo) { s.disk.Flushed() },
		CompactionEnd: func(pebble.CompactionInfo) { s.disk.Compacted() },
	}
}
