package keyspace

// blessedOverhead is what a blessed key costs besides its bytes.
const blessedOverhead = 64

// Bless says whether a live key is to stay when keys are deleted to make room, and reports whether that is new. What is said holds until
// the key is gone, whatever its values are: also while only the disk has it.
func (t *Table) Bless(key []byte, on bool) (changed bool) {
	if t.Blessed(key) == on {
		return false
	}
	size := int64(len(key) + blessedOverhead)
	if !on {
		delete(t.blessed, string(key))
		*t.mem -= size
		return true
	}
	if t.blessed == nil {
		t.blessed = map[string]struct{}{}
	}
	t.blessed[string(key)] = struct{}{}
	*t.mem += size
	return true
}

// Blessed reports whether a key in memory is to stay. Of one that was not read from the disk it is not known.
func (t *Table) Blessed(key []byte) bool {
	if len(t.blessed) == 0 { // nearly always
		return false
	}
	_, ok := t.blessed[string(key)]
	return ok
}

// BlessedKeys is how many keys are to stay, of those that memory knows.
func (t *Table) BlessedKeys() int { return len(t.blessed) }

// BlessedAt is Blessed for the key of a slot, at which it does not look if no key is blessed.
func (t *Table) BlessedAt(meta uint64) bool { return len(t.blessed) > 0 && t.Blessed(t.Key(meta)) }

// dropBlessed forgets all.
func (t *Table) dropBlessed() {
	for key := range t.blessed {
		*t.mem -= int64(len(key) + blessedOverhead)
	}
	t.blessed = nil
}
