package replay

// A mutant is a bug that is planted to see that simulations find it: see package persistence, which has more of them.
type mutant int

const (
	noMutant    mutant = iota
	assumedKeys        // a follower assumes that the disk has the keys of its records
)
