//go:build mutants

package persistence

import (
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/passes"
	"github.com/vigildb/vigil/persistence/replay"
)

var planted = noMutant

// Mutants are the bugs that Plant knows. Those without a number are in other rooms.
var Mutants = map[string]mutant{"skipped sync": noMutant, "swapped chunks": noMutant,
	"hasty reader": noMutant, "hasty values": noMutant, "overcut journal": noMutant,
	"unkept records": unkeptRecords, "hasty free": noMutant}

// MemberMutants are bugs of members of a group that Plant knows, some of them in their logs.
var MemberMutants = map[string]mutant{"hasty values": noMutant, "hasty commit": noMutant, "kept tail": noMutant,
	"reused positions": noMutant, "forgotten rest": noMutant, "assumed keys": noMutant,
	"hasty log": noMutant, "unflushed entries": noMutant}

// TakeoverMutants are bugs of members that are given the state of another one, which Plant knows.
var TakeoverMutants = map[string]mutant{"kept segments": noMutant, "ingest apart": noMutant}

// Plant makes all stores have one of Mutants, MemberMutants or TakeoverMutants, or none with any other name.
func Plant(name string) {
	planted = max(Mutants[name], MemberMutants[name], TakeoverMutants[name])
	commits.Plant(name)
	grouplog.Plant(name)
	member.Plant(name)
	passes.Plant(name)
	replay.Plant(name)
}
