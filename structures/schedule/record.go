package schedule

import (
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// record reads the arguments of a recorded operation and checks them.
type record struct {
	args  *structures.Args
	table *scheduler.Table
	bad   bool // some argument is none that is recorded
	err   error
}

// number reads an integer up to a limit.
func (r *record) number(most uint64) int64 {
	v := r.args.Uint()
	r.bad = r.bad || v > most
	return int64(v)
}

func (r *record) float() float64 { return math.Float64frombits(r.args.Uint()) }

// amount reads a number that items or costs can be.
func (r *record) amount() float64 {
	v := r.float()
	r.bad = r.bad || scheduler.CheckNumber(v) != nil
	return v
}

func (r *record) time() int64 { return r.number(maxTime) }

// slot reads the slot of a node.
func (r *record) slot() int { return r.used(r.args.Uint()) }

// used is a slot, which must be in use.
func (r *record) used(slot uint64) int {
	if slot >= scheduler.MaxNodes || !r.table.Has(int(slot)) {
		r.bad = true
		return 0
	}
	return int(slot)
}

// holds reports that the operation can be replayed: all arguments were read, each can have
// been recorded, and so can all together, which the caller says.
func (r *record) holds(together bool) bool {
	if r.err = r.args.Done(); r.err == nil && (r.bad || !together) {
		r.err = structures.ErrCorrupt
	}
	return r.err == nil
}
