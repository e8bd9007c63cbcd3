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

	hastyCommit     // what a leader proposes counts as committed
	keptTail        // a follower keeps what was not committed
	reusedPositions // a record that was given up is confirmed with another of its number
	forgottenRest   // values do not say that their records are committed
	assumedKeys     // a follower assumes that the disk has the keys of its records
	ingestApart     // the log is told of a state that is taken in by another write
	hastyLog        // values of a member are written before its log is on the device
	hastyFree       // copies of chunks are given up before the sync
	unkeptRecords   // records that are not on the device are acknowledged without a copy
)
