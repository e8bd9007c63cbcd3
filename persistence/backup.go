package persistence

import (
	"encoding/hex"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Backup is the store for those who copy its log elsewhere while it is written.
type Backup struct{ s *Store }

// Backup returns the store as backups see it.
func (s *Store) Backup() Backup { return Backup{s} }

// ID tells the store from others. Stores that were restored from one have its ID.
func (b Backup) ID() string {
	id := format.LogID(b.s.files.Meta.Secret)
	return hex.EncodeToString(id[:])
}

// Record is the number of the last record.
func (b Backup) Record() uint64 { return b.s.commits.Journal.Newest() }

// Log returns the segments of the log, whose Bytes are those that are on the device: they never change. Segments may go
// at any time unless they are held. A member of a group, whose log may be written anew from an entry on, has none.
func (b Backup) Log() (dir string, segments []log.Segment) {
	if b.s.member != nil {
		return "", nil
	}
	synced := b.s.files.Log.Synced() // asked for first: it is not behind what the segments have
	segments = b.s.files.Log.Segments()
	if n := len(segments); n > 0 {
		last := &segments[n-1]
		if last.Bytes = 0; last.Number == synced.Segment {
			last.Bytes = synced.Offset
		}
	}
	return b.s.opts.FS.PathJoin(b.s.opts.Dir, storelog.Dir), segments
}

// Hold keeps the segments of the log until release is called.
func (b Backup) Hold() (release func()) {
	if b.s.member != nil {
		return func() {}
	}
	return b.s.files.Log.Pin()
}
