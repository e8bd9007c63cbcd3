//go:build mutants

package replay

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"assumed keys": assumedKeys}

// Plant makes all replays have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
