package files

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
)

// Options are those of an instance of Pebble behind a fence.
func (f *Files) Options(behind *fence.FS) *pebble.Options {
	o := lsm.Options(behind, PebbleLog{f.Operator, behind})
	o.CacheSize, o.MemTableSize, o.MaxOpenFiles = f.CacheBytes, f.MemTableBytes, f.OpenFiles
	o.EventListener = f.events(behind)
	return o
}

// PebbleLog passes on what an instance of Pebble has to say. Behind a fallen
// fence that does not matter.
type PebbleLog struct {
	Operator
	Behind *fence.FS
}

// Infof implements pebble.Logger.
func (l PebbleLog) Infof(format string, args ...any) {
	l.Operator.Debugf("pebble: "+format, args...)
}

// Errorf implements pebble.Logger.
func (l PebbleLog) Errorf(format string, args ...any) {
	if l.Behind.Err() == nil {
		l.Error(format, fmt.Errorf("pebble: "+format, args...))
	}
}

// Fatalf implements pebble.Logger. It is Pebble's word for a state that it cannot go on from. The process
// does, without that instance.
func (l PebbleLog) Fatalf(format string, args ...any) {
	l.Behind.Fall(fmt.Errorf("pebble: "+format, args...))
}

// events handles the events of an instance that the store needs.
func (f *Files) events(behind *fence.FS) *pebble.EventListener {
	return &pebble.EventListener{
		// A flush or compaction that failed is tried again. It cannot have failed
		// to write, for that the fence falls.
		BackgroundError: func(err error) {
			if behind.Err() == nil && f.Ctx.Err() == nil && !errors.Is(err, fence.ErrHeld) {
				f.Operator.Error("background", fmt.Errorf("pebble: background: %w", err))
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			f.Operator.Error(i.Path, fmt.Errorf("file %s is damaged: %w", i.Path, i.Details))
		},
		FlushEnd:      func(pebble.FlushInfo) { f.Disk.Flushed() },
		CompactionEnd: func(pebble.CompactionInfo) { f.Disk.Compacted() },
	}
}
