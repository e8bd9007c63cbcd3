package window

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// stepTime bounds one step of the search, and stepKeys one call of it.
	stepTime = 10 * time.Millisecond
	stepKeys = 1000
	// stepPause is the minimum time between two steps, regardless of requests,
	// and passPause that between two passes.
	stepPause = time.Second
	passPause = 30 * time.Second
	// maxFound bounds the schedules, and the maps, that are remembered.
	maxFound = 64
)

// keyRef names a key.
type keyRef struct {
	DB  int
	Key string
}

func (k keyRef) compare(o keyRef) int {
	return cmp.Or(cmp.Compare(k.DB, o.DB), cmp.Compare(k.Key, o.Key))
}

// found is what a search for schedules and placement maps has brought so far.
type found struct {
	schedules, maps []keyRef // in order
	Share           float64  // of the keys that the pass under way has seen
	Done            bool     // a pass was finished: nothing is missing but what is new
}

// discovery looks for schedules and maps by SCAN. Every look at the window takes it
// a step further, so that no look walks the keyspace; a store of millions of keys is
// searched step by step, while pages are viewed.
type discovery struct {
	mu     sync.Mutex
	at     time.Time                      // of the last step; guarded by mu
	place  place                          // guarded by mu
	old    map[string]map[keyRef]struct{} // by type: of the last pass; guarded by mu
	new    map[string]map[keyRef]struct{} // of this one; guarded by mu
	done   bool                           // there was a whole pass; guarded by mu
	rested bool                           // no pass is under way; guarded by mu
}

const (
	typeSchedule = "schedule"
	typeMap      = "placement"
)

// discover continues the search by a step and returns what it has found.
func (w *Window) discover(f *figures) found {
	d := &w.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	pause := stepPause
	if d.rested {
		pause = passPause
	}
	now := w.now()
	if gone := now.Sub(d.at); (gone >= pause || gone < 0) && !f.Loading() {
		d.at, d.rested = now, false
		d.stepLocked(w.observer, f)
	}
	share := 1.0
	if !d.rested {
		share = min(1, d.place.seen/max(1, f.Keys()))
	}
	return found{d.listLocked(typeSchedule), d.listLocked(typeMap), share, d.done}
}

// stepLocked continues until stepTime is over or the pass is at its end. After
// an error the next step continues from there.
func (d *discovery) stepLocked(o *observer, f *figures) {
	if d.new == nil {
		d.new = map[string]map[keyRef]struct{}{typeSchedule: {}, typeMap: {}}
	}
	for began := time.Now(); time.Since(began) < stepTime; {
		if !d.place.next(f) {
			d.old, d.new, d.done, d.rested = d.new, nil, true, true
			return
		}
		kinds := []string{typeSchedule, typeMap}
		var calls []call
		for _, kind := range kinds {
			calls = append(calls, call{"SCAN", d.place.cursor, "COUNT", strconv.Itoa(stepKeys), "TYPE", kind})
		}
		answers, err := o.Ask(answerTime, d.place.db, calls...)
		if err != nil {
			return
		}
		for i, kind := range kinds {
			parts := answers[i].List()
			if len(parts) != 2 {
				return // SCAN was renamed away, or refused
			}
			for _, key := range parts[1].List() {
				if len(d.new[kind]) < maxFound {
					d.new[kind][keyRef{d.place.db, key.String()}] = struct{}{}
				}
			}
			d.place.cursor = parts[0].String()
		}
		d.place.seen += stepKeys
	}
}

// place is where a pass over all keys is.
type place struct {
	db     int
	cursor string  // in db; "" before the first
	seen   float64 // keys that it has been asked to look at
}

// next begins the next database that has keys when one is at its end. It reports false after the last one, and begins anew then.
func (p *place) next(f *figures) bool {
	if p.cursor != "" && p.cursor != "0" {
		return true
	}
	from := p.db + 1
	if p.cursor == "" {
		from = 0
	}
	for _, db := range f.Databases {
		if db.Number >= from {
			p.db, p.cursor = db.Number, "0"
			return true
		}
	}
	*p = place{}
	return false
}

// listLocked are the keys of the pass under way, and until it is finished those of
// the last one.
func (d *discovery) listLocked(kind string) []keyRef {
	all := map[keyRef]struct{}{}
	maps.Copy(all, d.old[kind])
	maps.Copy(all, d.new[kind])
	return slices.SortedFunc(maps.Keys(all), keyRef.compare)
}

// keyFigures is the reply of SCHED.INFO or PLACE.INFO for a key.
type keyFigures struct {
	keyRef
	fields map[string]answer
}

func (k keyFigures) text(name string) string    { return k.fields[name].String() }
func (k keyFigures) number(name string) float64 { return report.Number(k.fields[name].String()) }

// keyQuestion is which keys are described, and by which command.
type keyQuestion struct{ command, keys string }

// describeKeys returns the figures of keys, of most at most. Keys that are gone, or
// hold something else by now, are left out.
func (w *Window) describeKeys(command string, keys []keyRef, most int) []keyFigures {
	keys = keys[:min(len(keys), most)]
	found, err := w.keys.get(keyQuestion{command, fmt.Sprintf("%#v", keys)}, w.now(), func() ([]keyFigures, error) {
		return w.askKeys(command, keys)
	})
	if err != nil {
		return nil
	}
	return found.value
}

func (w *Window) askKeys(command string, keys []keyRef) (all []keyFigures, err error) {
	for len(keys) > 0 {
		n := 1 // calls to one database go together
		for n < len(keys) && keys[n].DB == keys[0].DB {
			n++
		}
		var calls []call
		for _, k := range keys[:n] {
			calls = append(calls, call{command, k.Key})
		}
		answers, err := w.observer.Ask(answerTime, keys[0].DB, calls...)
		if err != nil {
			return nil, err
		}
		for i, a := range answers {
			if a.Err() == nil {
				all = append(all, keyFigures{keys[i], a.Pairs()})
			}
		}
		keys = keys[n:]
	}
	return all, nil
}
