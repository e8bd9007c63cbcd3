//go:build previouslevel

package persistence

// NewestLevel is one less than this version knows: with this build tag a server acts as one of the version before the
// newest level, for tests of upgrades.
const NewestLevel = uint64(len(levels)) - 1
