//go:build mutants

package member

var planted = noMutant

// Mutants are the bugs that Plant knows.
var Mutants = map[string]mutant{"hasty commit": hastyCommit, "kept tail": keptTail, "reused positions": reusedPositions,
	"forgotten rest": forgottenRest, "ingest apart": ingestApart, "hasty log": hastyLog}

// Plant makes all members have one of Mutants, or none with any other name.
func Plant(name string) { planted = Mutants[name] }
