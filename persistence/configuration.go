package persistence

// The configuration of a group is texts that its store keeps: the values of the directives
// that were set for all members, by name, in words that the store does not read.

// Configuration returns the values of all directives that the group has.
func (s *Store) Configuration() map[string]string { return s.textsByName(&s.configuration) }

// Directive returns the value of a directive of the group; false if each member has its own. The
// lock of AddTexts is held.
func (tx *Tx) Directive(name string) (value string, ok bool) {
	value, ok = tx.s.configuration.byName[name]
	return value, ok
}

// SetDirective gives a directive a value for the group. The lock of AddTexts is held.
func (tx *Tx) SetDirective(name, value string) { tx.setText(&tx.s.configuration, name, value) }

// DeleteDirective has each member have its own value again. The lock of AddTexts is held.
func (tx *Tx) DeleteDirective(name string) { tx.deleteText(&tx.s.configuration, name) }
