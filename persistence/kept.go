package persistence

import (
	"fmt"
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

// tailSlots is how many slots the tail has.
func (o *Options) tailSlots() int {
	size := int64(mostTail)
	if bound := o.bound(); bound > 0 {
		size = min(max(bound/tailPart, leastTailBytes), mostTail)
	}
	return int(size / tailSlot)
}

// tailFile is where the tail is, or was.
func (s *Store) tailFile() *tail.File {
	return &tail.File{Path: path.Join(s.opts.Dir, tail.Name), FS: s.opts.FS, Map: s.opts.MapTail,
		Identity: tail.Identity{Store: s.mapping.Secret, Boot: s.opts.Boot}, Slots: s.opts.tailSlots(), SlotBytes: tailSlot}
}

// openTail takes what a process that was killed left in the tail, and begins a new one. Where there
// can be none the store goes without, and says so.
func (s *Store) openTail() error {
	if s.opts.MapTail == nil || s.member != nil {
		return nil
	}
	f := s.tailFile()
	if !f.Possible() {
		s.opts.Logf(LevelWarn, "the system does not tell its boots apart: a process that is killed loses what the disk was not given yet")
		return nil
	}
	kept, _, err := f.Read()
	if err == nil {
		err = s.takeKept(kept, s.lastChunk)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	s.makeTail(f)
	return nil
}

// makeTail makes an empty tail, if there can be one.
func (s *Store) makeTail(f *tail.File) {
	var err error
	if s.tail, err = f.Make(); err != nil {
		s.opts.Logf(LevelWarn, "without %s a process that is killed loses what the disk was not given yet: %v", tail.Name, err)
	}
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
	f := s.tailFile()
	if err := f.Remove(); err != nil { // chunks refer to its memory, which stays
		s.opts.Logf(LevelWarn, "remove %s: %v", tail.Name, err)
	}
	s.makeTail(f)
	s.journal.SetTail(s.tail)
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
