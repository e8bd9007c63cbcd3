package member

// A mutant is a bug that is planted to see that simulations find it: see package persistence, which has more of them.
type mutant int

const (
	noMutant        mutant = iota
	hastyCommit            // what a leader proposes counts as committed
	keptTail               // a follower keeps what was not committed
	reusedPositions        // a record that was given up is confirmed with another of its number
	forgottenRest          // values do not say that their records are committed
	ingestApart            // the log is told of a state that is taken in by another write
	hastyLog               // values of a member are written before its log is on the device
)
