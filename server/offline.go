package server

import "github.com/vigildb/vigil/persistence"

// Check reads the whole store in dir, which nobody may have open, or a snapshot,
// and changes nothing. See [persistence.Check].
func Check(dir string, progress func(what string, done, total int64)) (*persistence.Report, error) {
	return persistence.Check(persistence.Options{Dir: dir}, progress)
}

// Restore makes a store in dir, which must be missing or empty, of a snapshot. See
// [persistence.Restore].
func Restore(snapshot, dir string, progress func(what string, done, total int64)) (*persistence.Report, error) {
	return persistence.Restore(persistence.Options{Dir: dir}, snapshot, progress)
}
