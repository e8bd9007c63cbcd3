package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/writeback"
)

// The death of the process loses nothing, under any SyncPolicy: the tail has a copy of what
// the system was not given yet, in the command's own time (package tail). A start
// takes from it what follows the journal on disk, writes that to the journal, and forces it to the
// device before anything else. The log of a group needs none: each entry is given to the system before it is acknowledged.

const (
	// tailSlot is the length of a slot: that of a chunk.
	tailSlot = 64 << 10
	// mostTail is the size of the tail: what may wait for the disk before writers are slowed. Pages that
	// are in use count as memory: under a small bound on that the tail is one part of tailPart of the bound, and
	// leastTailBytes at least, which is what a sync may lack.
	mostTail, leastTailBytes, tailPart = writeback.MaxPending, 4 << 20, 16
)

func (s *Store) tailPath() string { return path.Join(s.opts.Dir, tail.Name) }

// tailSlots is how many slots the tail has.
func (s *Store) tailSlots() int {
	size := int64(mostTail)
	if bound := s.opts.bound(); bound > 0 {
		size = min(max(bound/tailPart, leastTailBytes), mostTail)
	}
	return int(size / tailSlot)
}

// openTail takes what a process that was killed left in the tail, and begins a new one. Where there
// can be none the store goes without, and says so.
func (s *Store) openTail() error {
	if s.opts.MapTail == nil || s.member != nil {
		return nil
	}
	if s.opts.Boot == ([16]byte{}) {
		s.opts.Logf(LevelWarn, "the system does not tell its boots apart: a process that is killed loses what the disk was not given yet")
		return nil
	}
	kept, _, err := s.readTail()
	if err == nil {
		err = s.takeKept(kept, s.lastChunk)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.tailPath(), err)
	}
	s.tail = s.newTail()
	return nil
}

// readTail returns what is in the file, and whether that is all that a process of this store has left since the
// machine was booted. One that is not there, or cannot be mapped, has nothing.
func (s *Store) readTail() (kept []tail.Chunk, ours bool, err error) {
	m, err := s.opts.MapTail(s.tailPath(), 0)
	if err != nil {
		if _, statErr := s.opts.FS.Stat(s.tailPath()); errors.Is(err, errors.ErrUnsupported) || errors.Is(statErr, fs.ErrNotExist) {
			return nil, false, nil
		}
		return nil, false, err
	}
	kept, ours, err = tail.Read(m, s.tailIdentity())
	return kept, ours, errors.Join(err, m.Close())
}

// newTail makes an empty tail, nil if there can be none.
func (s *Store) newTail() *tail.Tail {
	slots := s.tailSlots()
	m, err := s.opts.MapTail(s.tailPath(), tail.Size(slots, tailSlot))
	if err == nil {
		var t *tail.Tail
		if t, err = tail.New(m, slots, tailSlot, s.tailIdentity()); err == nil {
			return t
		}
		err = errors.Join(err, m.Close())
	}
	s.opts.Logf(LevelWarn, "without %s a process that is killed loses what the disk was not given yet: %v", tail.Name, err)
	return nil
}

func (s *Store) tailIdentity() tail.Identity {
	return tail.Identity{Store: s.mapping.Secret, Boot: s.opts.Boot}
}

// takeKept writes to the journal what follows its last chunk.
func (s *Store) takeKept(kept []tail.Chunk, last journal.Position) error {
	from, bytes := last, 0
	var chunks []journal.Chunk
	for _, k := range kept {
		if k.Index != last.Index+1 || k.First != last.LSN+1 {
			continue // the journal has it, or it is not of this life of the store
		}
		end, err := format.LastRecord(k.First, k.Records)
		if k.Damaged {
			err = fmt.Errorf("checksum: %w", ErrCorrupt)
		}
		if err != nil {
			return fmt.Errorf("chunk %d, which the disk lacks, is damaged; without the file what it has is lost: %w", k.Index, err)
		}
		chunks = append(chunks, journal.Kept(k, end, len(k.Records) >= bigRecord))
		bytes += len(k.Records)
		last = journal.Position{LSN: end, Index: k.Index}
	}
	if len(chunks) == 0 {
		return nil
	}
	if err := s.writeChunks(chunks); err != nil {
		return fmt.Errorf("write what the disk lacks: %w", err)
	}
	s.lastChunk = last
	s.opts.Logf(LevelInfo, "the process before was killed: %s had what the disk lacked (changes: %d, bytes: %d)", tail.Name, last.LSN-from.LSN, bytes)
	return nil
}

// mendTail makes another tail in place of one that broke. Until that is done, replies wait for the device.
func (s *Store) mendTail() {
	if !s.journal.TailBroken() {
		return
	}
	s.opts.Logf(LevelWarn, "the system cannot back the memory of %s, which is made anew", tail.Name)
	err := s.opts.FS.Remove(s.tailPath()) // its memory stays: chunks refer to it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.opts.Logf(LevelWarn, "remove %s: %v", tail.Name, err)
	}
	s.tail = s.newTail()
	s.journal.SetTail(s.tail)
}

// closeTail ends the tail. What the disk could not be given stays there for the next start.
func (s *Store) closeTail() error {
	if s.tail == nil || s.tail.Broken() {
		return nil
	}
	return s.tail.Close()
}

// systemTail is what Options without a file system of their own have.
func (o *Options) systemTail() {
	if o.MapTail != nil || o.InMemory || o.FS != vfs.Default {
		return
	}
	o.MapTail = tail.Map
	if id, err := tail.BootID(); err == nil {
		o.Boot = id
	}
}
