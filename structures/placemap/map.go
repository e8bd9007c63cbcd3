package placemap

import (
	"unsafe"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// Map is a value of KindPlace.
type Map struct {
	state   *State
	lent    bool   // state may be shared: it must not be changed
	version uint64 // changes so far
	text    int    // bytes of the names of units and domains
	table   int    // bytes of the strategy's table
	buffer  [placement.MaxCopies]int
}

// New makes a map without units. It returns the errors of placement.NewMap.
func New(o placement.Options) (*Map, error) {
	m, err := placement.NewMap(o)
	if err != nil {
		return nil, err
	}
	return &Map{state: newState(m, 0), table: m.Bytes()}, nil
}

// Import makes a map of what Export gave: placement.ErrCorrupt for anything
// else. It counts as a change of the map that it is to replace, if that is not
// nil, so that versions under a key only grow.
func Import(data []byte, old *Map) (*Map, error) {
	m, err := placement.Decode(data)
	if err != nil {
		return nil, err
	}
	v := &Map{}
	if old != nil {
		v.version = old.version
	}
	v.adopt(m)
	return v, nil
}

// Export appends the map as package placement encodes it, which is what
// programs in other places decode to look up for themselves.
func (v *Map) Export(dst []byte) []byte {
	dst, _ = v.state.Map.AppendBinary(dst) // the error is always nil
	return dst
}

// Version is how many changes were made to the map. Two replies of one server
// with the same version under the same key are about the same map, unless the key
// was deleted in between.
func (v *Map) Version() uint64 { return v.version }

// State is the present state, valid until the next change.
func (v *Map) State() *State { return v.state }

// Lend is the present state, for as long as the caller likes and on any
// goroutine. The next change is made to a copy, which costs O(n).
func (v *Map) Lend() *State {
	v.lent = true
	return v.state
}

// Buffer is room for the slots of an object. It serves one call at a time: that
// which has the map under its lock.
func (v *Map) Buffer() []int {
	return v.buffer[:0]
}

// adopt takes over a map that was just changed.
func (v *Map) adopt(m *placement.Map) {
	v.lent, v.table, v.text = false, m.Bytes(), 0
	v.version++
	for _, u := range m.Units() {
		v.text += len(u.Name) + len(u.Domain)
	}
	v.state = newState(m, m.Domains())
}

// Kind is KindPlace.
func (v *Map) Kind() structures.Kind { return structures.KindPlace }

// Empty is false: a map exists without units.
func (v *Map) Empty() bool { return false }

// unitBytes is what a unit takes besides its texts and the strategy's table: two
// strings and two numbers in a slot, and a string and a number in a Go map that
// is 7/8 to 7/16 full.
const unitBytes = 48 + 24*3/2 + 2

// samplerBytes is what a unit takes in the table for a number of copies.
const samplerBytes = 32

// Size is the memory held, in bytes: the strategy's table as it counts it, and
// one for each number of copies that was asked for.
func (v *Map) Size() int {
	units := v.state.Map.Len()
	own := unsafe.Sizeof(*v) + unsafe.Sizeof(*v.state) + unsafe.Sizeof(*v.state.Map)
	return int(own) + v.table + units*(unitBytes+v.state.samplers()*samplerBytes) + v.text
}
