package topology

import (
	"encoding/binary"

	"github.com/vigildb/vigil/structures/slots"
)

// A Assignment is which slots a group says are its own. It is part of what the group agrees on, as its
// members are: an entry of the log changes it, and a member that gets the state of the group
// gets the assignment with it.
type Assignment struct {
	Slots *slots.Set // never changed in place; nil before the first assignment
	// Since is when the group had its first slot, in milliseconds of Unix time by the clock of its
	// leader. Of two groups that claim a slot the one with the smaller one has it.
	Since uint64
	// Given are slots that the group has given to others, which may not have taken them yet, and whose keys may
	// still be here; Taking are those that it is about to get. Neither is changed in place.
	Given, Taking []Move
	// Tombstones are those of other groups, in the order of their names: the assignments of these do not count. Revived is the time of the
	// tombstone after which this group was revived, 0 for none. Tombstones is not changed in place.
	Tombstones []Tombstone
	Revived    uint64
}

// Assigned reports whether the group has ever claimed slots. A group that has given up all of them
// has.
func (c Assignment) Assigned() bool { return c.Slots != nil }

// append appends the assignment as it is on disk, in entries and in tables: Since as uvarint, then the slots. The moves are
// apart.
func (c Assignment) append(b []byte) []byte { return c.Slots.Append(binary.AppendUvarint(b, c.Since)) }

// Encode is the assignment in an entry: with the moves behind it, Given and Taking, if there are any, or tombstones, which are
// behind them.
func (c Assignment) Encode() []byte {
	b := c.append(nil)
	if c.Moving() || c.HasTombstones() {
		b = appendMoves(appendMoves(b, c.Given), c.Taking)
	}
	if c.HasTombstones() {
		b = c.appendTombstones(b)
	}
	return b
}

// DecodeAssignment reads an assignment in an entry. What is none changes nothing: an entry that is committed
// has to be passed.
func DecodeAssignment(b []byte, before Assignment) Assignment {
	d := Decoder{Rest: b}
	if c := d.Entry(); d.Err == nil {
		return c
	}
	return before
}

// Entry reads what Assignment.Encode wrote, up to the end.
func (d *Decoder) Entry() (c Assignment) {
	c = d.Assignment()
	if d.Err == nil && len(d.Rest) > 0 {
		c.Given, c.Taking = d.Moves(), d.Moves()
	}
	if d.Err == nil && len(d.Rest) > 0 {
		d.Tombstones(&c)
	}
	if d.Err == nil && len(d.Rest) > 0 {
		d.Err = ErrDecode
	}
	return c
}

// Assignment reads what Assignment.append wrote.
func (d *Decoder) Assignment() (c Assignment) {
	c.Since = d.Number()
	if d.Err != nil {
		return Assignment{}
	}
	if c.Slots = d.slots(); d.Err != nil {
		return Assignment{}
	}
	return c
}

// Change is a change of its assignment on which a group is to agree.
type Change struct {
	// Next returns the next assignment from the present one, at a member that leads the group in a term; 0 is no leader. It is called in a
	// turn of raft, and must not wait for another one.
	Next func(term uint64, now Assignment) (Assignment, error)
	// Done reports whether the change is made.
	Done func(now Assignment) bool
	// Patient waits until no other change of the group is under way, and when this one is proposed for its outcome, even after the
	// end of the context.
	Patient bool
}
