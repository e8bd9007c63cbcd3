package persistence

import (
	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// What the store keeps beside its keys, as package catalog has it: libraries of functions,
// users, the configuration of a group, and the moves of slots that it is to make, which each
// leader goes on with. The catalog is guarded by the lock of one shard.

// TextKind is a kind of texts.
type TextKind byte

const (
	Libraries  TextKind = format.OpLibrary       // of functions: their sources
	Users      TextKind = format.OpUser          // their rules; there are none before the first is set
	Directives TextKind = format.OpConfiguration // values that a group has in common
	Moves      TextKind = format.OpMove          // of slots, that the group is to make
)

// Texts returns a copy of the texts of a kind by name.
func (s *Store) Texts(kind TextKind) map[string]string {
	sh := &s.keyspace.Shard[keyspace.TextShard]
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	return s.catalog.Of(byte(kind)).Copy()
}

// Texts are the texts of a kind in a transaction, which has the lock of AddTexts.
type Texts struct {
	tx *Tx
	*catalog.Texts
}

// Texts returns the texts of a kind. They are changed by Set, Delete and Clear.
func (tx *Tx) Texts(kind TextKind) Texts { return Texts{tx, tx.s.catalog.Of(byte(kind))} }

// changes prepares for a change. It returns false if there may be none.
func (t Texts) changes() bool {
	if t.tx.placer.Err != nil {
		return false
	}
	t.tx.seal()
	t.tx.rec.hasLast = false
	t.tx.rec.apart, t.tx.changed = true, true
	return true
}

// Set keeps a text in place of the one of that name.
func (t Texts) Set(name, text string) {
	if t.changes() {
		t.Texts.Set(&t.tx.rec.Change, name, text)
	}
}

// Delete removes a text.
func (t Texts) Delete(name string) {
	if t.changes() {
		t.Texts.Remove(&t.tx.rec.Change, name)
	}
}

// Clear removes all texts of the kind.
func (t Texts) Clear() {
	if t.Len() > 0 && t.changes() {
		t.Texts.Clear(&t.tx.rec.Change)
	}
}
