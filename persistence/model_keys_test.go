package persistence

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/structures"
)

// The operations of the model on strings, on keys of any type and on databases.

func (o *trial) flushAll() (changed bool) {
	o.tx.Databases().FlushAll()
	for i := range o.m.dbs {
		changed = changed || len(o.m.dbs[i]) > 0
		o.m.dbs[i] = map[string]modelValue{}
	}
	return changed
}

func (o *trial) flush() bool {
	o.tx.Databases().Flush(o.db)
	n := len(o.m.dbs[o.db])
	o.m.dbs[o.db] = map[string]modelValue{}
	return n > 0
}

func (o *trial) swap() bool {
	dbs, other := o.m.dbs, o.r.IntN(modelDBs)
	o.tx.Databases().Swap(o.db, other)
	dbs[o.db], dbs[other] = dbs[other], dbs[o.db]
	return o.db != other && len(dbs[o.db])+len(dbs[other]) > 0
}

// nameOfText draws one of few names.
func (o *trial) nameOfText() string { return string(rune('a' + o.r.IntN(4))) }

// setText sets one of the texts that op changes.
func setText(kind TextKind) func(*trial) bool {
	return func(o *trial) bool {
		name, text := o.nameOfText(), fmt.Sprint(o.r.IntN(1000))
		o.tx.Texts(kind).Set(name, text)
		o.m.texts[byte(kind)][name] = text
		return true
	}
}

func deleteText(kind TextKind) func(*trial) bool {
	return func(o *trial) bool {
		name := o.nameOfText()
		o.tx.Texts(kind).Delete(name)
		_, ok := o.m.texts[byte(kind)][name]
		delete(o.m.texts[byte(kind)], name)
		return ok
	}
}

func (o *trial) deleteLibraries() bool {
	n := len(o.m.texts[format.OpLibrary])
	o.tx.Texts(Libraries).Clear()
	clear(o.m.texts[format.OpLibrary])
	return n > 0
}

func (o *trial) set() bool {
	b := randomBytes(o.r)
	v, e := modelValue{kind: structures.KindString, s: string(b)}, NoExpiry
	switch o.r.IntN(3) {
	case 0:
		v.expire = o.soon()
		e = Expiry(v.expire)
	case 1:
		e, v.expire = KeepExpiry, o.old.expire
	}
	o.tx.SetString([]byte(o.key), b, e)
	o.put(v)
	return true
}

// soon is a time to expire at.
func (o *trial) soon() int64 { return o.m.now + 1 + int64(o.r.IntN(50)) }

func (o *trial) patch() bool {
	off, b := o.r.IntN(1000), randomBytes(o.r)
	err := o.tx.PatchString([]byte(o.key), off, b)
	if o.wrongType("PatchString", err, structures.KindString) {
		return false
	}
	o.old.kind, o.old.s = structures.KindString, string(slots.Patched([]byte(o.old.s), off, b))
	o.put(o.old)
	return true
}

// wrongType checks the error of an operation on values of a kind, and reports
// whether it was refused.
func (o *trial) wrongType(name string, err error, kind kindOf) bool {
	o.Helper()
	want := o.exists && o.old.kind != kind
	if (err != nil) != want {
		o.Fatalf("%s %.20s: error %v, want one: %v", name, o.key, err, want)
	}
	return want
}

func (o *trial) delete() bool {
	if got := o.tx.Delete([]byte(o.key)); got != o.exists {
		o.Fatalf("Delete %.20s: got %v, want %v", o.key, got, o.exists)
	}
	delete(o.m.dbs[o.db], o.key)
	return o.exists
}

func (o *trial) setExpiry() bool {
	ms := o.soon()
	if got := o.tx.SetExpire([]byte(o.key), ms); got != o.exists {
		o.Fatalf("SetExpire %.20s: got %v, want %v", o.key, got, o.exists)
	}
	if o.old.expire = ms; o.exists {
		o.put(o.old)
	}
	return o.exists
}

func (o *trial) persist() bool {
	want := o.old.expire != 0
	if got := o.tx.Persist([]byte(o.key)); got != want {
		o.Fatalf("Persist %.20s: got %v, want %v", o.key, got, want)
	}
	if o.old.expire = 0; want {
		o.put(o.old)
	}
	return want
}

func (o *trial) rename() bool {
	to := modelKey(o.r.IntN(modelKeys))
	o.tx.Transfers().Rename([]byte(o.key), []byte(to))
	if !o.exists || to == o.key {
		return false
	}
	delete(o.m.dbs[o.db], o.key)
	o.m.dbs[o.db][to] = o.old
	return true
}

func (o *trial) copy() bool {
	to, toDB := modelKey(o.r.IntN(modelKeys)), o.r.IntN(modelDBs)
	if to == o.key && toDB == o.db {
		return false
	}
	_, taken := o.m.dbs[toDB][to]
	replace := o.r.IntN(2) == 0
	want := o.exists && (!taken || replace)
	if got, err := o.tx.Transfers().Copy([]byte(o.key), toDB, []byte(to), replace); got != want || err != nil {
		o.Fatalf("Copy %.20s: got %v, %v, want %v", o.key, got, err, want)
	}
	if want {
		o.m.dbs[toDB][to] = o.old
	}
	return want
}

func (o *trial) move() bool {
	toDB := o.r.IntN(modelDBs)
	_, taken := o.m.dbs[toDB][o.key]
	want := o.exists && !taken
	if got := o.tx.Transfers().Move([]byte(o.key), toDB); got != want {
		o.Fatalf("Move %.20s: got %v, want %v", o.key, got, want)
	}
	if want {
		o.m.dbs[toDB][o.key] = o.old
		delete(o.m.dbs[o.db], o.key)
	}
	return want
}
