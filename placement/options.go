package placement

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
)

// stretchUnit is the precision of Stretch: arcs are computed with integers.
const stretchUnit = 1 << 16

// Check completes options and says what is wrong with them: ErrStrategy for
// an unknown name, ErrOption for a value out of its range or for a table that
// would be too large with one unit already.
func (o Options) Check() (Options, error) {
	if o.Strategy == "" {
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
	if o.Copies == 0 {
		o.Copies = 1
	}
	return o, nil
}
