package rdbfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

// Options bound what a Reader takes.
type Options struct {
	rdb.Options
	MaxKey    int  // bytes of the longest key
	Databases int  // a key of a database from this number on is an error
	Importing bool // take files that say of slots that only a part of their keys is there
}

// Kind is what a record is.
type Kind byte

const (
	KeyRecord     Kind = iota + 1 // a key, whose value follows
	LibraryRecord                 // Text is the source of a library of functions
	ScriptRecord                  // Text is the source of a script that SCRIPT LOAD gets
)

// Record is one of a file. Its slices are valid until the next one.
type Record struct {
	Kind   Kind
	DB     int
	Key    []byte
	Type   byte  // of the value
	Expire int64 // unix ms, 0: none
	Idle   int64 // seconds, -1: not said
	Freq   int   // -1: not said
	Text   []byte
}

// Passed is how many of what was passed over.
type Passed struct {
	ModuleAux map[string]int64 // by the name of the module
	Meta      int64            // keys with metadata
	Slots     int64            // slots with only a part of their keys
	Fields    int64            // of hashes, that were expired
}

// Reader reads a file. After an error of Next, Value or Skip, which is an *Error, all
// others return it too.
type Reader struct {
	Version int
	Valkey  bool
	Aux     map[string]string // what the file said of itself so far, of the names that matter
	Passed  Passed

	s       *rdb.Source
	o       Options
	started bool
	ended   bool
	unread  bool // the value of rec
	rec     Record
	keyRoom []byte
	room    []byte
}

// NewReader returns a reader of what r brings, size bytes, -1 if that is not known.
func NewReader(r io.Reader, size int64, o Options) *Reader {
	return &Reader{s: rdb.NewSource(r, size, o.Options), o: o, Aux: map[string]string{}}
}

// Offset is how many bytes were read.
func (r *Reader) Offset() int64 { return r.s.Offset() }

// Rest returns a reader of what follows the file, once Next has returned io.EOF.
func (r *Reader) Rest() io.Reader { return r.s.Rest() }

// Next reads up to the next key, library or script, passing over a value that was not read.
// It is io.EOF when the file is over and its checksum is right.
func (r *Reader) Next() (*Record, error) {
	if r.unread {
		if err := r.Skip(); err != nil {
			return nil, err
		}
	}
	if !r.started {
		r.header()
	}
	if r.ended && r.s.Err() == nil {
		return nil, io.EOF
	}
	r.rec = Record{DB: r.rec.DB, Idle: -1, Freq: -1}
	for r.s.Err() == nil {
		op := r.s.Byte()
		if r.s.Err() != nil {
			break
		}
		if op < opTemplate && op != opRAM && op != opFlash {
			r.key(op)
			break
		}
		r.opcode(op)
		if r.ended && r.s.Err() == nil {
			return nil, io.EOF
		}
		if r.rec.Kind != 0 {
			break
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return &r.rec, nil
}

// header reads what a file begins with.
func (r *Reader) header() {
	r.started = true
	const longest = len("REDIS0011")
	b := r.s.Fixed(longest)
	name, digits := "REDIS", 4
	if bytes.HasPrefix(b, []byte("VALKEY")) {
		name, digits, r.Valkey = "VALKEY", 3, true
	}
	version, err := strconv.ParseUint(string(b[min(len(b), longest-digits):]), 10, 16)
	if r.s.Err() == nil && (!bytes.HasPrefix(b, []byte(name)) || err != nil || version == 0) {
		r.s.Fail(fmt.Errorf("%.9q begins no RDB file: %w", b, structures.ErrCorrupt))
	}
	r.Version = int(version)
	// Types that Redis and Valkey number alike are told apart by who wrote the file.
	form := min(uint16(version), 79)
	if r.Valkey {
		form = max(uint16(version), 80)
	}
	r.s.SetVersion(form)
}

// opcode reads a record that is no key.
func (r *Reader) opcode(op byte) {
	switch s := r.s; op {
	case opRAM, opFlash:
		s.Length()
	case opTemplate:
		s.Template()
	case opMeta:
		r.meta()
	case opSlotInfo:
		s.Length()
		s.Length()
		s.Length()
	case opFunction:
		r.text(LibraryRecord)
	case opFunctionOld:
		s.Fail(fmt.Errorf("functions in the form of a release candidate of Redis 7.0: %w", structures.ErrCorrupt))
	case opModuleAux:
		r.moduleAux()
	case opIdle:
		r.rec.Idle = int64(s.Length())
	case opFreq:
		r.rec.Freq = int(s.Byte())
	case opAux:
		r.aux()
	case opResize:
		s.Length()
		s.Length()
	case opExpiryMs:
		r.expires(int64(s.Uint(8)))
	case opExpiry:
		r.expires(int64(int32(s.Uint(4))) * 1000)
	case opDatabase:
		if db := s.Length(); db >= uint64(r.o.Databases) && s.Err() == nil {
			s.Fail(fmt.Errorf("database %d, of %d: the directive databases allows more", db, r.o.Databases))
		} else {
			r.rec.DB = int(db)
		}
	case opEnd:
		r.end()
	}
}

// expires notes an expiry, which in the far past is one all the same.
func (r *Reader) expires(at int64) { r.rec.Expire = max(at, 1) }

func (r *Reader) text(kind Kind) {
	if b := r.s.String(&r.room); r.s.Err() == nil {
		r.rec.Kind, r.rec.Text = kind, b
	}
}

func (r *Reader) moduleAux() {
	name := r.s.SkipModule()
	if r.Passed.ModuleAux == nil {
		r.Passed.ModuleAux = map[string]int64{}
	}
	r.Passed.ModuleAux[name]++
}

// meta reads what Redis and Valkey have under one number.
func (r *Reader) meta() {
	if !r.Valkey {
		if r.s.SkipMeta() > 0 {
			r.Passed.Meta++
		}
		return
	}
	name := r.s.String(&r.room)
	if r.s.Err() == nil && !r.o.Importing {
		r.s.Fail(fmt.Errorf("slots were being moved to this server (%.40q), and only a part of their keys is in the file", name))
	}
	for n := r.s.Length(); n > 0 && r.s.Err() == nil; n-- {
		from, to := r.s.Length(), r.s.Length()
		if from > to || to >= 1<<14 {
			r.s.Fail(fmt.Errorf("slots %d to %d: %w", from, to, structures.ErrCorrupt))
		}
		r.Passed.Slots += int64(to-from) + 1
	}
}

// maxAux bounds texts that are kept.
const maxAux = 1 << 10

// aux reads what a file says of itself. Names that are not known are passed over, as agreed.
func (r *Reader) aux() {
	name := string(r.s.String(&r.keyRoom))
	text := r.s.String(&r.room)
	if r.s.Err() != nil {
		return
	}
	switch name {
	case "lua":
		r.rec.Kind, r.rec.Text = ScriptRecord, text
	case "redis-ver", "valkey-ver", "ctime", "used-mem", "repl-id", "repl-offset", "repl-stream-db", "aof-base", "aof-preamble":
		r.Aux[name] = string(text[:min(len(text), maxAux)])
	}
}

// end reads what follows the last record.
func (r *Reader) end() {
	r.ended = true
	if r.Version < 5 {
		return
	}
	want := r.s.Checksum()
	if sum := r.s.Uint(8); r.s.Err() == nil && sum != 0 && sum != want {
		r.s.Fail(fmt.Errorf("checksum %016x, and of what was read %016x: %w", sum, want, structures.ErrCorrupt))
	}
}

// key reads the key of a value of a type.
func (r *Reader) key(t byte) {
	r.rec.Type = t
	key := r.s.String(&r.keyRoom)
	if r.s.Err() != nil {
		return
	}
	r.rec.Kind, r.rec.Key, r.unread = KeyRecord, key, true
	if len(key) > r.o.MaxKey {
		r.s.Fail(fmt.Errorf("a key of %d bytes, more than %d", len(key), r.o.MaxKey))
	}
}

// Value reads the value of the key that Next returned. See [rdb.Source.Value].
func (r *Reader) Value(grown func(structures.Value) error) (rdb.Decoded, error) {
	r.unread = false
	v := r.s.Value(r.rec.Type, grown)
	r.Passed.Fields += int64(v.Expired)
	return v, r.err()
}

// Skip passes over the value of the key that Next returned.
func (r *Reader) Skip() error {
	r.unread = false
	r.s.Skip(r.rec.Type)
	return r.err()
}

// Fail makes err, which a caller has with the record at hand, an error at this place.
func (r *Reader) Fail(err error) error {
	r.s.Fail(err)
	return r.err()
}

// err is the first error, with its place.
func (r *Reader) err() error {
	err := r.s.Err()
	if err == nil {
		return nil
	}
	e := &Error{Offset: r.s.Offset(), DB: r.rec.DB, Err: err}
	if len(r.rec.Key) > 0 {
		e.Key = string(r.rec.Key[:min(len(r.rec.Key), 100)])
	}
	if unknown := new(rdb.UnknownError); errors.As(err, &unknown) {
		e.Err = fmt.Errorf("%s, in a file of version %d, is not known: %w", unknown.Type, r.Version, structures.ErrCorrupt)
	}
	return e
}
