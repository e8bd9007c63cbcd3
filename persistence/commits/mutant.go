package commits

// A mutant is a bug that is planted to see that simulations find it: see package persistence, which has more of them.
type mutant int

const (
	noMutant      mutant = iota
	skippedSync          // WaitDurable confirms what is not on the device
	swappedChunks        // two chunks stand in the journal in the wrong order
	hastyReader          // a reply does not wait for the records that it depends on
	hastyValues          // values are written before the journal that made them
	hastyFree            // copies of chunks are given up before the sync
)
