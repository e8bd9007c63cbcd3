package cluster

import (
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// Slots go to another group with their keys. The keys are copied first, into the log of the group that
// gets them, where no client sees them. Then three entries of the two logs decide, in this order:
//
//  1. the log of the group that gets them says that all keys of an attempt are there (moveComplete);
//  2. the log of the group that has them gives the slots away to the other one, as that attempt;
//  3. the log of the other one claims them.
//
// Up to the second one nothing has changed, and from then on the move is certain: whoever leads the two groups
// goes on with it. A slot is never claimed by both, as each claim is in one log, and the third entry is made only by
// those that know of the second. ADR 0071.

// Move is slots on their way between two groups, as the log of one of the two has it.
type Move struct {
	Attempt uint64 // drawn by lot; another attempt to move the same slots has another number
	Group   string // the other group
	Slots   *slots.Set
	State   moveState
}

// moveState is how far the keys of a move have come, in the log of the group that gets them.
type moveState byte

// These numbers are on disk and never change.
const (
	moveOpen     moveState = 0 // keys may come; and a move that was given away, at the other group
	moveComplete moveState = 1 // all keys are in the log
	moveVoid     moveState = 2 // it was given up, and its keys are being removed
)

// maxMoves is how many moves in each direction the log of a group has at a time.
const maxMoves = 16

// moveOf returns the move with a number, nil if there is none.
func moveOf(all []Move, attempt uint64) *Move {
	for i := range all {
		if all[i].Attempt == attempt {
			return &all[i]
		}
	}
	return nil
}

// withoutMove returns a copy of moves without one of them.
func withoutMove(all []Move, attempt uint64) []Move {
	return slices.DeleteFunc(slices.Clone(all), func(m Move) bool { return m.Attempt == attempt })
}

// withMove returns a copy of moves with one more, or with another state of it.
func withMove(all []Move, m Move) []Move { return append(withoutMove(all, m.Attempt), m) }

// slotsOf returns the slots of some moves.
func slotsOf(all []Move) *slots.Set {
	of := new(slots.Set)
	for i := range all {
		of = of.Union(all[i].Slots)
	}
	return of
}

// appendMoves appends moves as they are on disk and in tables: their number, then of each attempt and state as
// uvarints, the name of the other group, and the slots.
func appendMoves(b []byte, all []Move) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for i := range all {
		m := &all[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, m.Attempt), uint64(m.State))
		b = m.Slots.Append(appendText(b, m.Group))
	}
	return b
}

func (d *decoder) moves() (all []Move) {
	n := d.number()
	if n > maxMoves {
		d.b, d.err = nil, errMembers
	}
	for ; n > 0 && d.err == nil; n-- {
		m := Move{Attempt: d.number(), State: moveState(d.number())}
		m.Group = d.text(maxGroupName)
		m.Slots = d.slots()
		if m.Attempt == 0 || m.State > moveVoid || moveOf(all, m.Attempt) != nil {
			d.b, d.err = nil, errMembers
		}
		all = append(all, m)
	}
	return all
}

// moving reports whether slots are on their way, from the group or to it.
func (c Claim) moving() bool { return len(c.Given)+len(c.Taking) > 0 }

// gives returns the claim without slots that go to another group.
func (c Claim) gives(m Move) Claim {
	m.State = moveOpen
	c.Slots, c.Given = c.Slots.Without(m.Slots), withMove(c.Given, m)
	return c
}

// takes returns the claim with slots that have come.
func (c Claim) takes(m *Move) Claim {
	c.Slots, c.Taking = c.Slots.Union(m.Slots), withoutMove(c.Taking, m.Attempt)
	if c.Since == 0 {
		c.Since = now()
	}
	return c
}
