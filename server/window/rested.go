package window

import (
	"sync"
	"time"
)

const (
	// lookRest is for how many times as long as it took a finding is shown again, so
	// that pages that are open take 0.5 % of a core however large what they show.
	lookRest = 200
	// lookShown is the age from which on a page says that it shows a finding again:
	// twice the time after which open pages renew themselves.
	lookShown = 10 * time.Second
	// maxFindings bounds how many findings are remembered of a kind.
	maxFindings = 32
)

// rested remembers what was found out, the longer the longer that took: a key that
// must be read from the disk, or a preview that is computed, holds the server up once
// and not with every look. What is quick is determined each time.
type rested[K comparable, V any] struct {
	watch func() time.Time // measures how long it takes

	mu sync.Mutex
	of map[K]finding[V] // guarded by mu
}

type finding[V any] struct {
	value V
	at    time.Time     // when it was found out
	took  time.Duration // which is what decides how long it is shown
}

func newRested[K comparable, V any]() *rested[K, V] {
	return &rested[K, V]{watch: time.Now, of: map[K]finding[V]{}}
}

// get returns what is remembered of k, or what load finds out. Errors are not
// remembered. A caller that comes meanwhile waits for the one that looks.
func (r *rested[K, V]) get(k K, now time.Time, load func() (V, error)) (finding[V], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.of[k]; ok {
		if age := now.Sub(f.at); age >= 0 && age < lookRest*f.took {
			return f, nil
		}
	}
	began := r.watch()
	value, err := load()
	if err != nil {
		return finding[V]{}, err
	}
	f := finding[V]{value, now, r.watch().Sub(began)}
	if len(r.of) >= maxFindings {
		r.forgetLocked()
	}
	r.of[k] = f
	return f, nil
}

// forgetLocked makes room for a finding in the place of the oldest.
func (r *rested[K, V]) forgetLocked() {
	var oldest K
	var at time.Time
	for k, f := range r.of {
		if at.IsZero() || f.at.Before(at) {
			oldest, at = k, f.at
		}
	}
	delete(r.of, oldest)
}

// ageNote says that a page shows a result determined for an earlier request.
func (f finding[V]) ageNote(now time.Time) string {
	if now.Sub(f.at) < lookShown {
		return ""
	}
	return "Details are those of " + ago(now, f.at) + ": finding them out took " + micros(float64(f.took.Microseconds())) +
		", which is not done with each look."
}
