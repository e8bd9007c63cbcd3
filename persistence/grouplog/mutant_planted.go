//go:build mutants

package grouplog

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"kept segments": keptSegments, "unflushed entries": unflushed, "hasty records": hastyRecords}

// Plant makes all logs have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
