package passes

// A mutant is a bug that is planted to see that simulations find it: see package persistence, which has more of them.
type mutant int

const (
	noMutant       mutant = iota
	overcutJournal        // the journal is trimmed beyond what is written
)
