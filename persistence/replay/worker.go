package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/prefetch"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// worker is one goroutine's part of a replay.
type worker struct {
	replay *replay
	slots.Placer
	sorted   [format.ShardCount][]section
	limit    uint64    // length that a patched string may get
	upcoming []fetched // room for prefetch
	origin   replayedOrigin
	sole     int             // bytes from which on a section is nearly all of the chunk that is sorted
	args     structures.Args // of the operation at hand; here, so that none is allocated

	shard int
	phys  uint32          // database of t
	t     *keyspace.Table // of the section at hand; nil: of a database that is gone
	own   bool            // a value that is nearly all of the section may be kept as it is
	hash  uint64
	key   []byte
}

func (r *replay) worker() *worker {
	w := &worker{replay: r, Placer: slots.New(r.Keyspace, r.Writer, r.Uses, r.Unreadable, r.Seed()), limit: maxPatched}
	w.Clock = r.Uses.ClockAt(r.Now())
	return w
}

// forget drops what was sorted, and refers to chunks.
func (w *worker) forget() {
	for sh := range w.sorted {
		clear(w.sorted[sh])
		w.sorted[sh] = w.sorted[sh][:0]
	}
}

// enter turns to a shard.
func (w *worker) enter(sh int) { w.shard, w.phys, w.t = sh, noPhys, nil }

// expect tells the tables of the shard at hand what size they may have at the end, where there is room for that.
func (w *worker) expect() {
	r := w.replay
	if r.live || r.allowance.Bound > 0 && r.Keyspace.Memory.Load() >= r.allowance.Bound/keyspace.MostExpected {
		return
	}
	for _, t := range r.Keyspace.Shard[w.shard].Tables {
		if t != nil {
			t.Expect(r.part)
		}
	}
}

// noPhys is no physical database.
const noPhys = 1<<32 - 1

// choose makes the table of a physical database the one at hand, nil if the
// database was flushed since: then the mapping has it already.
func (w *worker) choose(phys uint32) {
	if phys == w.phys && phys != noPhys {
		return
	}
	w.phys, w.t = phys, nil
	if db, ok := w.replay.db[phys]; ok {
		w.t = w.replay.Keyspace.Table(w.shard, db)
	}
}

// fetchAhead is for how many sections memory is asked for before they are applied:
// so many cache misses wait at the same time instead of one after the other.
const fetchAhead = 32

// apply applies sections of the shard that was entered.
func (w *worker) apply(list []section) error {
	for len(list) > 0 {
		n := min(len(list), fetchAhead)
		for i := range list[:n] {
			sec := &list[i]
			if w.choose(sec.phys); w.t == nil {
				continue
			}
			prefetch.Line(unsafe.Pointer(unsafe.SliceData(sec.b)))
			if w.t.Used > 0 {
				w.t.PrefetchSlot(sec.hash)
			}
		}
		for i := range list[:n] {
			if err := w.section(&list[i]); err != nil {
				return fmt.Errorf("record %d: on %q: %w", list[i].lsn, list[i].key(), err)
			}
			if w.full() && (i+1 == len(list) || list[i+1].lsn != list[i].lsn) {
				if err := w.makeRoom(list[i].lsn); err != nil {
					return err
				}
			}
		}
		list = list[n:]
	}
	return nil
}

// section applies what a record did to a key, unless the disk's value of it
// contains that.
func (w *worker) section(sec *section) error {
	if w.choose(sec.phys); w.t == nil {
		return nil
	}
	w.hash, w.key, w.own = sec.hash, sec.key(), sec.sole
	if done, err := w.preload(sec); err != nil || done {
		return err
	}
	defer w.Compact()
	for rest := sec.ops(); len(rest) > 0; {
		var op byte
		var err error
		if op, rest, err = w.args.Next(rest); err != nil {
			return err
		}
		if err := w.operate(op, &w.args); err != nil {
			return fmt.Errorf("operation %d: %w", op, err)
		}
	}
	return nil
}

// preload brings in the value that a section changes, if it has not come yet and
// the section does not replace it, and reports whether the disk's value contains
// this record.
func (w *worker) preload(sec *section) (done bool, err error) {
	if w.replay.live {
		return false, w.bringIn()
	}
	known := w.replay.known[w.shard]
	ops := sec.ops()
	anew := len(ops) == 0 || replaces(ops[0])
	if anew && known == nil {
		return false, nil
	}
	if w.t.Resident || w.t.Find(sec.hash, w.key) >= 0 {
		return known != nil && known[knownKey(sec.phys, w.key)] >= sec.lsn, nil
	}
	if anew {
		return false, nil
	}
	if w.t.Sought++; w.t.Sought > int(w.t.Disk)/ReadAllShare && w.hasRoom() {
		if err := w.readAll(sec.lsn); err != nil {
			return false, err
		}
		if w.t.Resident || w.t.Find(sec.hash, w.key) >= 0 {
			return w.replay.known[w.shard][knownKey(sec.phys, w.key)] >= sec.lsn, nil
		}
	}
	lsn, i, err := w.replay.Heads.Fault(w.t, sec.hash, w.key, w.Fresh())
	if err != nil || i < 0 || lsn < sec.lsn {
		return false, err
	}
	w.know(w.key, lsn)
	return true, nil
}

// replaces reports that a key's value behind an operation does not depend on that
// before it.
func replaces(op byte) bool {
	return op == format.OpSet || op == format.OpDelete || op == format.OpRestore
}

// know notes that the disk's value of a key, which is in memory now, contains
// records up to lsn.
func (w *worker) know(key []byte, lsn uint64) {
	known := &w.replay.known[w.shard]
	if *known == nil {
		*known = map[string]uint64{}
	}
	(*known)[knownKey(w.phys, key)] = lsn
}

func knownKey(phys uint32, key []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, phys), key...))
}

// operate does one operation to the key at hand.
func (w *worker) operate(op byte, args *structures.Args) error {
	t := w.t
	i := t.Find(w.hash, w.key)
	live := i >= 0 && t.Meta(i)&keyspace.Tombstone == 0
	switch op {
	case format.OpSet:
		value, expire := args.Bytes(), int64(0)
		if args.Left() > 0 {
			expire = args.Int()
		}
		if err := args.Done(); err != nil {
			return err
		}
		if w.own && len(value) > writeback.LargeBytes {
			w.SetLong(t, i, w.hash, w.key, slices.Clip(value), expire) // else it would be in memory twice
		} else {
			w.SetString(t, i, w.hash, w.key, value, expire)
		}
		if i < 0 {
			w.assume()
		}
	case format.OpPatch:
		off, b := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		return w.patch(i, off, b)
	case format.OpRestore:
		return w.restore(i, args)
	case format.OpDelete:
		w.erase(i, live)
	case format.OpExpireAt, format.OpPersist:
		expire := int64(0)
		if op == format.OpExpireAt {
			expire = args.Int()
		}
		if err := args.Done(); err != nil || !live {
			return err
		}
		t.SetExpire(i, expire)
		t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	case format.OpBless:
		on := args.Uint() != 0
		if err := args.Done(); err != nil || !live {
			return err
		}
		if t.Bless(w.key, on) {
			t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
		}
	default:
		return w.change(i, live, op, args)
	}
	return nil
}

// erase deletes the key at slot i. One that is not in memory may be on disk.
func (w *worker) erase(i int, live bool) {
	switch {
	case live:
		w.t.Erase(i)
	case i < 0 && !w.t.Resident && !w.replay.live:
		w.t.AddTombstone(w.hash, w.key, false)
		w.t.Assumed = true
	}
}

// change applies an operation of a type. Where the value is missing or of
// another type, its deletion is further on in the journal.
func (w *worker) change(i int, live bool, op byte, args *structures.Args) error {
	if op < structures.FirstOp {
		return fmt.Errorf("operation %d, perhaps of a newer version of vigil: %w", op, structures.ErrUnknownChange)
	}
	if !live {
		return nil
	}
	o := w.Object(w.t, i, w.hash)
	if o == nil {
		return nil
	}
	o.Changed = true
	if err := errors.Join(o.Value.Apply(op, args), w.Err); err != nil {
		return err
	}
	w.t.Resized(o)
	w.replay.Writer.Enlarge(w.t, o, w.hash)
	w.CompactLater(w.t, o, w.hash, w.t.Meta(i)&keyspace.LocationMask, keyspace.CompactAgain)
	w.t.SetMeta(i, w.t.Meta(i)|keyspace.Dirty)
	return nil
}

// maxPatched bounds what a damaged record can make us allocate.
const maxPatched = 1 << 32

func (w *worker) patch(i int, off uint64, b []byte) error {
	if off > w.limit || off+uint64(len(b)) > w.limit {
		return fmt.Errorf("patch at %d: %w", off, format.ErrCorrupt)
	}
	if i >= 0 && w.t.Meta(i)&keyspace.Tombstone == 0 && w.t.Kind(w.t.Meta(i)) != structures.KindString {
		return nil
	}
	w.PatchString(w.t, i, w.hash, w.key, int(off), b)
	return nil
}

func (w *worker) restore(i int, args *structures.Args) error {
	kind, expire, head := structures.Kind(args.Uint()), args.Int(), args.Bytes()
	v, err := w.replay.Heads.Decode(kind, head)
	if err != nil {
		return err
	}
	for args.Left() >= 2 {
		id, page := args.Uint(), args.Bytes()
		if err := v.SetPage(id, page); err != nil {
			return err
		}
	}
	if err := errors.Join(args.Done(), format.Complete(v)); err != nil {
		return err
	}
	o := &keyspace.Object{Key: append([]byte(nil), w.key...), Value: v, Expire: expire, Whole: true}
	at := w.Place(w.t, i, w.hash, o)
	w.replay.Writer.Enlarge(w.t, o, w.hash)
	w.t.SetMeta(at, w.t.Meta(at)|keyspace.Dirty)
	if i < 0 {
		w.assume()
	}
	return nil
}
