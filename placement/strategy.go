package placement

// Fraction is a share of all hashes, 0 to 1. It is a float64 because it is
// only reported, never looked up: sums of a million terms keep twelve digits.
type Fraction float64

// Strategy places 64-bit hashes on units. A unit is a small number chosen by
// the caller, stable while the unit lives (a Map calls it a slot). The same
// state and the same hash give the same answer on every machine.
//
// Locate may run concurrently with Locate, and with nothing else.
type Strategy interface {
	// Locate returns the unit of a hash, -1 if there are no units. It
	// neither allocates nor computes with floating point.
	Locate(hash uint64) int

	// Set adds a unit or changes its capacity. ErrCapacity, ErrUniform,
	// ErrLimit and ErrUnit (a number out of range) leave all unchanged.
	Set(unit int, capacity Capacity) error

	// Remove takes a unit away; ErrUnit if it is not there. The last unit
	// may be removed: Locate then returns -1.
	Remove(unit int) error

	// Clone returns a deep copy.
	Clone() Strategy

	// Bytes returns the memory held, in bytes.
	Bytes() int

	// AppendState appends what cannot be derived from options, units and
	// capacities set in ascending order of unit: the history.
	AppendState(dst []byte) []byte

	// DecodeState takes back what AppendState wrote, after the units were
	// set in ascending order. ErrCorrupt for bytes that it cannot have
	// written; it never panics, and allocates in proportion to the bytes
	// and to the units already set. After an error the strategy is unusable.
	DecodeState(state []byte) error

	// Moves visits the exact expected share of hashes located at `from`
	// here and at `to` there, from and to different and not -1, the hash
	// functions taken as ideal. A pair may be visited several times: shares
	// add up. `to` is of the same type and options.
	Moves(to Strategy, visit func(from, to int, share Fraction))
}

// Change is one step of a Batcher's Apply.
type Change struct {
	Unit     int
	Capacity Capacity // 0 removes the unit
}

// Batcher is a Strategy that applies several changes as one: for less work
// than one after another (a table is built once), or with fewer moves. No unit
// is named twice. A Map orders them: removals, lowered capacities, raised
// ones, new units, each by number; an error leaves all unchanged.
type Batcher interface {
	Apply(changes []Change) error
}

// Spec describes a strategy: one row of Strategies.
type Spec struct {
	Name     string
	Number   byte                   // on disk, never changes
	Weighted bool                   // takes units of different capacities
	Race     bool                   // a lookup looks at every unit: O(n)
	MaxUnits int                    // unit numbers are below it
	Summary  string                 // a sentence for people
	New      func(Options) Strategy // without units; the options were completed by Check
}

// DefaultStrategy is what a map without a wish gets.
const DefaultStrategy = "sieve-abs"

// MaxUnits bounds the units of any map.
const MaxUnits = 1 << 16

// Strategies returns all strategies by number.
func Strategies() []Spec {
	return []Spec{
		specStatic(),
		specTwoChoice(),
		specNearest(),
		specCutPaste(),
		specShare(),
		specSieve(),
		specSieveAbs(),
		specSlots(),
		specJump(),
		specRendezvous(),
		specMaglev(),
		specJumpBack(),
		specCopysets(),
	}
}

// Lookup returns the strategy of a name; ErrStrategy if there is none.
func Lookup(name string) (Spec, error) {
	for _, s := range Strategies() {
		if s.Name == name {
			return s, nil
		}
	}
	return Spec{}, ErrStrategy
}
