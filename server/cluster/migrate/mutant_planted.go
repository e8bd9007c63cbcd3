//go:build mutants

package migrate

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"lost frame": lostFrame, "left keys": leftKeys, "void keys": voidKeys}

// Plant makes all nodes have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
