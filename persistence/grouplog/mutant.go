package grouplog

// A mutant is a bug that is planted to see that simulations find it: see package persistence, which has more of them.
type mutant int

const (
	noMutant     mutant = iota
	keptSegments        // a state that is taken in leaves the segments of the former log
	unflushed           // entries are acknowledged that the system does not have
	hastyRecords        // records in Pebble do not wait for the log
)
