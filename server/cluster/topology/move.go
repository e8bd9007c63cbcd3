package topology

import (
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// Move is slots that are being moved between two groups, as the log of one of the two has it.
type Move struct {
	Attempt uint64 // drawn by lot; another attempt to move the same slots has another number
	Group   string // the other group
	Slots   *slots.Set
	State   MoveState
}

// MoveState is how far the keys of a move have come, in the log of the group that gets them.
type MoveState byte

// These numbers are on disk and never change.
const (
	MoveOpen     MoveState = 0 // keys may come; and a move that was given away, at the other group
	MoveComplete MoveState = 1 // all keys are in the log
	MoveVoid     MoveState = 2 // it was given up, and its keys are being removed
)

// MaxMoves is how many moves in each direction the log of a group has at a time.
const MaxMoves = 16

// MoveOf returns the move with a number, nil if there is none.
func MoveOf(all []Move, attempt uint64) *Move {
	for i := range all {
		if all[i].Attempt == attempt {
			return &all[i]
		}
	}
	return nil
}

// WithoutMove returns a copy of moves without one of them.
func WithoutMove(all []Move, attempt uint64) []Move {
	return slices.DeleteFunc(slices.Clone(all), func(m Move) bool { return m.Attempt == attempt })
}

// WithMove returns a copy of moves with one more, or with another state of it.
func WithMove(all []Move, m Move) []Move { return append(WithoutMove(all, m.Attempt), m) }

// SlotsOf returns the slots of some moves.
func SlotsOf(all []Move) *slots.Set {
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
		b = m.Slots.Append(AppendText(b, m.Group))
	}
	return b
}

// Moves reads what appendMoves wrote.
func (d *Decoder) Moves() (all []Move) {
	n := d.Number()
	if n > MaxMoves {
		d.Rest, d.Err = nil, ErrDecode
	}
	for ; n > 0 && d.Err == nil; n-- {
		m := Move{Attempt: d.Number(), State: MoveState(d.Number())}
		m.Group = d.Text(MaxGroupName)
		m.Slots = d.slots()
		if m.Attempt == 0 || m.State > MoveVoid || MoveOf(all, m.Attempt) != nil {
			d.Rest, d.Err = nil, ErrDecode
		}
		all = append(all, m)
	}
	return all
}

// Moving reports whether slots are being moved, from the group or to it.
func (c Assignment) Moving() bool { return len(c.Given)+len(c.Taking) > 0 }

// Gives returns the assignment without slots that go to another group.
func (c Assignment) Gives(m Move) Assignment {
	m.State = MoveOpen
	c.Slots, c.Given = c.Slots.Without(m.Slots), WithMove(c.Given, m)
	return c
}

// Takes returns the assignment with slots that have come.
func (c Assignment) Takes(m *Move, now uint64) Assignment {
	c.Slots, c.Taking = c.Slots.Union(m.Slots), WithoutMove(c.Taking, m.Attempt)
	if c.Since == 0 {
		c.Since = now
	}
	return c
}
