//go:build mutants

package commits

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"skipped sync": skippedSync, "swapped chunks": swappedChunks, "hasty reader": hastyReader,
	"hasty values": hastyValues, "hasty free": hastyFree}

// Plant makes all stores have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
