package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/tail"
)

// A member of a group under SyncEverySecond or SyncNever acknowledges entries that are in buffers
// of the process: the tail has a copy of each until it is on the device, so that the death of all
// members at once loses nothing, and none of them has to abstain from voting afterwards (R6 of package server/cluster).
//
// A chunk of the tail is a run of entries. Entries that replace others begin another one, as do those behind a
// sync. The runs that are there, in their order, are all that was appended since some entry:
// the disk may have any part of that, from its beginning. So what is not copied, because it is too long, because there is no
// room, or because a new term has to be synced with it, is written when the device has everything before it, and the tail
// is empty.

// keptEntries is what the tail has of the log of a group.
type keptEntries struct {
	mu    sync.Mutex // held while entries are copied and written, so that a sync knows what the log has
	tail  *tail.Tail
	rooms []*tail.Room
	begun uint64 // rooms
	next  uint64 // entry that the last room goes on with
	left  int    // bytes that the last room has left; 0 if it is closed

	on      bool // there is a tail, since the start
	whole   bool // the process before left all that was not synced
	removed bool // the file of a tail that broke
}

// keepIn has entries be copied to a tail from now on. With nil they are not.
func (m *Member) keepIn(t *tail.Tail) {
	if m != nil {
		m.kept.tail, m.kept.on = t, t != nil
	}
}

// Whole reports that the log has everything that was appended to it before the store was opened: its grouplog.Boot has what
// [Member.Boot] returned to the process before, and returns to this one, so that the process died and not the machine.
func (m *Member) Whole() bool { return m.kept.whole }

// Boot identifies the boot of the machine during which the death of the process loses nothing that was
// appended, under any policy. It is zero if that is not so.
func (m *Member) Boot() (id [16]byte) {
	if m.kept.on {
		id = m.s.opts.Boot
	}
	return id
}

// entryPrefix is what the tail has in front of the data of an entry: their length, the term, the type.
const entryPrefix = 4 + 8 + 1

func keptSize(entries []grouplog.Entry) (size int) {
	for i := range entries {
		size += entryPrefix + len(entries[i].Data)
	}
	return size
}

// append appends entries of which the tail has a copy. It reports whether it could: if not, nothing was written.
func (k *keptEntries) append(log *grouplog.Log, entries []grouplog.Entry, state *grouplog.HardState) (kept bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.reserveLocked(entries) {
		return false, nil
	}
	err = log.AppendKept(entries, state, (*entryKeeper)(k))
	return !errors.Is(err, errTailBroken), err // else the system did not back it
}

// reserveLocked makes room for copies of entries.
func (k *keptEntries) reserveLocked(entries []grouplog.Entry) bool {
	size := keptSize(entries)
	if k.tail.Broken() || size > leastTailBytes/2 {
		return false
	}
	if size <= k.left && k.next == entries[0].Index {
		return true
	}
	k.left = 0
	room := k.tail.Begin(k.begun+1, entries[0].Index, max(tailSlot, size))
	if room == nil {
		return false
	}
	k.begun++
	k.rooms = append(k.rooms, room)
	k.next, k.left = entries[0].Index, max(tailSlot, size)
	return true
}

var errTailBroken = errors.New("the system cannot back the memory of the tail")

// entryKeeper is keptEntries as a grouplog.Keeper, with its mutex held.
type entryKeeper keptEntries

// Keep copies entries for which there is room.
func (k *entryKeeper) Keep(entries []grouplog.Entry) error {
	if planted == unkeptEntries {
		return nil
	}
	room := k.rooms[len(k.rooms)-1]
	for i := range entries {
		e := &entries[i]
		var prefix [entryPrefix]byte
		binary.LittleEndian.PutUint32(prefix[:], uint32(len(e.Data)))
		binary.LittleEndian.PutUint64(prefix[4:], e.Term)
		prefix[12] = e.Type
		if !room.Append(0, prefix[:], e.Data) {
			return errTailBroken
		}
	}
	k.next += uint64(len(entries))
	k.left -= keptSize(entries)
	return nil
}

// seal has what is appended from now on be in rooms behind one, whose number it returns.
func (k *keptEntries) seal() (last uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = 0
	return k.begun
}

// free gives back the rooms up to one: the device has what they have.
func (k *keptEntries) free(last uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.rooms) > 0 && k.begun-uint64(len(k.rooms)) < last {
		k.rooms[0].Free()
		k.rooms = slices.Delete(k.rooms, 0, 1)
	}
}

// any reports whether the tail has entries.
func (k *keptEntries) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.rooms) > 0
}

// broken reports that the system could not back the memory of the tail.
func (k *keptEntries) broken() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.on && k.tail.Broken()
}

// crowded reports that little room is left.
func (k *keptEntries) crowded() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.on && k.tail.Crowded()
}

// mend makes another tail in place of one that broke, of which the device has all: what its file has must not be
// taken for the newest. If it cannot, it tries again when it is periodic. Until then every append is synced.
func (m *Member) mend(periodic bool) {
	k := &m.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.on || !k.tail.Broken() || len(k.rooms) > 0 || k.removed && !periodic {
		return
	}
	k.removed = true
	if t := m.s.remakeTail(); t != nil {
		k.tail, k.removed, m.s.tail = t, false, t
	}
}

// empty has the device take everything that was appended, so that the tail has nothing.
func (m *Member) empty() error {
	if !m.kept.any() && !m.kept.broken() {
		return nil
	}
	err := m.force()
	if err == nil {
		m.mend(false)
	}
	return err
}

// append writes entries and the hard state, by way of the tail unless they have to be on the device at once. It reports whether they are.
func (m *Member) append(entries []grouplog.Entry, state *grouplog.HardState, sync bool) (synced bool, err error) {
	if len(entries) == 0 {
		return false, m.log.Append(nil, state, false)
	}
	if !sync && m.kept.on && !m.log.Forces(state) {
		if kept, err := m.kept.append(m.log, entries, state); kept {
			return false, err
		}
		sync = true
	}
	if err := m.empty(); err != nil {
		return false, err
	}
	return sync, m.log.Append(entries, state, sync)
}

// takeKept appends to the log what a process that was killed has left in the tail and the log lacks. ours says that the
// file is all that it had.
func (m *Member) takeKept(kept []tail.Chunk, ours bool) error {
	m.kept.whole = ours && m.log.Boot().ID == m.s.opts.Boot
	entries, err := foldKept(kept)
	if err != nil {
		return err
	}
	first, last := m.log.Bounds()
	for len(entries) > 0 && entries[0].Index <= last {
		e := &entries[0]
		if e.Index >= first {
			term, err := m.log.Term(e.Index)
			if err != nil {
				return err
			}
			if term != e.Term {
				break // it replaces another one
			}
		}
		entries = entries[1:]
	}
	if len(entries) == 0 {
		return nil
	}
	if err := m.log.Append(entries, nil, true); err != nil {
		return fmt.Errorf("write what the disk lacks: %w", err)
	}
	m.s.opts.Logf(LevelInfo, "the process before was killed: %s had what the disk lacked (entries of the group's log: %d, bytes: %d)",
		tailName, len(entries), keptSize(entries))
	return nil
}

// foldKept returns the entries that runs have left, in which later ones have replaced others.
func foldKept(runs []tail.Chunk) (entries []grouplog.Entry, err error) {
	for _, run := range runs {
		if run.Damaged {
			return nil, fmt.Errorf("entry %d, or one behind it, is damaged; without the file what the disk lacks is lost: %w", run.First, errDamagedTail)
		}
		switch {
		case len(entries) == 0 || run.First <= entries[0].Index:
			entries = entries[:0]
		case run.First <= entries[len(entries)-1].Index+1:
			entries = entries[:run.First-entries[0].Index]
		default:
			return nil, fmt.Errorf("entry %d is missing before %d: %w", entries[len(entries)-1].Index+1, run.First, ErrCorrupt)
		}
		for index, b := run.First, run.Records; len(b) > 0; index++ {
			if len(b) < entryPrefix || uint64(len(b)-entryPrefix) < uint64(binary.LittleEndian.Uint32(b)) {
				return nil, fmt.Errorf("length of entry %d: %w", index, format.ErrCorrupt)
			}
			end := entryPrefix + int(binary.LittleEndian.Uint32(b))
			entries = append(entries, grouplog.Entry{Index: index, Term: binary.LittleEndian.Uint64(b[4:]), Type: b[12], Data: b[entryPrefix:end:end]})
			b = b[end:]
		}
	}
	return entries, nil
}
