package keyspace

import "github.com/vigildb/vigil/structures"

// Edit is a value that a transaction may change until its Commit. Its changes
// gather in Change and move into the record when the key is looked up again or the
// transaction commits: the record then has the operations of each key in their
// order, and different keys in any order, which is equivalent, because an
// operation depends only on its own key.
type Edit struct {
	Table  *Table
	Object *Object
	DB     int
	Hash   uint64
	Change structures.Change
	// Fresh: the key did not exist, and the record does not know of it yet. The
	// operation that makes it is in created.
	Fresh   bool
	Created structures.Change
}

// maxKeptChange is how many bytes of memory an edit keeps for the changes of the next one.
const maxKeptChange = 64 << 10

// Recorded reports that the edit has a change that the record does not know of.
func (e *Edit) Recorded() bool { return e.Change.Len() > 0 }

// Detach cuts the tie between slot i and an open edit: what the edit records
// from now on is lost, as its value is.
func (t *Table) Detach(i int) {
	if o := t.Object(t.slots[i].meta); o != nil && o.Edit != nil {
		o.Edit.Object = nil
		o.Edit.Change.Reset(maxKeptChange)
		o.Edit = nil
	}
}
