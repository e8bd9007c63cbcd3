package server

import (
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/check"
)

// Check reads a whole store in dir, which no server may have open, or a
// snapshot, and changes nothing. See [check.Run].
func Check(dir string, progress func(what string, done, total int64)) (*check.Report, error) {
	return check.Run(check.Options{Dir: dir}, progress)
}

// Restore creates a store from a snapshot in dir, which must be missing or empty.
// See [persistence.Restore].
func Restore(snapshot, dir string, progress func(what string, done, total int64)) (*check.Report, error) {
	return persistence.Restore(persistence.Options{Dir: dir}, snapshot, progress)
}
