package persistence

// A mutant is a bug that is planted to see that the simulation of the whole server
// (server/sim) finds it. Without the build tag mutants the constant planted is
// noMutant, so the compiler leaves every one of them out.
type mutant int

const (
	noMutant       mutant = iota
	skippedSync           // WaitDurable confirms what is not on the device
	swappedChunks         // two chunks stand in the journal in the wrong order
	hastyReader           // a reply does not wait for the records that it depends on
	hastyValues           // values are written before the journal that made them
	overcutJournal        // the journal is trimmed beyond what is written

	assumedKeys   // a follower assumes that the disk has the keys of its records
	hastyFree     // copies of chunks are given up before the sync
	unkeptRecords // records that are not on the device are acknowledged without a copy
)
