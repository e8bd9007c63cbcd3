package persistence

// Libraries of functions are texts that the store keeps: their sources by name.

// Libraries returns the sources of all libraries by name.
func (s *Store) Libraries() map[string]string { return s.textsByName(&s.libraries) }

// SetLibrary keeps the source of a library in place of the one of that name. The lock
// of AddTexts is held.
func (tx *Tx) SetLibrary(name, source string) { tx.setText(&tx.s.libraries, name, source) }

// DeleteLibrary removes a library. The lock of AddTexts is held.
func (tx *Tx) DeleteLibrary(name string) { tx.deleteText(&tx.s.libraries, name) }

// DeleteLibraries removes all libraries. The lock of AddTexts is held.
func (tx *Tx) DeleteLibraries() {
	if l := &tx.s.libraries; tx.err == nil && len(l.byName) > 0 {
		tx.seal()
		l.clear()
		tx.recordText(l)
	}
}
