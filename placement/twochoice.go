package placement

// twochoice gives each object two units to choose from and places it on the
// less loaded one when it arrives (section 8.1: the minimum rule).
//
// Model: two independent hashes of an object, n equal units, objects that
// arrive one by one.
//
// Theorem 8.2: the fullest unit holds at most m/n + O(log log n) of m objects,
// with high probability; measured excess: at most 3 for n up to 10,000, where
// one choice gives an excess that grows with sqrt(m/n).
//
// Where an object went depends on the loads at that time, so a lookup needs a
// directory or two probes; the notes leave this open. Here Locate returns the
// first choice, Choices both, and Lighter applies the rule to loads that the
// caller knows: place on Lighter(Choices), look at both to find.
//
// Cost: two multiplications and one Mix a lookup, 4 bytes a unit. Not dynamic:
// as with static, a change of n moves almost everything. Moves tells the moves
// of first choices.
type twochoice struct {
	static
}

// secondChoice is the stream of the second hash.
const secondChoice = pi7

func specTwoChoice() Spec {
	return Spec{Name: "twochoice", Number: 2, MaxUnits: MaxUnits,
		Summary: "the less loaded of two equal units: for fixed units and level loads",
		New:     func(Options) Strategy { return &twochoice{} }}
}

// Choices returns the two units of a hash, which may be the same one, and -1
// twice without units.
func (t *twochoice) Choices(hash uint64) (first, second int) {
	return t.Locate(hash), t.Locate(Mix(hash + secondChoice))
}

func (t *twochoice) Clone() Strategy { c := *t; return &c }

func (t *twochoice) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	equalMoves(t.units, to.(*twochoice).units, visit)
}

// Lighter is the minimum rule: it returns the choice with less load, the first
// one if both have the same.
func Lighter(first, second int, load func(unit int) int) int {
	if second != first && load(second) < load(first) {
		return second
	}
	return first
}
