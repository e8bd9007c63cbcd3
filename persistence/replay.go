package persistence

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/structures"
)

// Replay applies the journal to what the object store has. Every record is
// applied to each of its keys by itself: not if the head on disk was encoded after
// it, for that contains it. A key that the disk has lost meanwhile gets its
// operations too, to no avail, because the journal also has the deletion.
//
// Several goroutines read every chunk, and each applies what is in its own shards:
// finding the keys in a chunk is cheap against putting them into tables.
type replayer struct {
	tx      *Tx // for its ways to store without recording
	part    int // shards sh with sh%parts == part are ours
	parts   int
	state   *replayState
	phys    uint32 // of the selected key
	db      int    // -1: the key is not ours, or of a database that is gone
	hash    uint64
	key     []byte
	t       *table
	lsn     uint64
	applied bool            // mapping operations are applied by this replayer
	limit   uint64          // length that a patched string may get
	args    structures.Args // of the operation at hand; here, so that none is allocated
}

// replayState is shared; each goroutine touches the entries of its own shards.
type replayState struct {
	s     *Store
	db    map[uint32]int // logical by physical database
	spare spares
	// known tells for keys read from disk which records their heads contain,
	// if those are still to come.
	known [shardCount]map[string]uint64
}

// replayQueue is how many chunks are read ahead of the slowest goroutine.
const replayQueue = 16

// replay reads the journal and numbers the records to come.
func (s *Store) replay(ctx context.Context) error {
	st := &replayState{s: s}
	st.index()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendJournalKey(nil, s.mapping.trimmed.index+1), UpperBound: appendGroupEnd(nil, prefixJournal)})
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	var last position
	if err = st.survey(it); err == nil {
		last, err = st.run(ctx, it)
	}
	if err := errors.Join(err, it.Close()); err != nil {
		return fmt.Errorf("replay journal: %w", err)
	}
	s.journal.resume(last)
	s.durable.handed, s.durable.synced = last.lsn, last.lsn
	for i := range s.shards {
		s.shards[i].mu.Lock()
		s.unlockShard(&s.shards[i])
	}
	return nil
}

// index looks up which logical database a physical one is.
func (st *replayState) index() {
	st.db = make(map[uint32]int, len(st.s.mapping.phys))
	for db, phys := range st.s.mapping.phys {
		st.db[phys] = db
	}
}

func (st *replayState) replayer(part, parts int) *replayer {
	tx := st.s.NewTx()
	tx.clock = st.s.clockAt(st.s.opts.Now())
	return &replayer{tx: tx, part: part, parts: parts, state: st, limit: maxPatched}
}

// piece is a chunk on its way to the replayers. The last of them to finish
// gives its memory back for another chunk.
type piece struct {
	first   uint64
	records []byte
	readers *atomic.Int32 // who has not finished with it
}

// spares are buffers of chunks that were replayed.
type spares chan []byte

func (s spares) get() []byte {
	select {
	case b := <-s:
		return b[:0]
	default:
		return nil
	}
}

func (s spares) put(b []byte) {
	select {
	case s <- b:
	default:
	}
}

// run replays all chunks and returns the end of the last.
func (st *replayState) run(ctx context.Context, it *pebble.Iterator) (last position, err error) {
	parts := min(runtime.GOMAXPROCS(0), 4)
	st.spare = make(spares, 2*replayQueue) // as many as can be on their way
	queues := make([]chan piece, parts)
	errs := make([]error, parts)
	var workers, busy sync.WaitGroup
	for i := range parts {
		queues[i] = make(chan piece, replayQueue) // bounds the chunks in memory
		r := st.replayer(i, parts)
		workers.Go(func() {
			for p := range queues[i] {
				if errs[i] == nil {
					errs[i] = r.chunk(p.first, p.records)
				}
				if p.readers.Add(-1) == 0 {
					st.spare.put(p.records)
				}
				busy.Done()
			}
		})
	}
	all := st.replayer(0, 1)
	all.applied = true
	last = st.s.mapping.trimmed
	for it.First(); it.Valid() && err == nil; it.Next() {
		if err = ctx.Err(); err != nil {
			break
		}
		var flags byte
		var p piece
		if flags, p, err = st.read(it, last); err != nil {
			break
		}
		n, err2 := countRecords(p.records)
		if err = err2; err != nil {
			break
		}
		last.lsn += uint64(n)
		last.index++
		st.s.loading.current.Store(last.lsn)
		st.s.log.add(chunkInfo{p.first, last.lsn, int64(len(it.Value()))})
		if flags&chunkMapping != 0 {
			// Databases change their meaning: everything before must be done.
			busy.Wait()
			err = all.chunk(p.first, p.records)
			continue
		}
		p.readers = new(atomic.Int32)
		p.readers.Store(int32(parts))
		busy.Add(parts)
		for _, q := range queues {
			q <- p
		}
	}
	for _, q := range queues {
		close(q)
	}
	workers.Wait()
	return last, errors.Join(append(errs, err, it.Error())...)
}

// survey tells the store how much there is to replay.
func (st *replayState) survey(it *pebble.Iterator) error {
	s, p := st.s, &st.s.loading
	first := s.mapping.trimmed.lsn
	p.first.Store(first)
	p.current.Store(first)
	p.end.Store(first)
	if it.Last() {
		if first, _, _, err := openChunk(it.Value()); err == nil { // else the replay tells
			p.end.Store(first)
		}
	}
	size, err := s.db.EstimateDiskUsage(appendGroup(nil, prefixJournal), appendGroupEnd(nil, prefixJournal))
	if err != nil {
		return err
	}
	p.total.Store(int64(size))
	return nil
}

// read checks the chunk that it stands on, which must be the one behind last.
func (st *replayState) read(it *pebble.Iterator, last position) (flags byte, p piece, err error) {
	if len(it.Key()) != journalKeyFixed {
		return 0, p, fmt.Errorf("chunk key of %d bytes: %w", len(it.Key()), ErrCorrupt)
	}
	if i := binary.BigEndian.Uint64(it.Key()[groupKeyFixed:]); i != last.index+1 {
		return 0, p, fmt.Errorf("chunk %d of the journal is missing, the next is %d: %w", last.index+1, i, ErrCorrupt)
	}
	first, flags, records, err := openChunk(it.Value())
	if err != nil {
		return 0, p, fmt.Errorf("chunk %d of the journal: %w", last.index+1, err)
	}
	if first != last.lsn+1 {
		return 0, p, fmt.Errorf("chunk %d of the journal begins with record %d, want %d: %w",
			last.index+1, first, last.lsn+1, ErrCorrupt)
	}
	p.first, p.records = first, append(st.spare.get(), records...)
	return flags, p, nil
}

func countRecords(b []byte) (n int, err error) {
	for len(b) > 0 {
		if _, b, err = nextRecord(b); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (r *replayer) chunk(first uint64, records []byte) (err error) {
	r.lsn = first
	for len(records) > 0 {
		var rec []byte
		if rec, records, err = nextRecord(records); err != nil {
			return err
		}
		if err := r.record(rec); err != nil {
			return fmt.Errorf("record %d: %w", r.lsn, err)
		}
		r.lsn++
	}
	return nil
}

func (r *replayer) record(rec []byte) error {
	r.db = -1
	for len(rec) > 0 {
		var op byte
		var err error
		if op, r.args, rec, err = structures.NextOp(rec); err != nil {
			return err
		}
		switch {
		case op == opKey:
			err = r.about(&r.args)
		case op == opMapping:
			err = r.remap(&r.args)
		case r.db >= 0:
			err = r.apply(op, &r.args)
		}
		if err != nil {
			return fmt.Errorf("operation %d on %q: %w", op, r.key, err)
		}
	}
	return nil
}

// about looks up the key that the operations behind are about. r.db is -1 if
// they are not to be applied here.
func (r *replayer) about(args *structures.Args) error {
	phys, key := uint32(args.Uint()), args.Bytes()
	if err := args.Done(); err != nil {
		return err
	}
	s := r.state.s
	r.db = -1
	hash := s.Hash(key)
	sh := shardOf(hash)
	if sh%r.parts != r.part {
		return nil
	}
	db, ok := r.state.db[phys]
	if !ok {
		return nil // flushed since, and the mapping tells so already
	}
	t := s.table(sh, db)
	if !t.resident {
		if done, err := r.preload(t, sh, hash, key); err != nil || done {
			return err
		}
	}
	r.t, r.hash, r.key, r.phys, r.db = t, hash, key, phys, db
	return nil
}

// preload brings the key in from disk and reports whether its head contains
// this record.
func (r *replayer) preload(t *table, sh int, hash uint64, key []byte) (done bool, err error) {
	s, known := r.state.s, r.state.known[sh]
	if t.find(hash, key) >= 0 {
		return known != nil && known[knownKey(t.phys, key)] >= r.lsn, nil
	}
	lsn, i, err := s.faultAt(t, hash, key, r.tx.fresh())
	if err != nil || i < 0 || lsn < r.lsn {
		return false, err
	}
	if known == nil {
		known = map[string]uint64{}
		r.state.known[sh] = known
	}
	known[knownKey(t.phys, key)] = lsn
	return true, nil
}

func knownKey(phys uint32, key []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, phys), key...))
}

// apply does one operation to the selected key.
func (r *replayer) apply(op byte, args *structures.Args) error {
	t, tx := r.t, r.tx
	i := t.find(r.hash, r.key)
	live := i >= 0 && t.slots[i].meta&metaTombstone == 0
	switch op {
	case opSet:
		value, expire := args.Bytes(), int64(0)
		if args.Left() > 0 {
			expire = args.Int()
		}
		if err := args.Done(); err != nil {
			return err
		}
		tx.setString(t, i, r.hash, r.key, value, expire)
	case opPatch:
		off, b := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return err
		}
		return r.patch(i, off, b)
	case opRestore:
		return r.restore(i, args)
	case opDelete:
		if live {
			t.erase(i)
		}
	case opExpireAt, opPersist:
		expire := int64(0)
		if op == opExpireAt {
			expire = args.Int()
		}
		if err := args.Done(); err != nil || !live {
			return err
		}
		t.setExpire(i, expire)
		t.setMeta(i, t.slots[i].meta|metaDirty)
	default:
		return r.change(i, live, op, args)
	}
	return nil
}

// change applies an operation of a type. Where the value is missing or of
// another type, its deletion is further on in the journal.
func (r *replayer) change(i int, live bool, op byte, args *structures.Args) error {
	if op < structures.FirstOp {
		return structures.ErrUnknownChange
	}
	if !live {
		return nil
	}
	o := r.t.object(r.t.slots[i].meta)
	if o == nil {
		return nil
	}
	if err := o.value.Apply(op, args); err != nil {
		return err
	}
	r.t.resized(o)
	r.t.setMeta(i, r.t.slots[i].meta|metaDirty)
	return nil
}

// maxPatched bounds what a damaged record can make us allocate.
const maxPatched = 1 << 32

func (r *replayer) patch(i int, off uint64, b []byte) error {
	if off > r.limit || off+uint64(len(b)) > r.limit {
		return fmt.Errorf("patch at %d: %w", off, ErrCorrupt)
	}
	if i >= 0 {
		if o := r.t.object(r.t.slots[i].meta); o != nil && o.value != nil && o.value.Kind() != structures.KindString {
			return nil
		}
	}
	r.tx.patchString(r.t, i, r.hash, r.key, int(off), b)
	return nil
}

func (r *replayer) restore(i int, args *structures.Args) error {
	kind, expire, head := structures.Kind(args.Uint()), args.Int(), args.Bytes()
	v, err := r.state.s.decode(kind, head)
	if err != nil {
		return err
	}
	for args.Left() >= 2 {
		id, page := args.Uint(), args.Bytes()
		if err := v.SetPage(id, page); err != nil {
			return err
		}
	}
	if err := errors.Join(args.Done(), complete(v)); err != nil {
		return err
	}
	o := &object{key: append([]byte(nil), r.key...), value: v, expire: expire, whole: true}
	i = r.tx.place(r.t, i, r.hash, o)
	r.t.setMeta(i, r.t.slots[i].meta|metaDirty)
	return nil
}

// remap changes which databases are which, unless meta already knew of it.
func (r *replayer) remap(args *structures.Args) error {
	next, phys, err := decodeMapping(args)
	if err != nil || !r.applied {
		return err
	}
	s := r.state.s
	r.db = -1
	if r.lsn <= s.mapping.mapped {
		return nil
	}
	if len(phys) != len(s.mapping.phys) {
		return fmt.Errorf("mapping of %d databases, want %d: %w", len(phys), len(s.mapping.phys), ErrCorrupt)
	}
	for i := range s.shards {
		old := s.shards[i].tables
		s.shards[i].tables = make([]*table, len(old))
		byPhys := map[uint32]*table{}
		for _, t := range old {
			if t != nil {
				byPhys[t.phys] = t
			}
		}
		for db, p := range phys {
			s.shards[i].tables[db] = byPhys[p]
			delete(byPhys, p)
		}
		for _, t := range byPhys {
			s.discard.table(i, t)
		}
	}
	s.mapping.phys, s.mapping.next = phys, max(s.mapping.next, next)
	r.state.index()
	return nil
}
