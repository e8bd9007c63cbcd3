package tail

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Name is the file of a store that has its tail.
const Name = "vigil-tail"

const (
	magic     = "vigilTL1"
	headBytes = 52 // of the file, checksum included
	page      = 4096
	entry     = 64 // bytes of the table for each slot

	maxSlots, maxSlotBytes = 1 << 16, 1 << 30
)

// Places in an entry of the table.
const (
	atBytes = 0
	atIndex = 8
	atFirst = 16
	atSlots = 24
	atFlags = 28
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Identity says which chunks may be taken: those of the same store, written since the same
// boot of the machine.
type Identity struct{ Store, Boot [16]byte }

// Chunk is what the file has of a chunk.
type Chunk struct {
	Index   uint64 // number of the chunk
	First   uint64 // number of its first record
	Flags   byte
	Records []byte // each after its length as a uvarint
	Damaged bool   // bytes have changed, or what the file says of them
}

// Memory is bytes that outlive the process.
type Memory interface {
	// Bytes returns them. Where the system cannot back one of them, touching it is a fault.
	Bytes() []byte
	Close() error
}

// Releaser is Memory whose pages the process can give back: their bytes stay, and are found again when they are touched.
type Releaser interface {
	// Release gives back what pages lie as a whole between two offsets. It is a hint, and may do nothing.
	Release(from, to int)
}

// Tail is an open file. Its methods must not be called at the same time.
type Tail struct {
	memory    Memory
	b         []byte
	count     int // slots
	slotBytes int
	slots     []byte // the table
	data      []byte
	used      []bool
	taken     int // how many of used are set
	touched   int // slots that were used since the last Rest, and those below
	broken    bool
}

// Size returns the length of a file with slots of so many bytes each.
func Size(slots, slotBytes int) int { return dataAt(slots) + slots*slotBytes }

func dataAt(slots int) int { return (page + slots*entry + page - 1) / page * page }

// Read returns the chunks that a process has left in memory, in the order of their numbers. Memory
// of another store or boot, or that was never a tail's, is not ours, and has none. An error is that
// of the system, which cannot back the memory.
func Read(m Memory, id Identity) (chunks []Chunk, ours bool, err error) {
	b := m.Bytes()
	if len(b) < headBytes {
		return nil, false, nil
	}
	var t Tail
	if !t.guarded(func() {
		slots, slotBytes := int(binary.LittleEndian.Uint32(b[12:])), int(binary.LittleEndian.Uint32(b[8:]))
		if t.lay(m, slots, slotBytes) && string(b[:headBytes]) == string(t.head(id)) {
			chunks, ours = t.read(), true
		}
	}) {
		return nil, false, errors.New("the tail cannot be read")
	}
	return chunks, ours, nil
}

// New makes an empty tail of memory of Size(slots, slotBytes) bytes.
func New(m Memory, slots, slotBytes int, id Identity) (*Tail, error) {
	t := &Tail{}
	if !t.lay(m, slots, slotBytes) {
		return nil, fmt.Errorf("tail of %d bytes for %d slots of %d", len(m.Bytes()), slots, slotBytes)
	}
	t.used = make([]bool, slots)
	if !t.guarded(func() {
		clear(t.b[:headBytes]) // first: a process that ends amid this leaves no table that counts
		for i := range t.count {
			t.publish(i, 0, 0)
		}
		copy(t.b, t.head(id))
	}) {
		return nil, errors.New("the tail cannot be written")
	}
	return t, nil
}

// lay divides memory into the table and the slots, which it has to be long enough for.
func (t *Tail) lay(m Memory, slots, slotBytes int) bool {
	b := m.Bytes()
	if slots <= 0 || slots > maxSlots || slotBytes < entry || slotBytes > maxSlotBytes || len(b) != Size(slots, slotBytes) {
		return false
	}
	t.memory, t.b, t.count, t.slotBytes = m, b, slots, slotBytes
	t.slots, t.data = b[page:page+slots*entry], b[dataAt(slots):]
	return true
}

// head returns the first bytes of the file.
func (t *Tail) head(id Identity) []byte {
	b := append(make([]byte, 0, headBytes), magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.slotBytes))
	b = binary.LittleEndian.AppendUint32(b, uint32(t.count))
	b = append(append(b, id.Store[:]...), id.Boot[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// read returns what the table has. Entries that cannot be are passed over: the caller takes only
// what follows its log.
func (t *Tail) read() (chunks []Chunk) {
	for i := range t.count {
		e := t.slots[i*entry:]
		size, n := binary.LittleEndian.Uint64(e[atBytes:]), binary.LittleEndian.Uint32(e[atSlots:])
		size, sum := size>>32, uint32(size)
		if size == 0 || n == 0 || uint64(n) > uint64(t.count-i) || size > uint64(n)*uint64(t.slotBytes) {
			continue
		}
		from := i * t.slotBytes
		c := Chunk{Index: binary.LittleEndian.Uint64(e[atIndex:]), First: binary.LittleEndian.Uint64(e[atFirst:]),
			Flags: e[atFlags], Records: slices.Clone(t.data[from : from+int(size)])}
		c.Damaged = crc32.Update(t.seed(i), castagnoli, c.Records)^uint32(c.Flags) != sum
		chunks = append(chunks, c)
	}
	slices.SortFunc(chunks, func(a, b Chunk) int { return cmp.Compare(a.Index, b.Index) })
	return chunks
}

// Room is where a chunk is kept.
type Room struct {
	t    *Tail
	slot int
	n    int // slots
	size int // bytes of records
	sum  uint32
}

// Begin returns room for the records of a chunk, of so many bytes at most. It is nil if there
// is none, and of a nil Tail.
func (t *Tail) Begin(index, first uint64, most int) (room *Room) {
	if t == nil || t.broken {
		return nil
	}
	n := max(1, (most+t.slotBytes-1)/t.slotBytes)
	at := t.free(n)
	if at < 0 {
		return nil
	}
	t.guarded(func() {
		e := t.slots[at*entry:]
		binary.LittleEndian.PutUint64(e[atIndex:], index)
		binary.LittleEndian.PutUint64(e[atFirst:], first)
		binary.LittleEndian.PutUint32(e[atSlots:], uint32(n))
		for i := range n {
			t.used[at+i] = true
		}
		t.taken += n
		t.touched = max(t.touched, at+n)
		room = &Room{t: t, slot: at, n: n, sum: t.seed(at)}
	})
	return room
}

// free returns the first of n slots side by side that are free, or -1. The lowest are used
// again and again, so that few pages of the file are touched while little is written.
func (t *Tail) free(n int) int {
	run := 0
	for i, used := range t.used {
		if run++; used {
			run = 0
		}
		if run == n {
			return i + 1 - n
		}
	}
	return -1
}

// Append adds bytes of one record, in parts. It reports whether they are there: with a
// system that cannot back the memory, or without room, nothing is added and the chunk
// does not count any more beyond what it had.
func (r *Room) Append(flags byte, parts ...[]byte) bool {
	if r.t.broken {
		return false
	}
	to := r.t.data[r.slot*r.t.slotBytes+r.size : (r.slot+r.n)*r.t.slotBytes]
	return r.t.guarded(func() {
		size, sum := r.size, r.sum
		for _, p := range parts {
			if len(p) > len(to) {
				panic("tail: a chunk is longer than its room")
			}
			copy(to, p)
			sum = crc32.Update(sum, castagnoli, p)
			to = to[len(p):]
			size += len(p)
		}
		r.t.slots[r.slot*entry+atFlags] = flags
		r.t.publish(r.slot, size, sum^uint32(flags))
		r.size, r.sum = size, sum
	})
}

// Free gives the room back: the caller's log has the chunk. Rooms are freed in the order of
// their chunks.
func (r *Room) Free() {
	r.t.guarded(func() { r.t.publish(r.slot, 0, 0) })
	for i := range r.n {
		r.t.used[r.slot+i] = false
	}
	r.t.taken -= r.n
}

// publish says how many bytes of a slot count, after all that was written before.
func (t *Tail) publish(slot, size int, sum uint32) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&t.slots[slot*entry+atBytes])), uint64(size)<<32|uint64(sum))
}

// seed is the checksum of what the table has of a chunk, but for its flags, which may change.
func (t *Tail) seed(slot int) uint32 {
	return crc32.Checksum(t.slots[slot*entry+atIndex:slot*entry+atFlags], castagnoli)
}

// guarded runs f, which touches the memory, and reports whether the system could back it. If
// not, the tail is broken.
func (t *Tail) guarded(f func()) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if ok {
			return
		}
		r := recover()
		if _, fault := r.(interface{ Addr() uintptr }); !fault {
			panic(r)
		}
		t.broken = true
	}()
	f()
	return true
}

// Rest gives the pages of free slots back to the system, when little is to be written for a while.
func (t *Tail) Rest() {
	m, ok := t.memory.(Releaser)
	if !ok || t.broken {
		return
	}
	last := 0 // behind the last slot in use
	for i, used := range t.used[:t.touched] {
		if used {
			last = i + 1
		}
	}
	data := dataAt(t.count)
	m.Release(data+last*t.slotBytes, data+t.touched*t.slotBytes)
	t.touched = last
}

// Crowded reports that less than half of the slots are free.
func (t *Tail) Crowded() bool { return 2*t.taken > t.count }

// Broken reports that the system could not back the memory.
func (t *Tail) Broken() bool { return t.broken }

// Close closes the memory, unless the tail is nil, or broken: what the disk could not be given is in it. No call may follow.
func (t *Tail) Close() error {
	if t == nil || t.broken {
		return nil
	}
	return t.memory.Close()
}
