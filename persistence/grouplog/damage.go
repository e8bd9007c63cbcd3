package grouplog

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// Remains returns an error unless what a cut would leave of a damaged log is a log with all that was cut off before, and all that values rest
// on. It changes nothing.
func Remains(db *pebble.DB, group uint16, files storelog.Config, d *log.Damage) error {
	l, err := open(viewed{db}, group, files, func(cfg storelog.Config) (*storelog.Log, error) { return storelog.Remains(cfg, d) })
	if err != nil {
		return err
	}
	if l.first.made && len(l.log.Segments()) == 0 {
		err = fmt.Errorf("nothing would be left of what the member has promised: %w", ErrCorrupt)
	}
	return errors.Join(err, l.Close())
}

// Behind calls f with the records of the entries behind a damage that can still be read, and returns how many bytes are there.
func Behind(files storelog.Config, d *log.Damage, f func(format.Chunk)) (bytes int64, err error) {
	return storelog.Behind(files, d, func(fr log.Frame) {
		if index, err := frameIndex(&fr); err == nil && fr.Kind == kindEntry {
			f(format.Chunk{Index: index, Bytes: fr.Payload[indexBytes:]})
		}
	})
}

// Distrust has the log say that it may not have what was appended to it.
func Distrust(disk Disk, group uint16) error {
	l := &Log{disk: disk, group: group}
	return l.commit(func(b *pebble.Batch) error { return l.setRecord(b, recordBoot, new(Boot).fields()) })
}

// Files returns the files of the log, to be copied.
func (l *Log) Files() *storelog.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log
}
