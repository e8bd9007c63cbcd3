package topology

import "github.com/vigildb/vigil/structures/slots"

// Division is how the slots are divided among the groups, by what this server knows. It is never changed.
type Division struct {
	Name   string       // of this server's group
	Slots  *slots.Set   // of this server's group
	Others []OtherGroup // in the order of their names
	// Importing are slots that other groups have given to this server's, which has not taken them yet, and those that it gave
	// to a removed group.
	Importing *slots.Set
	// Covered says that every slot is one of a group, and that of every other group something was
	// heard lately.
	Covered   bool
	Whole     bool              // the group has all slots
	RemovedAt map[string]uint64 // when groups were removed, perhaps this server's; they are not among the Others
}

// OtherGroup is a group that this server is not of.
type OtherGroup struct {
	*Group
	Slots *slots.Set // that it has: the assignment, without what more senior groups claim, and what was given to it
	Up    bool       // a member of it that hears its leader was heard lately
}

// Removed reports whether a group was removed.
func (d *Division) Removed(name string) bool { return d != nil && d.RemovedAt[name] > 0 }
