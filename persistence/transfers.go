package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// Transfers give keys whole values: those of other keys, or encoded ones.
type Transfers struct{ tx *Tx }

// Transfers returns what gives keys whole values.
func (tx *Tx) Transfers() Transfers { return Transfers{tx} }

// Rename moves the value and the expiry of from to the key to, replacing any
// existing value. It does nothing if from is absent or both are the same. The
// shards of both keys are locked.
func (tr Transfers) Rename(from, to []byte) {
	tx := tr.tx
	t, _, ok := tx.find(tx.hash(from), from)
	if !ok || string(from) == string(to) {
		return
	}
	if tx.locate(tx.hash(to), to); tx.placer.Err != nil {
		return // before from is gone
	}
	tr.carry(t, tx.hash(from), from, tx.db, to)
}

// Move moves key to database toDB. It reports false if key is absent or exists
// there.
func (tr Transfers) Move(key []byte, toDB int) bool {
	tx := tr.tx
	hash := tx.hash(key)
	from := tx.db
	t, _, ok := tx.find(hash, key)
	if !ok {
		return false
	}
	tx.db = toDB
	_, _, exists := tx.find(hash, key)
	tx.db = from
	if exists || tx.placer.Err != nil {
		return false
	}
	return tr.carry(t, hash, key, toDB, key)
}

// carry moves what from has to a key of a database. It returns false if it cannot be read.
func (tr Transfers) carry(t *keyspace.Table, hash uint64, from []byte, toDB int, to []byte) bool {
	tx := tr.tx
	i := t.Find(hash, from) // looking for to may have moved it
	if !tx.placer.LoadAll(t.Object(t.Meta(i))) {
		return false
	}
	v, s, expire := tr.lift(t, i)
	blessed := t.Blessed(from)
	tx.delete(t, i, from)
	defer tx.in(toDB)()
	if v == nil {
		tx.SetString(to, s, Expiry(expire))
	} else {
		tx.put(to, &Prepared{value: v}, Expiry(expire))
	}
	tx.follow(toDB, to, blessed)
	return true
}

// MovePrepared gives to in database toDB the value of from, which p is a copy of, and its expiry, in the place of any that it
// has. It reports false if from is absent. The shards of both keys are locked.
func (tr Transfers) MovePrepared(from []byte, toDB int, to []byte, p *Prepared) bool {
	tx := tr.tx
	expire, ok := tx.ExpireAt(from)
	back := tx.in(toDB)
	tx.locate(tx.hash(to), to)
	if back(); !ok || tx.placer.Err != nil {
		return false // before from is gone
	}
	blessed, _ := tx.Blessed(from)
	tx.Delete(from)
	defer tx.in(toDB)()
	tx.put(to, p, Expiry(expire))
	tx.follow(toDB, to, blessed)
	return true
}

// lift takes the value out of slot i: a copy of a short string, or the object's
// value itself, which the caller deletes from its old place.
func (tr Transfers) lift(t *keyspace.Table, i int) (v structures.Value, s []byte, expire int64) {
	meta := t.Meta(i)
	expire = t.Expire(meta)
	if o := t.Object(meta); o != nil {
		if o.Edit != nil {
			tr.tx.settle(o.Edit)
		}
		o.Lifted = true
		return o.Value, nil, expire
	}
	_, b, _ := t.Parts(meta)
	if t.IsCompact(meta) {
		return tr.tx.s.keyspace.LoadCompact(b).Value, nil, expire
	}
	return nil, append([]byte{}, b...), expire
}

// Copy stores a copy of the value and the expiry of from under to in database
// toDB. It reports false if from is absent, or to exists and replace is false. The errors are those of Replace.
func (tr Transfers) Copy(from []byte, toDB int, to []byte, replace bool) (bool, error) {
	tx := tr.tx
	if s, ok := tr.longString(from); ok { // the copy shares its bytes
		return tr.CopyPrepared(from, toDB, to, replace, &Prepared{value: s.Share()})
	}
	kind, payload, expire, ok := tr.dump(nil, from)
	if !ok || tx.placer.Err != nil {
		return false, tx.placer.Err
	}
	defer tx.in(toDB)()
	if _, _, exists := tx.find(tx.hash(to), to); exists && !replace || tx.placer.Err != nil {
		return false, tx.placer.Err
	}
	if kind == structures.KindString {
		tx.SetString(to, payload, Expiry(expire))
		return true, nil
	}
	v, err := decodeDump(&tx.s.heads, kind, payload)
	if err != nil {
		panic(fmt.Sprintf("persistence: a value does not decode what it encoded: %v", err))
	}
	err = Replace(tx, to, v, Expiry(expire))
	return err == nil, err
}

// CopyPrepared is Copy for a copy of the value of from that was prepared; nil: it was not.
func (tr Transfers) CopyPrepared(from []byte, toDB int, to []byte, replace bool, p *Prepared) (bool, error) {
	tx := tr.tx
	if p == nil {
		return tr.Copy(from, toDB, to, replace)
	}
	expire, ok := tx.ExpireAt(from)
	if !ok || tx.placer.Err != nil {
		return false, tx.placer.Err
	}
	defer tx.in(toDB)()
	if _, _, exists := tx.find(tx.hash(to), to); exists && !replace || tx.placer.Err != nil {
		return false, tx.placer.Err
	}
	err := ReplacePrepared(tx, to, p, Expiry(expire))
	return err == nil, err
}

// longString is the string at key if it is a big one.
func (tr Transfers) longString(key []byte) (s *text.String, ok bool) {
	t, i, ok := tr.tx.find(tr.tx.hash(key), key)
	if !ok {
		return nil, false
	}
	o := t.Object(t.Meta(i))
	if o == nil {
		return nil, false
	}
	s, ok = o.Value.(*text.String)
	return s, ok && s.Len() >= bigValue
}

// Dump appends the encoding of what key holds to dst. ok: the key exists.
//
//	string: its bytes
//	others: length of head (uvarint) | head | for each page: id (uvarint) | length (uvarint) | page
func (tr Transfers) Dump(dst, key []byte) (kind structures.Kind, payload []byte, ok bool) {
	kind, payload, _, ok = tr.dump(dst, key)
	return kind, payload, ok
}

func (tr Transfers) dump(dst, key []byte) (kind structures.Kind, payload []byte, expire int64, ok bool) {
	tx := tr.tx
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return structures.KindNone, dst, 0, false
	}
	meta := t.Meta(i)
	o := t.Object(meta)
	if o == nil {
		_, b, expire := t.Parts(meta)
		if !t.IsCompact(meta) {
			return structures.KindString, append(dst, b...), expire, true
		}
		o = tx.s.keyspace.LoadCompact(b)
		defer tx.s.keyspace.KeepCompact(o)
		o.Expire = expire
	}
	if o.Pager != nil {
		tx.placer.Use(o)
	}
	if s, ok := o.Value.(*text.String); ok {
		return structures.KindString, append(dst, s.Bytes()...), o.Expire, true
	}
	head := o.Value.AppendHead(nil)
	dst = append(binary.AppendUvarint(dst, uint64(len(head))), head...)
	o.Value.Pages(true, func(id uint64, page []byte) {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, id), uint64(len(page)))
		dst = append(dst, page...)
	})
	return o.Value.Kind(), dst, o.Expire, true
}

// Restore stores a value that Dump encoded under key, replacing any existing
// value. The error means that payload is not an encoding of that kind, or is one of Replace; nothing
// changes then.
func (tr Transfers) Restore(key []byte, kind structures.Kind, e Expiry, payload []byte) error {
	if kind == structures.KindString {
		tr.tx.SetString(key, payload, e)
		return nil
	}
	v, err := decodeDump(&tr.tx.s.heads, kind, payload)
	if err != nil {
		return err
	}
	return Replace(tr.tx, key, v, e)
}

func decodeDump(h *heads.Heads, kind structures.Kind, payload []byte) (structures.Value, error) {
	head, rest, err := cutBytes(payload)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	v, err := h.Decode(kind, head)
	if err != nil {
		return nil, err
	}
	if err := eachPage(rest, v.SetPage); err != nil {
		return nil, err
	}
	return v, format.Complete(v)
}

// cutBytes splits a length (uvarint) and as many bytes off b.
func cutBytes(b []byte) (head, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, structures.ErrCorrupt
	}
	end := n + int(size)
	return b[n:end:end], b[end:], nil
}
