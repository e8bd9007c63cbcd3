//go:build mutants

package passes

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"overcut journal": overcutJournal}

// Plant makes all stores have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
