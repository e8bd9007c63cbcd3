package log

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Remains opens for reading what Cut would leave of a damaged log, and changes nothing. Nothing is left of a
// directory that is not there.
func Remains(cfg Config, d *Damage) (*Log, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	number, _ := parseName(d.File)
	files, err := listFiles(&cfg)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, view: true}
	for _, n := range files.numbers {
		if n < cfg.From.Segment {
			continue
		}
		if n > number || n == number && d.Offset < HeadBytes {
			break
		}
		if err := l.add(n); err != nil && (n != number || AsDamage(err) == nil) {
			return nil, err
		}
	}
	last := l.mu.lastLocked()
	switch {
	case last == nil:
	case last.number == number:
		l.mu.end = Position{number, d.Offset}
	default:
		return l, l.readLast(last)
	}
	l.mu.written, l.mu.synced = l.mu.end, l.mu.end
	return l, nil
}

// Behind calls f with the frames behind a damage that can still be read, and returns how many bytes are there. It
// finds them by their heads, wherever these are. A Frame has no Body: of those in pieces there is none.
func Behind(cfg Config, d *Damage, f func(Frame)) (bytes int64, err error) {
	if err := cfg.prepare(); err != nil {
		return 0, err
	}
	number, _ := parseName(d.File)
	files, err := listFiles(&cfg)
	if err != nil {
		return 0, err
	}
	for _, n := range files.numbers {
		if n < number {
			continue
		}
		from := int64(HeadBytes)
		if n == number {
			from = max(from, d.Offset)
		}
		end, err := behind(&cfg, n, from, f)
		if err != nil {
			return bytes, err
		}
		bytes += max(0, end-from)
	}
	return bytes, nil
}

// behind finds the frames of a segment from an offset on, and returns where the last one ends.
func behind(cfg *Config, number uint64, from int64, f func(Frame)) (end int64, err error) {
	file, err := cfg.FS.Open(cfg.path(segmentName(number)))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	w := window{file: file, name: segmentName(number), limit: info.Size()}
	read := window{file: file, name: w.name, limit: w.limit}
	seed, end := seedOf(cfg.Store, number), from
	var failed error
	err = w.search(from, seed, func(at int64, h header) {
		_, payload, ok, err := read.frame(at, seed, false)
		failed = errors.Join(failed, err)
		if ok && at >= end {
			f(Frame{Position: Position{number, at}, Kind: h.kind, Len: int64(h.length), Payload: payload})
			end = h.end(at, false)
		}
	})
	return end, errors.Join(err, failed)
}

// PutAside copies the segments that Cut would change or remove to a directory, which is made.
func PutAside(cfg Config, d *Damage, dir string) error {
	if err := cfg.prepare(); err != nil {
		return err
	}
	number, _ := parseName(d.File)
	files, err := listFiles(&cfg)
	if err != nil {
		return err
	}
	if err := cfg.FS.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, n := range files.numbers {
		if n < number {
			continue
		}
		if err := vfs.Copy(cfg.FS, cfg.path(segmentName(n)), cfg.FS.PathJoin(dir, segmentName(n))); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(cfg.FS, dir), syncDir(cfg.FS, cfg.FS.PathDir(dir)))
}
