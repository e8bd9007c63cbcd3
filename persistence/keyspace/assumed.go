package keyspace

// ClearOnDisk marks the keys of all dirty slots as not on disk. Slots that are not dirty
// were read from there.
func (t *Table) ClearOnDisk() {
	for i := range t.slots {
		if meta := t.Meta(i); meta&Dirty != 0 {
			t.SetMeta(i, meta&^(OnDisk|Paged))
		}
	}
}

// AssumeAll records that the disk may have the keys of all dirty slots.
func (t *Table) AssumeAll() {
	for i := range t.slots {
		if meta := t.Meta(i); meta&Dirty != 0 {
			t.SetMeta(i, meta|OnDisk)
		}
	}
	t.Assumed = true
}

// Confirm records that the disk has the key of slot i.
func (t *Table) Confirm(i int, paged bool) {
	meta := t.Meta(i)&^Paged | OnDisk
	if paged {
		meta |= Paged
	}
	t.SetMeta(i, meta)
}

// Settle removes the tombstones of keys that the disk does not have.
func (t *Table) Settle() {
	t.Assumed = false
	if t.Used == 0 {
		return
	}
	for i := 0; i < t.Places(); {
		if meta := t.Meta(i); meta&(Tombstone|OnDisk) == Tombstone {
			t.free(meta)
			t.remove(i)
			continue // another slot may have moved here
		}
		i++
	}
}
