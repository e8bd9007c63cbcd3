package offsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// job is a backup that is being made.
type job struct {
	*Archiver
	ctx    context.Context
	dir    string           // of the snapshot
	name   string           // of the backup
	there  map[string]int64 // sizes of the objects at the target, by the names of their pieces
	m      manifest
	first  position // that the log begins at
	tables map[string]table
	before int64     // bytes that had been uploaded
	told   time.Time // when the log was last uploaded
	lost   bool      // a part of the log is gone, so that nothing can follow this backup
}

func (c *Archiver) snapshotDir() string { return filepath.Join(c.workDir(), "copy") }

// backup makes one.
func (c *Archiver) backup() (err error) {
	begun := c.o.Now()
	before := int64(0)
	c.note(func(s *Status) { s.Work, before = "backup", s.Sent })
	if err := c.confirm(c.ctx); err != nil {
		return err
	}
	j := &job{Archiver: c, ctx: c.ctx, dir: c.snapshotDir(), name: begun.UTC().Format(nameLayout), there: map[string]int64{},
		tables: map[string]table{}, before: before}
	defer func() { err = errors.Join(err, os.RemoveAll(j.dir)) }()
	if err := j.snapshot(); err != nil {
		return err
	}
	if err := j.upload(); err != nil {
		return err
	}
	took := c.o.Now().Sub(begun)
	j.m.Took = took.Milliseconds()
	if err := c.vault.write(c.ctx, backupPrefix+j.name, &j.m); err != nil {
		return err
	}
	j.became(begun, took)
	return errors.Join(c.keepState(j.tables), c.prune(c.ctx))
}

// snapshot copies the store and looks at what the target has.
func (j *job) snapshot() error {
	err := j.vault.target.List(j.ctx, objectPrefix, func(name string, size int64) error {
		j.there[filepath.Base(name)] = size
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", objectPrefix, err)
	}
	for _, dir := range []string{j.dir, j.dir + unfinished} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(j.workDir(), 0o700); err != nil {
		return err
	}
	if err := j.o.Store.Copy(j.dir); err != nil {
		return err
	}
	record := j.o.Store.Record() // all that the copy has is not behind it
	made := j.o.Now()
	j.m = manifest{Format: formatNumber, Store: j.vault.marker.Store, Version: j.o.Version, Made: made.UnixMilli(), Through: made.UnixMilli(),
		Moments: []moment{{made.UnixMilli(), record}}}
	return nil
}

// upload uploads what the target lacks: first the log, which the store drops, and then the files.
func (j *job) upload() error {
	names, sizes, err := filesIn(j.dir)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, bytes := range sizes {
		total += bytes
	}
	j.note(func(s *Status) { s.Total = total })
	if dir, _ := j.o.Store.Log(); dir != "" {
		if err := j.uploadLog(names, sizes); err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, logPrefix) })
	}
	for _, name := range names {
		f, err := j.uploadFile(name, sizes[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		j.m.Files = append(j.m.Files, f)
	}
	if err := j.mind(true); err != nil {
		return err
	}
	for _, p := range j.chain.log {
		if p.Segment >= j.first.segment {
			j.m.Log = append(j.m.Log, p)
		}
	}
	return j.m.valid()
}

// filesIn returns the files of a snapshot, those of the log with its directory.
func filesIn(dir string) (names []string, sizes map[string]int64, err error) {
	sizes = map[string]int64{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		names, sizes[name] = append(names, name), info.Size()
		return err
	})
	return names, sizes, err
}

// uploadLog uploads what the steps behind the backup before have not uploaded of the log of the snapshot.
func (j *job) uploadLog(names []string, sizes map[string]int64) error {
	ch := &j.chain
	j.first = position{1, 0}
	var segments []Segment
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, logPrefix); ok {
			s := Segment{Name: number, Bytes: sizes[name]}
			if _, err := fmt.Sscanf(number, "%d", &s.Number); err != nil {
				return fmt.Errorf("segment %s: %w", number, err)
			}
			segments = append(segments, s)
		}
	}
	if len(segments) > 0 {
		j.first.segment = segments[0].Number
	}
	known := !ch.broken && (ch.at == j.first || slices.ContainsFunc(ch.log, func(p logPiece) bool { return p.begin() == j.first }))
	if known {
		err := j.mind(true)
		if err != nil || !ch.broken {
			return err
		}
	}
	ch.broken, ch.log, ch.fresh, ch.at = true, nil, nil, j.first
	for _, s := range segments {
		for at := int64(0); at < s.Bytes; at += PieceBytes {
			b, err := readPart(filepath.Join(j.dir, logPrefix, s.Name), at, min(s.Bytes-at, PieceBytes))
			if err == nil {
				err = j.addLog(j.ctx, position{s.Number, at}, b)
			}
			if err != nil {
				return err
			}
		}
	}
	j.lost, j.told = false, j.o.Now()
	return nil
}

// mind uploads what the log has gained meanwhile, if that is due: files may take hours.
func (j *job) mind(now bool) error {
	every := j.planned().LogEvery
	if j.first == (position{}) || !now && (every <= 0 || j.o.Now().Sub(j.told) < every) {
		return nil
	}
	j.told = j.o.Now()
	if j.chain.base != "" && !j.chain.broken {
		if err := j.confirm(j.ctx); err != nil {
			return err
		}
		moments, err := j.tell(j.ctx)
		for _, m := range moments {
			if m.Record > j.m.Moments[0].Record { // not what was noted before the copy, perhaps in the same millisecond
				j.m.Moments = append(j.m.Moments, m)
			}
		}
		if err == nil && !j.chain.broken {
			j.m.Through = j.told.UnixMilli()
		}
		return err
	}
	if j.lost {
		return nil
	}
	err := j.advance(j.ctx)
	if errors.Is(err, errGap) {
		j.lost = true
		return nil
	}
	if err == nil {
		j.m.Through = j.told.UnixMilli()
	}
	return err
}

// uploadFile uploads the pieces of a file that the target lacks.
func (j *job) uploadFile(name string, bytes int64) (file, error) {
	f := file{Name: name, Bytes: bytes}
	path := filepath.Join(j.dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	changed, isTable := info.ModTime().UnixNano(), strings.HasSuffix(name, ".sst")
	if t, ok := j.state.Tables[name]; ok && isTable && t.Bytes == bytes && t.Time == changed && j.haveAll(t.Pieces) {
		j.tables[name], f.Pieces = t, t.Pieces
		j.note(func(s *Status) { s.Done += bytes })
		return f, nil
	}
	for at := int64(0); at < bytes; at += PieceBytes {
		b, err := readPart(path, at, min(bytes-at, PieceBytes))
		if err != nil {
			return f, err
		}
		p := piece{j.vault.seal.name(b), int64(len(b))}
		if !j.have(p) {
			if err := j.vault.put(j.ctx, objectName(p.Name), b); err != nil {
				return f, err
			}
			j.there[p.Name] = j.vault.seal.size(p.Bytes)
			j.note(func(s *Status) { s.Sent += p.Bytes })
		}
		f.Pieces = append(f.Pieces, p)
		j.note(func(s *Status) { s.Done += p.Bytes })
		if err := errors.Join(j.mind(false), j.ctx.Err()); err != nil {
			return f, err
		}
	}
	if isTable {
		j.tables[name] = table{bytes, changed, f.Pieces}
	}
	return f, nil
}

// have reports that the target has a piece, as long as it has to be.
func (j *job) have(p piece) bool {
	size, ok := j.there[p.Name]
	return ok && size == j.vault.seal.size(p.Bytes)
}

func (j *job) haveAll(pieces []piece) bool {
	return !slices.ContainsFunc(pieces, func(p piece) bool { return !j.have(p) })
}

// became notes that the backup is complete: the steps that follow are behind it.
func (j *job) became(begun time.Time, took time.Duration) {
	c := j.Archiver
	c.chain = chain{base: j.name, broken: j.lost, at: c.chain.at, log: j.m.Log}
	b := Backup{Name: j.name, Made: msTime(j.m.Made), Through: msTime(j.m.Through), Bytes: j.m.bytes()}
	c.mu.Lock()
	c.moments = slices.DeleteFunc(c.moments, func(m moment) bool { return m.Record <= j.m.Moments[0].Record })
	c.asked = false
	c.looked = begun
	s := &c.status
	s.Last, s.Took, s.Bytes, s.Uploaded, s.Backups = begun, took, b.Bytes, s.Sent-j.before, append(s.Backups, b)
	s.LogTime = time.Time{}
	if !c.chain.broken {
		s.LogTime = b.Through
	}
	uploaded := s.Uploaded
	c.mu.Unlock()
	c.o.Logf(false, "backup %s is complete: %d bytes, and %d were uploaded in %v", j.name, b.Bytes, uploaded, took.Round(time.Millisecond))
}
