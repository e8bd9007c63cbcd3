package feed

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
	"github.com/vigildb/vigil/structures/types"
)

// Feed is a feed of a store, or the place for one. The zero value has none.
type Feed struct {
	now atomic.Pointer[feeder]
	// Keys are the keys for the hashes of values. They do not change once records are told.
	Keys *structures.HashKeys
}

// Active reports whether there is a feed.
func (d *Feed) Active() bool { return d.now.Load() != nil }

// Start begins a feed, while all shards are locked. phys are the physical databases of the logical ones. It returns false if there is one.
func (d *Feed) Start(to Receiver, o Options, phys []uint32) bool {
	f := &feeder{o: o, to: to}
	f.learn(phys)
	return d.now.CompareAndSwap(nil, f)
}

// Stop ends the feed, to which calls that are under way may still give records.
func (d *Feed) Stop() { d.now.Store(nil) }

// Lose ends the feed because of something that cannot be told.
func (d *Feed) Lose(why string) {
	if f := d.now.Load(); f != nil {
		d.lose(f, why)
	}
}

func (d *Feed) lose(f *feeder, why string) {
	if d.now.CompareAndSwap(f, nil) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.to.Lost(why)
	}
}

// Record tells a record, which record adds to the journal and returns the number of. told is what was told of values that it has; nil if it
// has no operations of types. The locks of the shards of its keys are held.
func (d *Feed) Record(rec []byte, told *Telling, record func() uint64) uint64 {
	f := d.now.Load()
	if f == nil {
		return record()
	}
	if told == nil {
		told = new(Telling)
	}
	t := teller{keys: d.Keys, f: f, first: -1}
	t.c, t.runs, t.bytes = told.whole, told.runs, told.commands.Encoded()
	defer told.Reset()
	err := t.record(rec)
	told.whole = t.c
	if err != nil {
		d.lose(f, err.Error())
		return record()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	lsn := record()
	f.to.Record(lsn, Told{Commands: t.c.Encoded(), Count: t.c.Count(), First: t.first, Last: t.last})
	return lsn
}

// Append adds a record to the journal, and tells it. told may be nil if the record has no operations of types.
func (d *Feed) Append(j *journal.Journal, rec []byte, flags byte, told *Telling) uint64 {
	if !d.Active() {
		return j.Append(rec, flags)
	}
	return d.Record(rec, told, func() uint64 { return j.Append(rec, flags) })
}

// AppendBig is Append for a record that refers to bytes.
func (d *Feed) AppendBig(j *journal.Journal, rec []byte, refs []journal.Reference, loan *text.Loan, flags byte, told *Telling) uint64 {
	if !d.Active() {
		return j.AppendBig(rec, refs, loan, flags)
	}
	var whole []byte
	done := 0
	for _, r := range refs {
		whole = append(append(whole, rec[done:r.At]...), r.Bytes...)
		done = r.At
	}
	whole = append(whole, rec[done:]...)
	return d.Record(whole, told, func() uint64 { return j.AppendBig(rec, refs, loan, flags) })
}

// Receiver takes what is recorded. It is called with locks of shards, and must not wait.
type Receiver interface {
	// Record takes a record. They come in the order of their numbers, without gaps, some of them without commands.
	Record(lsn uint64, t Told)
	// Lost is called once, and nothing behind it, when something happened that commands cannot tell.
	Lost(why string)
}

// Told is a record as commands.
type Told struct {
	Commands []byte // valid during the call
	Count    int    // of commands
	First    int    // database that has to be selected before them, -1 if none has to
	Last     int    // database that is selected behind them, unless First is -1
}

// Options say what a feed is to have.
type Options struct {
	Modules bool // values of the types of RedisBloom and RedisJSON, whole after each change. Else such keys are missing
}

// longestTold is how long a value may be that is told as one argument, as with Redis.
const longestTold = 512 << 20

// maxKept is how much memory is kept for commands between records.
const maxKept = 64 << 10

var errUntold = errors.New("no commands for it")

// feeder tells records to a feed.
type feeder struct {
	o  Options
	to Receiver

	// db is the logical database of each physical one, by what was told, and phys the other way round. It changes with all shards
	// locked, and is read with any.
	db   map[uint32]int
	phys []uint32

	mu sync.Mutex // the order of records in the journal is that of calls of to
}

func (f *feeder) learn(phys []uint32) {
	f.phys = slices.Clone(phys)
	f.db = make(map[uint32]int, len(phys))
	for db, p := range phys {
		f.db[p] = db
	}
}

// tellable is a value that knows commands for what its methods have recorded. One that does not is told whole.
type tellable interface {
	// Tell appends commands that do to a value at key, which is as this one was before, what recorded operations have just done to
	// this one. It returns false if there are none for that.
	Tell(c *structures.Commands, key, ops []byte) bool
}

// wholeTellable is a value that has more to tell than its payload in the oldest form.
type wholeTellable interface {
	// TellWhole appends commands that make the value anew. It returns false if it cannot be read.
	TellWhole(c *structures.Commands, key []byte) bool
}

// Telling is what operations of types did, as commands, in the order of a record: a run for each time that such operations
// moved into it.
type Telling struct {
	runs     []toldRun
	commands structures.Commands
	whole    structures.Commands // of the record; here, so that their memory is used again
}

type toldRun struct {
	size    int  // bytes in the record
	bytes   int  // of commands
	count   int  // of commands
	fresh   bool // the record makes the value just before, which is empty: the commands do, too
	emptied bool // nothing is left of the value, which Redis deletes then
	untold  bool
}

// Reset forgets everything.
func (t *Telling) Reset() {
	t.runs = t.runs[:0]
	t.commands.Reset(maxKept)
	t.whole.Reset(maxKept)
}

// Add tells operations that were just done to the value of an object, if there is a feed. The lock of its shard is held.
func (t *Telling) Add(d *Feed, o *keyspace.Object, ops []byte, fresh bool) {
	f := d.now.Load()
	if f == nil {
		return
	}
	bytes, count := len(t.commands.Encoded()), t.commands.Count()
	r := toldRun{size: len(ops), fresh: fresh}
	v, ok := o.Value.(tellable)
	switch {
	case len(ops) == 0 && fresh:
		return // the operation that makes the value says everything
	case ok && v.Tell(&t.commands, o.Key, ops):
		r.emptied = o.Value.Empty()
	default:
		t.commands.Cut(bytes, count)
		r.fresh = false
		r.untold = f.whole(&t.commands, o.Key, o.Value, o.Expire) != nil
	}
	r.bytes, r.count = len(t.commands.Encoded())-bytes, t.commands.Count()-count
	t.runs = append(t.runs, r)
}

// whole tells a value that is at key from now on.
func (f *feeder) whole(c *structures.Commands, key []byte, v structures.Value, expire int64) error {
	if w, ok := v.(wholeTellable); ok {
		if !w.TellWhole(c, key) {
			return keyspace.ErrTorn
		}
		tellExpiry(c, key, expire)
		return nil
	}
	if str, ok := v.(*text.String); ok {
		tellSet(c, key, str.Bytes(), expire)
		return nil
	}
	t := types.Of(v.Kind())
	if t == nil || t.Dump == nil || v.Kind() >= structures.KindBloom && !f.o.Modules {
		c.Of("UNLINK", key) // at a replica that is DEL, which stands for keys that are gone: consumers tell them apart
		return nil
	}
	payload, err := t.Dump(nil, v)
	if err != nil {
		return err
	}
	if len(payload) > longestTold {
		return fmt.Errorf("value of %d bytes: %w", len(payload), errUntold)
	}
	c.Command("RESTORE", 6)
	c.Bytes(key)
	c.Int(expire)
	c.Bytes(payload)
	c.String("REPLACE")
	c.String("ABSTTL")
	return nil
}

func tellSet(c *structures.Commands, key, value []byte, expire int64) {
	if expire == 0 {
		c.Of("SET", key, value)
		return
	}
	c.Command("SET", 5)
	c.Bytes(key)
	c.Bytes(value)
	c.String("PXAT")
	c.Int(expire)
}

func tellExpiry(c *structures.Commands, key []byte, expire int64) {
	if expire != 0 {
		c.Command("PEXPIREAT", 3)
		c.Bytes(key)
		c.Int(expire)
	}
}

// teller makes one record commands.
type teller struct {
	keys *structures.HashKeys
	f    *feeder
	c    structures.Commands

	runs  []toldRun // not told yet
	bytes []byte    // their commands

	first, last int // databases, as in Told
	db          int // that of key
	key         []byte
	gone        bool // the database is that of no number any more
	emptied     bool // the operation before has left nothing of the value
}

// record tells a record.
func (t *teller) record(rec []byte) error {
	var args structures.Args
	for len(rec) > 0 {
		op := rec[0]
		if op >= structures.FirstOp {
			n, err := t.run()
			if err != nil {
				return err
			}
			if n > len(rec) {
				return fmt.Errorf("run of %d bytes: %w", n, format.ErrCorrupt)
			}
			rec = rec[n:]
			continue
		}
		op, rest, err := args.Next(rec)
		if err == nil {
			err = t.operation(op, &args, rest)
		}
		if err != nil {
			return fmt.Errorf("operation %d: %w", op, err)
		}
		rec = rest
	}
	return nil
}

// run tells the operations of a type that follow, and returns how long they are.
func (t *teller) run() (size int, err error) {
	if len(t.runs) == 0 {
		return 0, fmt.Errorf("operations of a type: %w", errUntold)
	}
	r := t.runs[0]
	commands := t.bytes[:r.bytes]
	t.runs, t.bytes = t.runs[1:], t.bytes[r.bytes:]
	if r.untold {
		return 0, fmt.Errorf("value at a key of %d bytes: %w", len(t.key), errUntold)
	}
	if !t.gone && r.count > 0 {
		t.use(t.db)
		t.c.Append(commands, r.count)
	}
	t.emptied = r.emptied
	return r.size, nil
}

// use selects a database.
func (t *teller) use(db int) {
	switch {
	case t.first < 0:
		t.first = db
	case t.last != db:
		t.c.Command("SELECT", 2)
		t.c.Int(int64(db))
	}
	t.last = db
}

// operation tells an operation that belongs to no type. rest follows it.
func (t *teller) operation(op byte, args *structures.Args, rest []byte) error {
	emptied := t.emptied
	t.emptied = false
	switch op {
	case format.OpKey:
		db, known := t.f.db[uint32(args.Uint())]
		t.db, t.gone, t.key = db, !known, args.Bytes()
		return args.Done()
	case format.OpMapping:
		return t.mapping(args)
	case format.OpLibrary:
		return t.library(args)
	case format.OpUser, format.OpConfiguration, format.OpMove, format.OpReplicated, format.OpBless:
		return nil
	}
	if t.gone || op == format.OpDelete && emptied {
		return nil
	}
	created := op == format.OpRestore && len(t.runs) > 0 && t.runs[0].fresh && len(rest) > 0 && rest[0] >= structures.FirstOp
	if created {
		return nil
	}
	t.use(t.db)
	return t.keyed(op, args)
}

// keyed tells an operation on the key at hand.
func (t *teller) keyed(op byte, args *structures.Args) error {
	switch op {
	case format.OpSet:
		value, expire := args.Bytes(), int64(0)
		if args.Left() > 0 {
			expire = args.Int()
		}
		tellSet(&t.c, t.key, value, expire)
	case format.OpPatch:
		off := args.Uint()
		text.TellPatch(&t.c, t.key, off, args.Bytes())
	case format.OpDelete:
		t.c.Of("DEL", t.key)
	case format.OpExpireAt:
		t.c.Command("PEXPIREAT", 3)
		t.c.Bytes(t.key)
		t.c.Int(args.Int())
	case format.OpPersist:
		t.c.Of("PERSIST", t.key)
	case format.OpRestore:
		return t.restore(args)
	default:
		return errUntold
	}
	return args.Done()
}

// restore tells a value that the record has whole.
func (t *teller) restore(args *structures.Args) error {
	kind, expire, head := structures.Kind(args.Uint()), args.Int(), args.Bytes()
	v, err := format.DecodeValue(kind, head, t.keys)
	for err == nil && args.Left() >= 2 {
		id, page := args.Uint(), args.Bytes()
		err = v.SetPage(id, page)
	}
	if err = errors.Join(err, args.Done()); err == nil {
		err = format.Complete(v)
	}
	if err != nil {
		return err
	}
	if v.Empty() {
		t.c.Of("DEL", t.key)
		return nil
	}
	return t.f.whole(&t.c, t.key, v, expire)
}

// mapping tells which databases were flushed and exchanged. All shards are locked.
func (t *teller) mapping(args *structures.Args) error {
	_, phys, err := format.DecodeMapping(args)
	if err != nil || len(phys) != len(t.f.phys) {
		return errors.Join(errUntold, err)
	}
	now := t.f.phys
	for db, p := range phys {
		if now[db] == p {
			continue
		}
		if other := slices.Index(now, p); other >= 0 {
			t.c.Command("SWAPDB", 3)
			t.c.Int(int64(db))
			t.c.Int(int64(other))
			now[db], now[other] = now[other], now[db]
			continue
		}
		t.use(db)
		t.c.Add("FLUSHDB")
		now[db] = p
	}
	t.f.learn(phys)
	return nil
}

// library tells a change of the libraries of functions.
func (t *teller) library(args *structures.Args) error {
	switch args.Left() {
	case 0:
		t.c.Add("FUNCTION", "FLUSH")
	case 1:
		t.c.Add("FUNCTION", "DELETE", string(args.Bytes()))
	default:
		args.Bytes()
		t.c.Add("FUNCTION", "LOAD", "REPLACE", string(args.Bytes()))
	}
	return args.Done()
}
