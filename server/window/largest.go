package window

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// maxLargest is how many keys are kept.
	maxLargest = 20
	// surveyKeys is how many keys a step looks at in a call.
	surveyKeys = 500
	// maxKept is up to which length names of keys are kept: longer ones cannot be in an address.
	maxKept = 4096
)

// sized is a key with its memory.
type sized struct {
	keyRef
	bytes int64
}

// survey looks for the largest keys by SCAN and MEMORY USAGE. As the search for schedules it goes on with each look, so that
// none walks the keyspace.
type survey struct {
	mu       sync.Mutex
	at       time.Time // of the last step; guarded by mu
	place    place     // guarded by mu
	old, new []sized   // of the last pass and of this one, the largest first; guarded by mu
	done     bool      // there was a whole pass; guarded by mu
	rested   bool      // no pass is under way; guarded by mu
}

// largest continues the survey by a step and returns what it has found, and in which share of the keys. done says that a pass has
// been finished.
func (w *Window) largest(f *figures) (keys []sized, share float64, done bool) {
	s := &w.survey
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := stepPause
	if s.rested {
		pause = passPause
	}
	now := w.now()
	if gone := now.Sub(s.at); gone >= pause || gone < 0 {
		s.at, s.rested = now, false
		s.stepLocked(w.observer, f)
	}
	share = 1
	if !s.rested {
		share = min(1, s.place.seen/max(1, f.Keys()))
	}
	keys = slices.Concat(s.old, s.new)
	slices.SortFunc(keys, compareSized)
	keys = slices.CompactFunc(keys, func(a, b sized) bool { return a.keyRef == b.keyRef })
	return keys[:min(len(keys), maxLargest)], share, s.done
}

func compareSized(a, b sized) int {
	return cmp.Or(cmp.Compare(b.bytes, a.bytes), a.compare(b.keyRef))
}

// stepLocked continues until stepTime is over or the pass is at its end. After
// an error the next step continues from there.
func (s *survey) stepLocked(o *observer, f *figures) {
	for began := time.Now(); time.Since(began) < stepTime; {
		if !s.place.next(f) {
			s.old, s.new, s.done, s.rested = s.new, nil, true, true
			return
		}
		answers, err := o.Ask(answerTime, s.place.db, call{"SCAN", s.place.cursor, "COUNT", strconv.Itoa(surveyKeys)})
		if err != nil {
			return
		}
		parts := answers[0].List()
		if len(parts) != 2 {
			return // SCAN was renamed away, or refused
		}
		var calls []call
		for _, key := range parts[1].List() {
			if len(key.Data) <= maxKept {
				calls = append(calls, call{"MEMORY", "USAGE", key.String()})
			}
		}
		if answers, err = o.Ask(answerTime, s.place.db, calls...); err != nil {
			return
		}
		for i, a := range answers {
			if a.Err() == nil {
				s.addLocked(sized{keyRef{s.place.db, calls[i][2]}, a.Int()})
			}
		}
		s.place.cursor = parts[0].String()
		s.place.seen += surveyKeys
	}
}

// addLocked keeps a key if it is one of the largest.
func (s *survey) addLocked(k sized) {
	if len(s.new) == maxLargest && k.bytes <= s.new[maxLargest-1].bytes {
		return
	}
	i, _ := slices.BinarySearchFunc(s.new, k, compareSized)
	s.new = slices.Insert(s.new, i, k)
	s.new = s.new[:min(len(s.new), maxLargest)]
}

// hotKeys is what HOTKEYS has found.
type hotKeys struct {
	ByTime, ByBytes []hotRow
	Began           string
	Active          bool
	None            bool // nothing was counted
}

type hotRow struct{ Link, Name, Amount, Width string }

// hottest shows the keys that HOTKEYS has found and the visitor may read. The server does not count them by database.
func (w *Window) hottest(v *visitor, now time.Time) (*hotKeys, error) {
	answers, err := w.observer.Ask(answerTime, 0, call{"HOTKEYS", "GET"})
	if err != nil {
		return nil, err
	}
	list := answers[0].List()
	if len(list) == 0 {
		return &hotKeys{None: true}, nil
	}
	fields := list[0].Pairs()
	began := time.UnixMilli(fields["collection-start-time-unix-ms"].Int())
	h := &hotKeys{Active: fields["tracking-active"].Int() == 1, Began: ago(now, began)}
	h.ByTime = hotRows(v, fields["by-cpu-time-us"], micros)
	h.ByBytes = hotRows(v, fields["by-net-bytes"], size)
	return h, nil
}

func hotRows(v *visitor, a answer, show func(float64) string) (rows []hotRow) {
	list := a.List()
	var keys []keyRef
	amounts := map[keyRef]float64{}
	for i := 0; i+1 < len(list); i += 2 {
		k := keyRef{0, list[i].String()}
		keys = append(keys, k)
		amounts[k] = report.Number(list[i+1].String())
	}
	most := 1.0
	for _, n := range amounts {
		most = max(most, n)
	}
	for _, k := range v.visible(keys, "TYPE") {
		rows = append(rows, hotRow{Link: keyLink("key", k), Name: name(k.Key), Amount: show(amounts[k]), Width: width(amounts[k] / most)})
	}
	return rows
}
