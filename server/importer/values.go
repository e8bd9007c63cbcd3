package importer

import (
	"errors"
	"fmt"
	"io"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdbfile"
)

// values is the reading of one RDB file.
type values struct {
	i       *Import
	r       *rdbfile.Reader
	keys    Keys // nil before the first key
	shop    bool // commands follow, which count on keys that are expired
	several bool
	done    int64 // bytes of files before
	libs    []string
	counted Summary // since the last call of tell
	since   int     // keys since then
	grown   int     // how often values have grown
}

// tellEvery is after how many keys the summary says so.
const tellEvery = 1024

// rdb reads an RDB file, and reports whether commands follow, in this file or in others.
func (i *Import) rdb(r *rdbfile.Reader, several bool, done int64) (more bool, err error) {
	v := &values{i: i, r: r, several: several, done: done}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = v.record(rec)
		}
		if err != nil {
			return false, err
		}
	}
	v.tell()
	i.note(func(s *Summary) {
		s.take(&r.Passed)
		s.Source = v.source()
	})
	if !v.shop && !v.commandsFollow() {
		i.libs = append(i.libs, v.libs...)
		return false, nil
	}
	shop, err := i.workshop()
	if err == nil {
		_, err = v.into()
	}
	if err == nil {
		err = shop.Begin(v.libs)
	}
	return true, err
}

// source says who wrote the file.
func (v *values) source() string {
	name := "RDB version"
	if v.r.Valkey {
		name = "Valkey's RDB version"
	}
	text := fmt.Sprintf("%s %d", name, v.r.Version)
	if by := v.r.Aux["valkey-ver"]; by != "" {
		return text + ", Valkey " + by
	}
	if by := v.r.Aux["redis-ver"]; by != "" {
		return text + ", Redis " + by
	}
	return text
}

// commandsFollow reports that the file says it is the beginning of an append-only file.
func (v *values) commandsFollow() bool {
	return !v.i.o.Replica && (v.several || v.r.Aux["aof-base"] == "1" || v.r.Aux["aof-preamble"] == "1")
}

// into returns where keys go, which is decided with the first one.
func (v *values) into() (Keys, error) {
	if v.keys != nil {
		return v.keys, nil
	}
	v.keys = v.i.keys
	if v.commandsFollow() {
		shop, err := v.i.workshop()
		if err != nil {
			return nil, err
		}
		v.shop = true
		if v.keys, err = shop.Keys(); err != nil {
			return nil, err
		}
	}
	return v.keys, nil
}

// record takes one record of the file.
func (v *values) record(rec *rdbfile.Record) error {
	switch rec.Kind {
	case rdbfile.LibraryRecord:
		v.libs = append(v.libs, string(rec.Text))
		return nil
	case rdbfile.ScriptRecord:
		v.counted.Skip("scripts of a cache, which clients load again", 1)
		return nil
	}
	if v.since++; v.since >= tellEvery {
		v.tell()
		if err := v.i.ctx.Err(); err != nil {
			return err
		}
	}
	keys, err := v.into()
	if err != nil {
		return err
	}
	o := &v.i.o
	if !v.shop {
		if !o.Wants(rec.DB) {
			v.counted.Skip("keys of databases that are not wanted", 1)
			return v.r.Skip()
		}
		if rec.Expire != 0 && rec.Expire <= o.Now && !o.Replica {
			v.counted.Expired++
			return v.r.Skip()
		}
	}
	return v.key(keys, rec)
}

// key reads a key and its value.
func (v *values) key(keys Keys, rec *rdbfile.Record) error {
	keys.Begin(rec.DB, rec.Key)
	d, err := v.r.Value(func(value structures.Value) error {
		if v.grown++; v.grown%tellEvery == 0 { // a large value takes as long as many keys
			v.tell()
			if err := v.i.ctx.Err(); err != nil {
				return err
			}
		}
		return keys.Grown(value)
	})
	if failed := keys.Err(); failed != nil {
		return v.r.Fail(failed) // what the value then says may be wrong
	}
	if err != nil {
		return err
	}
	switch {
	case d.Foreign != "":
		v.counted.Skip("keys of type "+d.Foreign, 1)
		return nil
	case d.Value != nil && d.Value.Empty():
		v.counted.Empty++
		return nil
	case d.Value == nil && d.Kind != structures.KindString:
		if d.Value, err = keys.Own(d.Kind, d.Bytes); err != nil {
			return v.r.Fail(err)
		}
	}
	if err := keys.Put(d.Value, d.Bytes, rec.Expire); err != nil {
		return v.r.Fail(err)
	}
	if !v.shop {
		v.counted.Count(rec.DB, d.Kind)
	}
	return nil
}

// tell adds what was counted to the summary.
func (v *values) tell() {
	v.i.note(func(s *Summary) {
		s.Bytes = v.done + v.r.Offset()
		s.Expired += v.counted.Expired
		s.Empty += v.counted.Empty
		for c, n := range v.counted.Keys {
			if s.Keys == nil {
				s.Keys = map[Class]int64{}
			}
			s.Keys[c] += n
		}
		s.All += v.counted.All
		for reason, n := range v.counted.Skipped {
			s.Skip(reason, n)
		}
	})
	keys := v.counted.Keys
	clear(keys)
	v.counted, v.since = Summary{Keys: keys}, 0
}
