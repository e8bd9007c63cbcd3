package hold

import (
	"sync/atomic"

	"github.com/vigildb/vigil/structures/slots"
)

// Fence is the last part of a migration of slots: calls that would change their keys are held back, as by CLIENT PAUSE,
// until another group has the slots or the migration is given up.
type Fence struct {
	gate
	of   atomic.Pointer[slots.Set] // nil in the usual case; changed under mu
	ends uint64                    // of leaderships of this server; guarded by mu
	kept bool                      // until the leadership ends; guarded by mu
}

// Of are the slots whose keys do not change now, nil for none.
func (f *Fence) Of() *slots.Set { return f.of.Load() }

// Begin fences slots. It returns what is to be given to End.
func (f *Fence) Begin(of *slots.Set) (ends uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of.Store(of)
	return f.ends
}

// End ends that. If it is not decided whose the slots are, it goes on until the leadership ends in which it
// began: whoever leads next knows.
func (f *Fence) End(began uint64, decided bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept = !decided && f.ends == began; !f.kept {
		f.endLocked()
	}
}

// Follow notes that the leadership has ended.
func (f *Fence) Follow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends++; f.kept {
		f.kept = false
		f.endLocked()
	}
}

func (f *Fence) endLocked() {
	f.of.Store(nil)
	f.wakeLocked()
}

// Hold registers a client whose call is held back, to be woken later. It returns false if there is no fence any more.
func (f *Fence) Hold(c Client) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of.Load() == nil {
		return false
	}
	f.addLocked(c)
	return true
}
