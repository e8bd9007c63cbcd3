package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
)

// On a full disk even a deletion has to be written before it frees anything. So the store
// keeps a file of some megabytes, the reserve, that it gives up when the disk is full. From then
// on the store is tight: it accepts changes that only free room, and is as it was when there is
// room for the reserve again. The file says nothing of the state: a store that finds neither the
// file nor room for it is tight from the start, as after a kill -9.

// ErrFull is returned by WriteError and DiskError of a store that has given up its reserve: only
// deletions are accepted, see [Store.DeleteError].
var ErrFull = errors.New("persistence: the disk is full, and only deletions are accepted")

const (
	reserveName = "vigil-reserve"
	// MostReserve and leastReserve bound the size of a reserve, and reservePart is which part of the
	// disk it is in between. Opening Pebble takes as much as its log holds, and deletions are journalled beside that.
	MostReserve, leastReserve, reservePart = openBytes + 8<<20, 2 << 20, 8
	// openBytes is the room without which a start gives up the reserve at once: what Pebble's log
	// holds is written to tables.
	openBytes = lsm.MostMemTables * lsm.MostMemTable
	// roomPeriod is how often the disk is looked at.
	roomPeriod = time.Second
	// fullPercent is how full the disk is when that is worth a warning, and easePercent when the next
	// one may come.
	fullPercent, easePercent = 95, 93
)

// room is what the store knows of the space on its disk.
type room struct {
	tight atomic.Bool // the reserve is given up
	freed atomic.Bool // something was deleted since the last pass of a tight store
	ample atomic.Bool // that pass has succeeded: compactions of a tight store may write what it left
	avail atomic.Uint64
	total atomic.Uint64

	mu     sync.Mutex // held while the file is written or removed
	held   bool       // guarded by mu
	warned bool       // that the disk is nearly full; guarded by mu
}

// holds reports whether compactions are to leave the rest of the disk to deletions.
func (r *room) holds() bool { return r.tight.Load() && !r.ample.Load() }

// IsFull reports whether an error of Open or Close comes from a disk without room: nothing is
// damaged.
func IsFull(err error) bool { return fence.IsFull(err) }

// Space returns how many bytes are free on the disk for this process, and how many it has; both 0 if
// that is not known.
func (s *Store) Space() (free, total uint64) { return s.room.avail.Load(), s.room.total.Load() }

// DeleteError returns why not even changes that only free room can be written, nil if they can. A
// tight store expects one when it is asked.
func (s *Store) DeleteError() error {
	if s.member.follows() {
		return ErrNotLeader
	}
	if s.room.tight.Load() {
		s.room.freed.Store(true)
	}
	return s.diskError()
}

// look asks the file system for its space.
func (s *Store) look() (usage vfs.DiskUsage, known bool) {
	usage, err := s.opts.FS.GetDiskUsage(s.opts.Dir)
	if err != nil || usage.TotalBytes == 0 {
		return usage, false
	}
	s.room.avail.Store(usage.AvailBytes)
	s.room.total.Store(usage.TotalBytes)
	return usage, true
}

// reserveBytes is the size of the reserve on a disk.
func (s *Store) reserveBytes(total uint64) uint64 {
	return min(max(total/reservePart, leastReserve), uint64(s.opts.Reserve))
}

// openRoom looks at the disk before the store is opened. The directory is locked.
func (s *Store) openRoom() {
	usage, known := s.look()
	if s.opts.Reserve <= 0 || !known {
		return
	}
	r, size := &s.room, s.reserveBytes(usage.TotalBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := s.opts.FS.Stat(s.reservePath())
	r.held = err == nil && uint64(info.Size()) >= size
	switch {
	case r.held && usage.AvailBytes < openBytes:
		s.giveUpLocked()
	case !r.held && usage.AvailBytes < size:
		s.opts.Logf(LevelWarn, "%s: only deletions are accepted until there is room", s.fullness())
		r.tight.Store(true)
	}
}

func (s *Store) reservePath() string { return path.Join(s.opts.Dir, reserveName) }

// fullness says how full the disk is.
func (s *Store) fullness() string {
	free, total := s.Space()
	return fmt.Sprintf("the disk of %s is full: %d of %d bytes are free", s.opts.Dir, free, total)
}

// giveUp removes the reserve, if there is one, so that the disk can be written for deletions.
func (s *Store) giveUp() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if s.room.held {
		s.giveUpLocked()
	}
}

// holdsReserve reports whether there is a reserve to be given up.
func (s *Store) holdsReserve() bool {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	return s.room.held
}

func (s *Store) giveUpLocked() {
	s.look()
	s.room.ample.Store(false)
	s.room.tight.Store(true) // before anybody can take the room
	if err := s.opts.FS.Remove(s.reservePath()); err != nil {
		s.report(LevelError, "reserve", fmt.Errorf("give up the reserve: %w", err))
		return
	}
	s.room.held = false
	s.opts.Logf(LevelWarn, "%s. The reserve is given up: DEL, UNLINK, GETDEL, FLUSHDB and FLUSHALL are accepted, "+
		"and other writes are refused until there is room", s.fullness())
}

// freeRoom makes a pass of a tight store, if something was deleted since the last one: what is deleted takes
// room until the journal is cut and Pebble has tables that say so. A pass that has to write more than
// half of what is free would only fill the disk: it waits for more deletions.
func (s *Store) freeRoom() {
	if !s.room.freed.Load() {
		return
	}
	usage, known := s.look()
	if write := min(s.log.Bytes(), s.Memory()); known && write > int64(usage.AvailBytes/2) {
		s.report(LevelWarn, "free room", fmt.Errorf("deletions free room when %d bytes of values are written, which takes twice as many, and %d are free: "+
			"delete more, or make room", write, usage.AvailBytes))
		return
	}
	s.room.freed.Store(false)
	err := s.Materialise(s.passes)
	if err == nil {
		_, err = s.flush()
	}
	if err == nil {
		s.room.ample.Store(true)
		return
	}
	if s.passes.Err() == nil {
		s.report(LevelError, "materialise", fmt.Errorf("free room: %w", err))
	}
}

// roomTask makes the task that watches the disk.
func (s *Store) roomTask() *task {
	return &task{name: "room", period: roomPeriod, step: func(bool) { s.watchRoom() }}
}

// watchRoom looks at the disk, warns, and takes the reserve when there is room.
func (s *Store) watchRoom() {
	usage, known := s.look()
	if !known {
		return
	}
	r := &s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	s.warnLocked(usage)
	size := s.reserveBytes(usage.TotalBytes)
	if r.held || usage.AvailBytes < 2*size || s.brokenErr() != nil {
		return
	}
	if err := s.writeReserve(size); err != nil {
		_ = s.opts.FS.Remove(s.reservePath()) // what there is of it is of no use
		s.report(LevelWarn, "reserve", fmt.Errorf("take the reserve: %w", err))
		return
	}
	r.held = true
	if r.tight.Swap(false) {
		s.opts.Logf(LevelWarn, "the disk has room again: the reserve of %d bytes is taken, and writes are accepted", size)
	}
}

// warnLocked logs once that the disk is nearly full, and when it is not any more.
func (s *Store) warnLocked(usage vfs.DiskUsage) {
	used := usage.TotalBytes - min(usage.AvailBytes, usage.TotalBytes)
	percent := used * 100 / usage.TotalBytes
	switch r := &s.room; {
	case !r.warned && percent >= fullPercent:
		r.warned = true
		s.opts.Logf(LevelWarn, "the disk of %s is %d%% full: %d of %d bytes are free, and writes are refused when it is full",
			s.opts.Dir, percent, usage.AvailBytes, usage.TotalBytes)
	case r.warned && percent < easePercent:
		r.warned = false
		s.opts.Logf(LevelWarn, "the disk of %s is %d%% full now: %d of %d bytes are free", s.opts.Dir, percent, usage.AvailBytes, usage.TotalBytes)
	}
}

// writeReserve writes a reserve. Its bytes are random: a file system that compresses would keep less
// free for others.
func (s *Store) writeReserve(size uint64) error {
	f, err := s.opts.FS.Create(s.reservePath(), "vigil")
	if err != nil {
		return err
	}
	var seed [32]byte
	noise, block := rand.NewChaCha8(seed), make([]byte, 1<<20)
	for done := uint64(0); done < size && err == nil; done += uint64(len(block)) {
		_, _ = noise.Read(block) // which never fails
		_, err = f.Write(block[:min(uint64(len(block)), size-done)])
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fence.SyncDir(s.opts.FS, s.opts.Dir)
}
