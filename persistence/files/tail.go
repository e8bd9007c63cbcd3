package files

import (
	"fmt"
	"path"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/tail"
)

// The death of the process loses nothing, under any SyncPolicy: the tail has a copy of what
// the system was not given yet, in the command's own time (package tail). A start
// takes from it what follows the journal on disk, writes that to the journal, and forces it to the
// device before anything else. The log of a group needs none: each entry is given to the system before it is acknowledged.

// TailSlot is the length of a slot of the tail: that of a chunk.
const TailSlot = 64 << 10

// TailFile is where the tail is, or was.
func (f *Files) TailFile() *tail.File {
	return &tail.File{Path: path.Join(f.Dir, tail.Name), FS: f.FS, Map: f.MapTail,
		Identity: tail.Identity{Store: f.Meta.Secret, Boot: f.Boot}, Slots: f.TailSlots, SlotBytes: TailSlot}
}

// OpenTail takes what a process that was killed left in the tail, and begins a new one. Where there
// can be none the store goes without, and says so.
func (f *Files) OpenTail() error {
	if f.MapTail == nil || f.Log == nil {
		return nil
	}
	file := f.TailFile()
	if !file.Possible() {
		f.Operator.Warnf("the system does not tell its boots apart: a process that is killed loses what the disk was not given yet")
		return nil
	}
	kept, _, err := file.Read()
	if err == nil {
		err = f.takeKept(kept, f.LastChunk)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	f.makeTail(file)
	return nil
}

// makeTail makes an empty tail, if there can be one.
func (f *Files) makeTail(file *tail.File) {
	var err error
	if f.Tail, err = file.Make(); err != nil {
		f.Operator.Warnf("without %s a process that is killed loses what the disk was not given yet: %v", tail.Name, err)
	}
}

// takeKept writes to the journal what follows its last chunk.
func (f *Files) takeKept(kept []tail.Chunk, last journal.Position) error {
	from, bytes := last, 0
	var chunks []journal.Chunk
	for _, k := range kept {
		if k.Index != last.Index+1 || k.First != last.LSN+1 {
			continue // the journal has it, or it is not of this life of the store
		}
		end, err := format.LastRecord(k.First, k.Records)
		if k.Damaged {
			err = fmt.Errorf("checksum: %w", format.ErrCorrupt)
		}
		if err != nil {
			return fmt.Errorf("chunk %d, which the disk lacks, is damaged; without the file what it has is lost: %w", k.Index, err)
		}
		chunks = append(chunks, journal.Kept(k, end, len(k.Records) >= journal.BigRecord))
		bytes += len(k.Records)
		last = journal.Position{LSN: end, Index: k.Index}
	}
	if len(chunks) == 0 {
		return nil
	}
	if err := f.writeChunks(chunks); err != nil {
		return fmt.Errorf("write what the disk lacks: %w", err)
	}
	f.LastChunk = last
	f.Operator.Infof("the process before was killed: %s had what the disk lacked (changes: %d, bytes: %d)", tail.Name, last.LSN-from.LSN, bytes)
	return nil
}

// MendTail makes another tail in place of one that broke. Until that is done, replies wait for the device.
func (f *Files) MendTail() {
	f.Operator.Warnf("the system cannot back the memory of %s, which is made anew", tail.Name)
	file := f.TailFile()
	if err := file.Remove(); err != nil { // chunks refer to its memory, which stays
		f.Operator.Warnf("remove %s: %v", tail.Name, err)
	}
	f.makeTail(file)
}
