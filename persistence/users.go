package persistence

// Users are texts that the store keeps: what they may do by name, in words that the store
// does not read. There are none before the first is set.

// Users returns the rules of all users by name.
func (s *Store) Users() map[string]string { return s.textsByName(&s.users) }

// HasUsers reports whether there are users. The lock of AddTexts is held.
func (tx *Tx) HasUsers() bool { return len(tx.s.users.byName) > 0 }

// UserBytes returns the length of the names and rules of all users. The lock of AddTexts is
// held.
func (tx *Tx) UserBytes() int { return tx.s.users.bytes }

// UserSize returns the length of a user's name and rules, 0 if there is no such user. The lock
// of AddTexts is held.
func (tx *Tx) UserSize(name string) int {
	rules, ok := tx.s.users.byName[name]
	if !ok {
		return 0
	}
	return len(name) + len(rules)
}

// SetUser keeps the rules of a user in place of those that it had. The lock of AddTexts is held.
func (tx *Tx) SetUser(name, rules string) { tx.setText(&tx.s.users, name, rules) }

// DeleteUser removes a user. The lock of AddTexts is held.
func (tx *Tx) DeleteUser(name string) { tx.deleteText(&tx.s.users, name) }
