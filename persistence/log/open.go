package log

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open opens the log in a directory, which is made if it is not there, and goes on writing it. It reads the heads
// of all segments, and the frames of the last one; the others are checked when they are read.
//
// The error is a *Damage, ErrVersion or ErrForeign for files that are not as they were written, and nothing was
// changed then; or the disk's. What Open found is on the device afterwards.
func Open(cfg Config) (*Log, error) {
	l, err := find(&cfg)
	if err == nil {
		err = l.goOn()
	}
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", cfg.Dir, err)
	}
	return l, nil
}

// View opens a log for reading, and changes nothing. A directory that is not there is a log without frames. For the
// error see Open.
func View(cfg Config) (*Log, error) {
	l, err := find(&cfg)
	if err != nil {
		return nil, fmt.Errorf("view log %s: %w", cfg.Dir, err)
	}
	l.view = true
	return l, nil
}

// find reads the files of a log.
func find(cfg *Config) (*Log, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	l := &Log{cfg: *cfg, most: cfg.SegmentBytes - HeadBytes - frameHead}
	files, err := listFiles(cfg)
	if err != nil {
		return nil, err
	}
	l.mu.spares, l.mu.trimmed, l.mu.turn = files.spares, cfg.From, true
	numbers := files.numbers
	for len(numbers) > 0 && numbers[0] < cfg.From.Segment {
		numbers = numbers[1:]
	}
	for _, n := range numbers {
		if err := l.add(n); err != nil {
			return nil, err
		}
	}
	if err := l.compare(); err != nil {
		return nil, err
	}
	if last := l.mu.lastLocked(); last != nil {
		if err := l.readLast(last); err != nil {
			return nil, err
		}
	} else if cfg.Fresh && cfg.From.Segment > 0 {
		l.mu.end = Position{Segment: cfg.From.Segment - 1}
		return l, nil
	}
	if end := l.mu.end; end.Before(cfg.From) {
		return nil, &Damage{File: segmentName(end.Segment), Offset: end.Offset,
			Reason: fmt.Sprintf("the log ends here, though it was used from %v on", cfg.From)}
	}
	return l, nil
}

// files is what is in the directory of a log.
type files struct {
	numbers []uint64 // of segments, in order
	spares  []string
	absent  bool // there is no directory
}

// listFiles lists a directory. One that is not there has no files.
func listFiles(cfg *Config) (f files, err error) {
	names, err := cfg.FS.List(cfg.Dir)
	if f.absent = errors.Is(err, fs.ErrNotExist); err != nil && !f.absent {
		return f, err
	}
	slices.Sort(names)
	for _, name := range names {
		if n, ok := parseName(name); ok {
			f.numbers = append(f.numbers, n)
		} else if strings.HasPrefix(name, sparePrefix) {
			f.spares = append(f.spares, name)
		}
	}
	return f, nil
}

// add reads the head of the next segment, and holds the one before against it.
func (l *Log) add(number uint64) error {
	last, first := l.mu.lastLocked(), l.cfg.From.Segment
	if last != nil {
		first = last.number + 1
	}
	if number != first && first > 0 {
		return missing(first, fmt.Sprintf("though there is %s", segmentName(number)))
	}
	h, size, err := readHead(&l.cfg, segmentName(number))
	if err != nil {
		return err
	}
	if h.store != l.cfg.Store {
		return fmt.Errorf("%s belongs to store %x, not to %x: %w", segmentName(number), h.store, l.cfg.Store, ErrForeign)
	}
	if h.number != number {
		return &Damage{File: segmentName(number), Reason: fmt.Sprintf("it has the head of segment %d", h.number)}
	}
	s := &segment{number: number, before: h.before, end: size, own: h.own, big: h.big}
	l.mu.segments = append(l.mu.segments, s)
	if last == nil {
		return nil
	}
	if last.end < h.before {
		return &Damage{File: segmentName(last.number), Offset: last.end,
			Reason: fmt.Sprintf("the file ends here, though the segment after says that it ended at offset %d", h.before)}
	}
	last.end = h.before
	if synced := l.cfg.Synced[last.number]; last.end < synced {
		return &Damage{File: segmentName(last.number), Offset: last.end,
			Reason: fmt.Sprintf("the segment after says that it ends here, though %d bytes had reached the device", synced)}
	}
	return nil
}

func missing(number uint64, reason string) *Damage {
	return &Damage{File: segmentName(number), Offset: -1, Reason: "is missing, " + reason}
}

// readHead reads the head of a segment, and the size of its file.
func readHead(cfg *Config, name string) (h head, size int64, err error) {
	f, err := cfg.FS.Open(cfg.path(name))
	if err != nil {
		return h, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, 0, err
	}
	b := make([]byte, HeadBytes)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return h, 0, readError(name, 0, err)
	}
	h, err = decodeHead(b[:n])
	if err != nil && !errors.Is(err, ErrVersion) {
		return h, 0, &Damage{File: name, Reason: err.Error()}
	}
	if err != nil {
		return h, 0, fmt.Errorf("%s: %w", name, err)
	}
	h.own = slices.Clone(h.own)
	return h, info.Size(), nil
}

// compare looks for segments that the caller knows of and that are not there.
func (l *Log) compare() error {
	last, from := uint64(0), l.cfg.From.Segment
	if s := l.mu.lastLocked(); s != nil {
		last = s.number
	}
	lost := uint64(0)
	for n, bytes := range l.cfg.Synced {
		if n > last && n >= from && bytes > 0 && (lost == 0 || n < lost) {
			lost = n
		}
	}
	switch {
	case last == 0 && from > 0 && !l.cfg.Fresh:
		return missing(from, "though the log was used from there on")
	case lost > 0:
		return missing(max(last+1, from), fmt.Sprintf("though %d bytes of %s had reached the device", l.cfg.Synced[lost], segmentName(lost)))
	}
	return nil
}

// readLast finds the end of the last segment, which is the end of the log.
func (l *Log) readLast(s *segment) error {
	name := segmentName(s.number)
	f, err := l.cfg.FS.Open(l.cfg.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	t := tail{window: window{file: f, name: name, limit: s.end}, seed: seedOf(l.cfg.Store, s.number), big: s.big}
	if err := t.find(); err != nil {
		return err
	}
	if err := t.judge(l.cfg.Synced[s.number]); err != nil {
		return err
	}
	l.mu.end, l.mu.seed, l.mu.turn = Position{s.number, t.end}, t.seed, !t.continues()
	l.mu.written, s.end = l.mu.end, 0                                                 // it is not full
	l.mu.synced = Position{s.number, max(HeadBytes, t.known, l.cfg.Synced[s.number])} // until goOn has synced the rest
	return nil
}

// goOn makes a log that was found ready to be written.
func (l *Log) goOn() error {
	fsys := l.cfg.FS
	if err := fsys.MkdirAll(l.cfg.Dir, 0o700); err != nil {
		return err
	}
	if len(l.mu.segments) == 0 {
		if err := syncDir(fsys, fsys.PathDir(l.cfg.Dir)); err != nil { // it may have been made
			return err
		}
	}
	if err := l.tidy(); err != nil {
		return err
	}
	// The name of the last segment, and what a process that is gone has written there, may not be on the device.
	if err := syncDir(fsys, l.cfg.Dir); err != nil {
		return err
	}
	last := l.mu.lastLocked()
	if last == nil {
		return nil
	}
	name := segmentName(last.number)
	file, err := fsys.OpenReadWrite(l.cfg.path(name), writeCategory)
	if err != nil {
		return err
	}
	if err := l.confirm(file, name); err != nil {
		return errors.Join(err, file.Close())
	}
	if l.mu.turn {
		return file.Close()
	}
	_ = file.Preallocate(0, l.cfg.SegmentBytes) // a copy that Cut made has no room; without, writes may fail
	l.file = file
	return nil
}

// confirm forces to the device what can be read in the last segment. What is not known to be there is written
// once more, as it is: if a sync of the process before has failed, the system may take for written what is not,
// and the next sync would say that all is well.
func (l *Log) confirm(file vfs.File, name string) error {
	from, end := l.mu.synced.Offset, l.mu.end.Offset
	for b := make([]byte, min(windowBytes, end-from)); from < end; {
		n, err := file.ReadAt(b[:min(int64(len(b)), end-from)], from)
		if n == 0 {
			return readError(name, from, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		if _, err := file.WriteAt(b[:n], from); err != nil {
			return fmt.Errorf("write %s at offset %d: %w", name, from, err)
		}
		from += int64(n)
	}
	if err := file.SyncData(); err != nil {
		return syncError(name, end, err)
	}
	l.mu.synced = l.mu.end
	return nil
}

// tidy removes what the log does not need: segments that were trimmed, and spares that are too many, or of
// another length, or that may have frames of a segment that is still to come.
func (l *Log) tidy() error {
	files, err := listFiles(&l.cfg)
	if err != nil {
		return err
	}
	for _, n := range files.numbers {
		if n < l.cfg.From.Segment {
			if err := l.cfg.FS.Remove(l.cfg.path(segmentName(n))); err != nil {
				return err
			}
		}
	}
	l.mu.spares = nil
	for _, name := range files.spares {
		if len(l.mu.spares) < l.cfg.Spares && l.usable(name) {
			l.mu.spares = append(l.mu.spares, name)
		} else if err := l.cfg.FS.Remove(l.cfg.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// usable reports that a file may become any segment that is still to come.
func (l *Log) usable(spare string) bool {
	h, size, err := readHead(&l.cfg, spare)
	last := l.mu.lastLocked()
	return err == nil && last != nil && h.store == l.cfg.Store && h.number < last.number && !h.big && size <= l.cfg.SegmentBytes
}
