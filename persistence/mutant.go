package persistence

// A mutant is a bug that is planted to see that the simulation of the whole server
// (server/sim) finds it. Without the build tag mutants the constant planted is
// noMutant, so the compiler leaves every one of them out.
type mutant int

const (
	noMutant mutant = iota

	unkeptRecords // records that are not on the device are acknowledged without a copy
)
