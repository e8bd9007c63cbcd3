package rdbfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

// Target is who is to read a file.
type Target struct {
	Name   string
	magic  string
	form   uint16 // of values
	fields bool   // expiries of fields
}

// targets are those that a Writer can write for.
var targets = []Target{
	{"redis7.0", "REDIS0010", 10, false},
	{"redis7.4", "REDIS0012", 12, true},
	{"valkey8", "REDIS0011", 10, false},
	{"valkey9", "VALKEY080", 80, true},
}

// TargetNamed returns the target of a name, and false for another name.
func TargetNamed(name string) (Target, bool) {
	for _, t := range targets {
		if t.Name == name {
			return t, true
		}
	}
	return Target{}, false
}

// TargetNames are the names of all targets.
func TargetNames() (names []string) {
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return names
}

// FieldsExpire reports whether fields of hashes can expire at the target.
func (t *Target) FieldsExpire() bool { return t.fields }

// Writer writes a file. Its first error is that of Close.
type Writer struct {
	s       *rdb.Sink
	target  Target
	modules bool
}

// NewWriter begins a file for a target. Fields that expire up to now, in unix ms, are left out; 0 keeps all of
// them, and says of no time. With modules the target has
// RedisBloom and RedisJSON.
func NewWriter(w io.Writer, t Target, now int64, modules bool) *Writer {
	f := &Writer{s: rdb.NewSink(w, t.form, now), target: t, modules: modules}
	f.s.Raw([]byte(t.magic)...)
	f.Aux("redis-ver", "7.4.0")
	f.Aux("redis-bits", "64")
	if now != 0 {
		f.Aux("ctime", fmt.Sprint(now/1000))
	}
	f.Aux("aof-base", "0")
	return f
}

// Aux writes what a name says of the file.
func (f *Writer) Aux(name, text string) {
	f.s.Raw(opAux)
	f.s.String([]byte(name))
	f.s.String([]byte(text))
}

// Shrink has strings from now on written in LZF where that makes them shorter.
func (f *Writer) Shrink() { f.s.Shrink() }

// Library writes the source of a library of functions.
func (f *Writer) Library(source string) {
	f.s.Raw(opFunction)
	f.s.String([]byte(source))
}

// Database says in which database the keys are that follow, and how many they may be.
func (f *Writer) Database(db int, keys, expiries int64) {
	f.s.Raw(opDatabase)
	f.s.Length(uint64(db))
	f.s.Raw(opResize)
	f.s.Length(uint64(keys))
	f.s.Length(uint64(expiries))
}

// Outcome is what became of a key.
type Outcome int

const (
	Written  Outcome = iota
	Stripped         // written without the expiries of its fields, which the target does not have
	NoType           // left out, as the target has no such type
	Expired          // left out, as all fields are
)

// Key writes a key: a string, which is text, if v is nil. expire is unix ms, 0 for none.
func (f *Writer) Key(key []byte, v structures.Value, text []byte, expire int64) (Outcome, error) {
	switch {
	case v == nil:
	case v.Kind() >= structures.KindSchedule, v.Kind() >= structures.KindBloom && !f.modules:
		return NoType, nil
	case f.s.IsEmpty(v):
		return Expired, nil
	}
	if expire != 0 {
		f.s.Raw(opExpiryMs)
		f.s.Uint64(uint64(expire))
	}
	outcome := Written
	if v == nil {
		f.s.StringKey(key, text)
	} else {
		if f.s.LosesExpiries(v) {
			outcome = Stripped
		}
		if !f.s.Key(key, v) {
			return NoType, fmt.Errorf("no form for a value of kind %d", v.Kind())
		}
	}
	return outcome, f.s.Err()
}

// Size is about how many bytes were written.
func (f *Writer) Size() int64 { return f.s.Size() }

// Close ends the file.
func (f *Writer) Close() error {
	f.s.Raw(opEnd)
	f.s.Raw(binary.LittleEndian.AppendUint64(nil, f.s.Checksum())...)
	return f.s.Flush()
}
