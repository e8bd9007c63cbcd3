package lsm

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
)

// Open opens Pebble with compactions held back until it is open, unless
// there is much to do: it would wait for one that it starts, half a second after
// an orderly end. From its next flush on there are as many as usual, until closing
// reports an orderly end, which would have to wait for them too.
//
// A failure to write makes the fence fall, and Pebble does not see it. So it is
// open then, and is closed again.
func Open(dir string, o *pebble.Options, f *fence.FS, closing func() bool) (db *pebble.DB, err error) {
	var open atomic.Bool
	o.CompactionConcurrencyRange = func() (lower, upper int) {
		if !open.Load() || closing() {
			return 0, 1
		}
		return 1, 2
	}
	defer open.Store(true)
	err = Guard(f, func() error {
		db, err = pebble.Open(dir, o)
		return err
	})
	f.Opened()
	if err == nil && f.Err() == nil {
		return db, nil
	}
	if db != nil {
		err = errors.Join(f.Err(), Close(dir, db, f))
	}
	f.CloseFiles(dir)
	f.Discard()
	return nil, err
}

// Close closes an instance, whether its fence stands or not.
func Close(dir string, db *pebble.DB, f *fence.FS) error {
	f.Release()
	defer f.CloseFiles(dir)
	if errors.Is(f.Err(), errPanicked) {
		return nil // it may hold locks that Close waits for
	}
	return Guard(f, db.Close)
}

// errPanicked is in the error of an instance that panicked.
var errPanicked = errors.New("pebble panicked")

// Guard makes a panic of Pebble an error and ends the use of that instance. All
// calls go through it that change something: for all failures of the disk that we
// know of the fence keeps Pebble from panicking, but its code has some hundred
// places that would.
func Guard(f *fence.FS, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanicked, r)
			f.Fall(err)
		}
	}()
	return call()
}
