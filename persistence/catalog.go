package persistence

import (
	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// What the store keeps beside its keys, as package catalog has it: libraries of functions,
// users, the configuration of a group, and the moves of slots that it is to make, which each
// leader goes on with. The catalog is guarded by the lock of one shard.

// loadTexts reads the catalog as the last cut of the journal left it.
func (s *Store) loadTexts() (err error) {
	s.catalog, err = catalog.Load(s.db, map[byte]catalog.Listener{
		format.OpUser: s.opts.OnUsers, format.OpConfiguration: s.opts.OnConfiguration, format.OpMove: s.opts.OnMoves})
	return err
}

// textsByName returns a copy of the texts that an operation is about.
func (s *Store) textsByName(op byte) map[string]string {
	sh := &s.keyspace.Shard[keyspace.TextShard]
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	return s.catalog.Of(op).Copy()
}

// takeTexts returns which texts are to be written.
func (s *Store) takeTexts() catalog.Changes {
	sh := &s.keyspace.Shard[keyspace.TextShard]
	if !s.keyspace.LockSound(sh) {
		return nil // the journal is not cut
	}
	defer sh.Mu.Unlock()
	return s.catalog.Take()
}

// keepTexts is called when what takeTexts returned could not be written.
func (s *Store) keepTexts(changed catalog.Changes) {
	sh := &s.keyspace.Shard[keyspace.TextShard]
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	changed.Keep()
}

// texts returns the texts that an operation is about.
func (tx *Tx) texts(op byte) *catalog.Texts { return tx.s.catalog.Of(op) }

// changeTexts is texts for a change, nil if there may be none.
func (tx *Tx) changeTexts(op byte) *catalog.Texts {
	if tx.err != nil {
		return nil
	}
	tx.seal()
	tx.hasLast = false
	tx.apart, tx.changed = true, true
	return tx.texts(op)
}

func (tx *Tx) setText(op byte, name, text string) {
	if l := tx.changeTexts(op); l != nil {
		l.Set(&tx.rec, name, text)
	}
}

func (tx *Tx) deleteText(op byte, name string) {
	if l := tx.changeTexts(op); l != nil {
		l.Remove(&tx.rec, name)
	}
}

// Libraries returns the sources of all libraries by name.
func (s *Store) Libraries() map[string]string { return s.textsByName(format.OpLibrary) }

// SetLibrary keeps the source of a library in place of the one of that name. The lock
// of AddTexts is held.
func (tx *Tx) SetLibrary(name, source string) { tx.setText(format.OpLibrary, name, source) }

// DeleteLibrary removes a library. The lock of AddTexts is held.
func (tx *Tx) DeleteLibrary(name string) { tx.deleteText(format.OpLibrary, name) }

// DeleteLibraries removes all libraries. The lock of AddTexts is held.
func (tx *Tx) DeleteLibraries() {
	if tx.texts(format.OpLibrary).Len() == 0 {
		return
	}
	if l := tx.changeTexts(format.OpLibrary); l != nil {
		l.Clear(&tx.rec)
	}
}

// Users returns the rules of all users by name. There are none before the first is set.
func (s *Store) Users() map[string]string { return s.textsByName(format.OpUser) }

// HasUsers reports whether there are users. The lock of AddTexts is held.
func (tx *Tx) HasUsers() bool { return tx.texts(format.OpUser).Len() > 0 }

// UserBytes returns the length of the names and rules of all users. The lock of AddTexts is
// held.
func (tx *Tx) UserBytes() int { return tx.texts(format.OpUser).Bytes() }

// UserSize returns the length of a user's name and rules, 0 if there is no such user. The lock
// of AddTexts is held.
func (tx *Tx) UserSize(name string) int {
	rules, ok := tx.texts(format.OpUser).Get(name)
	if !ok {
		return 0
	}
	return len(name) + len(rules)
}

// SetUser keeps the rules of a user in place of those that it had. The lock of AddTexts is held.
func (tx *Tx) SetUser(name, rules string) { tx.setText(format.OpUser, name, rules) }

// DeleteUser removes a user. The lock of AddTexts is held.
func (tx *Tx) DeleteUser(name string) { tx.deleteText(format.OpUser, name) }

// Configuration returns the values of all directives that the group has.
func (s *Store) Configuration() map[string]string { return s.textsByName(format.OpConfiguration) }

// Directive returns the value of a directive of the group; false if each member has its own. The
// lock of AddTexts is held.
func (tx *Tx) Directive(name string) (value string, ok bool) {
	return tx.texts(format.OpConfiguration).Get(name)
}

// SetDirective gives a directive a value for the group. The lock of AddTexts is held.
func (tx *Tx) SetDirective(name, value string) { tx.setText(format.OpConfiguration, name, value) }

// DeleteDirective gives each member its own value again. The lock of AddTexts is held.
func (tx *Tx) DeleteDirective(name string) { tx.deleteText(format.OpConfiguration, name) }

// Moves returns all moves that are to be made.
func (s *Store) Moves() map[string]string { return s.textsByName(format.OpMove) }

// Moves calls f with the name of each move that is to be made, in no order. The lock of AddTexts is held, and f changes
// nothing.
func (tx *Tx) Moves(f func(name string)) {
	for name := range tx.texts(format.OpMove).Names() {
		f(name)
	}
}

// SetMove records a move that the group is to make. The lock of AddTexts is held.
func (tx *Tx) SetMove(name, text string) { tx.setText(format.OpMove, name, text) }

// DeleteMove says that a move is over. The lock of AddTexts is held.
func (tx *Tx) DeleteMove(name string) { tx.deleteText(format.OpMove, name) }
