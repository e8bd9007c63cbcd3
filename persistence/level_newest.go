//go:build !previouslevel

package persistence

// NewestLevel is the newest level that this version reads and writes.
const NewestLevel = uint64(len(levels))
