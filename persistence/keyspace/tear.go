package keyspace

import (
	"errors"
	"sync"
	"sync/atomic"
)

// ErrTorn is why background work ends while memory is torn.
var ErrTorn = errors.New("persistence: memory is being made anew")

// Tear is what is known of memory that is torn.
type Tear struct {
	is     atomic.Bool
	failed atomic.Pointer[error] // of the last attempt, nil while there is none

	mu    sync.Mutex
	ended sync.Cond // an attempt has ended; its L is &mu
}

func (r *Tear) init() { r.ended.L = &r.mu }

// Torn reports whether memory is torn.
func (r *Tear) Torn() bool { return r.is.Load() }

// Sound reports that transactions need not wait: memory is as it should be, or cannot be
// made anew for now, so that they get an error.
func (r *Tear) Sound() bool { return !r.is.Load() || r.failed.Load() != nil }

// Failure returns why memory cannot be used, nil if it can.
func (r *Tear) Failure() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Set notes that memory is torn. A lock of what is torn is held.
func (r *Tear) Set() { r.is.Store(true) }

// Over ends an attempt.
func (r *Tear) Over(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed.Store(&err)
	} else {
		r.failed.Store(nil)
		r.is.Store(false)
	}
	r.ended.Broadcast()
}

// Wait waits until transactions need not wait.
func (r *Tear) Wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.Sound() {
		r.ended.Wait()
	}
}
