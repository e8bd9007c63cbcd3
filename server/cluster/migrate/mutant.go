package migrate

// A mutant is a bug that is planted to see that the simulation of several groups
// (server/sim/clusters) finds it. Without the build tag mutants the constant planted is
// noMutant, so the compiler leaves every one of them out.
type mutant int

const (
	noMutant  mutant = iota
	lostFrame        // keys count as sent that may not have come
	leftKeys         // keys of slots that another group has stay
	voidKeys         // keys that have come for nothing stay
)
