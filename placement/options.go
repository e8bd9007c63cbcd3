package placement

import "math"

// Options choose a strategy and set it up. They never change while a map
// lives. The zero value of each field stands for its default.
type Options struct {
	Strategy string  // a name of Strategies; DefaultStrategy if empty
	Seed     uint64  // maps with different seeds place independently
	Stretch  float64 // share: arcs cover the ring this many times; 0: 3 ln n
	Points   int     // nearest: points a unit, 0: 160; share: arcs a unit, 0: 1
	Slots    int     // slots: number of slots, 0: 16384; maglev: entries at least, 0: by units
	Copies   int     // what a LOCATE answers by default; 0: 1
	Levels   int     // sieve: rounds before the fall-back unit, 0: the strategy's own
	Spread   int     // domains are paths, and an outermost one has at most so many copies; 0: domains have no parts
	Scatter  int     // copysets: with how many others a unit shares copies, at least; 0: Copies-1
	Bound    float64 // objects are assigned, and a unit has at most 1+Bound times its part; 0: not
}

// Limits of the options. Tables made from options alone stay below 8 MiB, and
// what each unit may add is bounded (see shareFits and nearest.count), so that a
// few bytes of a foreign payload cannot ask for more.
const (
	MaxStretch = 1 << 6
	MaxPoints  = 1 << 12
	MaxSlots   = 1 << 20
	MaxCopies  = 64
	MaxLevels  = 64
	MaxSpread  = MaxCopies
	MaxScatter = 64
	MinBound   = 1e-3
	MaxBound   = 1e3
)

// stretchUnit is the precision of Stretch: arcs are computed with integers.
const stretchUnit = 1 << 16

// Check completes options and says what is wrong with them: ErrStrategy for
// an unknown name, ErrOption for a value out of its range or for a table that
// would be too large with one unit already.
func (o Options) Check() (Options, error) {
	switch {
	case o.Strategy != "":
	case o.Scatter > 0:
		o.Strategy = "copysets"
	default:
		o.Strategy = DefaultStrategy
	}
	if _, err := Lookup(o.Strategy); err != nil {
		return o, err
	}
	inRange := func(v, limit int) bool { return v >= 0 && v <= limit }
	if !inRange(o.Points, MaxPoints) || !inRange(o.Slots, MaxSlots) ||
		!inRange(o.Copies, MaxCopies) || !inRange(o.Levels, MaxLevels) {
		return o, ErrOption
	}
	if !(o.Stretch >= 0 && o.Stretch <= MaxStretch) { // refuses NaN too
		return o, ErrOption
	}
	if o.Stretch > 0 && o.Stretch*stretchUnit < 1 {
		return o, ErrOption
	}
	o.Stretch = float64(uint64(o.Stretch*stretchUnit)) / stretchUnit
	if o.Strategy == "share" && !shareFits(1, max(o.Points, 1), uint64(o.Stretch*stretchUnit)) {
		return o, ErrOption
	}
	return o.checkCopies()
}

// checkCopies is Check for what copies and bounds need.
func (o Options) checkCopies() (Options, error) {
	sets := o.Strategy == "copysets"
	if o.Copies == 0 {
		o.Copies = 1
		if sets {
			o.Copies = 3
		}
	}
	switch {
	case o.Spread < 0 || o.Spread > MaxSpread || o.Scatter < 0 || o.Scatter > MaxScatter:
		return o, ErrOption
	case !(o.Bound == 0 || o.Bound >= MinBound && o.Bound <= MaxBound): // refuses NaN too
		return o, ErrOption
	case sets && (o.Copies < 2 || o.Spread > 0 || o.Bound > 0), !sets && o.Scatter > 0:
		return o, ErrOption
	}
	if sets && o.Scatter == 0 {
		o.Scatter = o.Copies - 1
	}
	o.Bound = math.Round(o.Bound*boundUnit) / boundUnit
	return o, nil
}
