package persistence

// The moves of slots that a group of machines has yet to make are texts that its store keeps, so that each leader goes
// on with them: by name, in words that the store does not read.

// Moves returns all moves that are to be made.
func (s *Store) Moves() map[string]string { return s.textsByName(&s.moves) }

// Moves calls f with the name of each move that is to be made, in no order. The lock of AddTexts is held, and f changes
// nothing.
func (tx *Tx) Moves(f func(name string)) {
	for name := range tx.s.moves.byName {
		f(name)
	}
}

// SetMove has the group make a move. The lock of AddTexts is held.
func (tx *Tx) SetMove(name, text string) { tx.setText(&tx.s.moves, name, text) }

// DeleteMove says that a move is over. The lock of AddTexts is held.
func (tx *Tx) DeleteMove(name string) { tx.deleteText(&tx.s.moves, name) }
