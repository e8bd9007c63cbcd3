package persistence

import (
	"fmt"
)

// A group of machines has a level: a number that says which forms its log and its state may have. Its members agree on
// it, as they do on who they are, and raise it by hand once all of them have a version that reads the new forms. So
// members of two versions work together, and what only the newer one reads is written when the older one is gone.
// ADR 0076.
//
// These numbers are on disk and never change; levels says what each of them adds. A change of what is written gets a level of its
// own, or shares the newest one while no version was released with that.
const (
	LevelUntold    = 1
	LevelTold      = 2
	LevelModules   = 3 // see types.Form
	LevelTimed     = 4
	LevelDatabases = 5 // members before it do not look into other databases when slots are moved, emptied or given up, and follow no master
)

// previous is set by the linker (-X) in a server that acts as one of the version before the newest level, for tests of upgrades.
var previous string

// NewestLevel is the newest level that this version reads and writes.
func NewestLevel() uint64 {
	if previous != "" {
		return uint64(len(levels)) - 1
	}
	return uint64(len(levels))
}

// levels says what each level adds, from LevelUntold on.
var levels = [...]string{
	LevelUntold - 1:    "everything that was written before groups had levels",
	LevelTold - 1:      "the level in the log of the group, the configuration that its members share, and the moves of slots that each leader goes on with",
	LevelModules - 1:   "cuckoo filters, count-min sketches, top lists, t-digests and JSON documents, and signals, pauses and changed numbers of schedules",
	LevelTimed - 1:     "members of sets that expire, names of entries of streams, entries that a group of consumers has released, rules of users about databases, blessed keys, and placement maps with bounds, nested domains or sets of units",
	LevelDatabases - 1: "several databases in a group that clients see as a cluster, and groups that follow a master",
}

// WhatLevelAdds says what a level adds to the one before it, "" for one that this version does not know.
func WhatLevelAdds(level uint64) string {
	if level == 0 || level > uint64(len(levels)) {
		return ""
	}
	return levels[level-1]
}

// NeedsLevelError is returned for what came with a level that the group of the store does not have.
type NeedsLevelError struct{ Needs, Has uint64 }

func (e NeedsLevelError) Error() string {
	return fmt.Sprintf("persistence: the group has level %d, and not %d", e.Has, e.Needs)
}

// Level returns which forms may be written. A store that is alone writes all that this version knows. The level of a member's group
// only rises, unless the store becomes that of a member of another group, without keys: so what may be written stays so.
func (s *Store) Level() uint64 {
	if s.member == nil {
		return NewestLevel()
	}
	return max(LevelUntold, s.member.Level())
}

// Require returns a NeedsLevelError unless the group has a level. It is called before a transaction changes something in a form that came with
// that level, with the locks of the change: the record is behind the entry of the level in the log, whoever leads.
func (tx *Tx) Require(level uint64) error {
	if has := tx.s.Level(); has < level {
		return NeedsLevelError{level, has}
	}
	return nil
}
