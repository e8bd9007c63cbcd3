package hotkeys

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Watch is the tracker of a server, if it has one. The zero value has none.
type Watch struct {
	mu      sync.Mutex // held while the tracker is replaced
	tracker atomic.Pointer[Tracker]
}

// ErrRunning is returned for what cannot be done while a tracker counts.
var ErrRunning = errors.New("hotkeys: the tracker runs")

// Running returns the tracker if it counts, else nil. It is asked for every call, and costs a load if nobody has started one.
func (w *Watch) Running() *Tracker {
	if t := w.tracker.Load(); t != nil && t.Running() {
		return t
	}
	return nil
}

// Last returns the tracker that runs or has run, nil if there is none.
func (w *Watch) Last() *Tracker { return w.tracker.Load() }

// Begin makes a tracker, in place of one that has run. It returns ErrRunning if one does.
func (w *Watch) Begin(start func() *Tracker) error { return w.replace(start) }

// Forget drops the tracker. It returns ErrRunning if that runs.
func (w *Watch) Forget() error { return w.replace(func() *Tracker { return nil }) }

func (w *Watch) replace(by func() *Tracker) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Running() != nil {
		return ErrRunning
	}
	w.tracker.Store(by())
	return nil
}
