package log

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Cut ends a log, which must not be open, where damage begins, and returns the position from which on nothing
// is left: with an offset of 0 if that segment is gone. What is cut off is to be put aside before.
//
// The caller has to correct what it passes to Open: Config.Synced has no segment behind the position, and no
// more bytes of that segment than its offset; Config.From is not behind it, and zero if no segment is left.
// Open may find other damage then, in what is left.
//
// Later segments go first, newest first: if Cut is interrupted, what is left ends in the same place or is
// damaged there. The segment that becomes the last one is replaced by a copy, as it may have another name in a
// checkpoint and will be written. Spares go too: they may have frames with numbers that will be given again.
func Cut(cfg Config, d *Damage) (Position, error) {
	if err := cfg.prepare(); err != nil {
		return Position{}, err
	}
	at, err := cut(&cfg, d)
	if err != nil {
		return Position{}, fmt.Errorf("cut log %s at %s: %w", cfg.Dir, d.File, err)
	}
	return at, nil
}

func cut(cfg *Config, d *Damage) (at Position, err error) {
	number, ok := parseName(d.File)
	if !ok {
		return at, errors.New("no segment has this name")
	}
	at = Position{Segment: number}
	if d.Offset >= HeadBytes {
		at.Offset = d.Offset
	}
	files, err := listFiles(cfg)
	if err != nil || files.absent {
		return at, err
	}
	for _, name := range files.spares {
		if err := cfg.FS.Remove(cfg.path(name)); err != nil {
			return at, err
		}
	}
	last := uint64(0)
	for _, n := range slices.Backward(files.numbers) {
		if n < number || n == number && at.Offset > 0 {
			last = n
			break
		}
		if err := cfg.FS.Remove(cfg.path(segmentName(n))); err != nil {
			return at, err
		}
	}
	if err := syncDir(cfg.FS, cfg.Dir); err != nil || last < cfg.From.Segment || last == 0 {
		return at, err
	}
	size := at.Offset
	if last != number {
		info, err := cfg.FS.Stat(cfg.path(segmentName(last)))
		if err != nil {
			return at, err
		}
		size = info.Size()
	}
	return at, shorten(cfg, last, size)
}

// shorten replaces a segment by a copy of its first bytes. The name changes hands at once, so that the segment
// is never shorter than that.
func shorten(cfg *Config, number uint64, size int64) error {
	name, temp := segmentName(number), spareName(number)
	if err := copyFile(cfg, name, cfg.FS, cfg.path(temp), size); err != nil {
		return err
	}
	if err := cfg.FS.Rename(cfg.path(temp), cfg.path(name)); err != nil {
		return err
	}
	return syncDir(cfg.FS, cfg.Dir)
}

// copyFile copies the first bytes of a segment to a path, and syncs them.
func copyFile(cfg *Config, name string, fsys vfs.FS, path string, size int64) error {
	src, err := cfg.FS.Open(cfg.path(name))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := fsys.Create(path, writeCategory)
	if err != nil {
		return err
	}
	_, err = io.Copy(writeOnly{dst}, io.NewSectionReader(src, 0, size))
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return fmt.Errorf("copy %d bytes of %s: %w", size, name, err)
	}
	return nil
}

// writeOnly has no other methods, by which io.Copy might go round the file system.
type writeOnly struct{ io.Writer }

// Remove removes all files of a log, which must not be open, and its directory, if nothing else is in it. A directory that
// is not there has none.
func Remove(cfg Config) error {
	files, err := listFiles(&cfg)
	if err != nil || files.absent {
		return err
	}
	names := files.spares
	for _, n := range slices.Backward(files.numbers) {
		names = append(names, segmentName(n))
	}
	for _, name := range names {
		if err := cfg.FS.Remove(cfg.path(name)); err != nil {
			return err
		}
	}
	if err := syncDir(cfg.FS, cfg.Dir); err != nil {
		return err
	}
	_ = cfg.FS.Remove(cfg.Dir) // fails if there are others
	return nil
}
