package window

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// appraiseTime is how long SCHED.COST may take, and maxAppraised up to how many
	// nodes it is asked.
	appraiseTime = 10 * time.Second
	maxAppraised = 20_000
	// appraisePause is the least time between two costs of a schedule. After one
	// that took long it is restTimes that, so that looking takes little of the
	// machine regardless of the schedules.
	appraisePause = 10 * time.Second
	restTimes     = 400
	// maxCosts is how many costs of a schedule are kept, and maxSeries of how many
	// schedules: those looked at last.
	maxCosts  = 120
	maxSeries = 32
)

// cost is the cost or reward of a schedule's policy at a time, and the bound.
type cost struct {
	At           time.Time
	Policy       string
	Method       string
	Rewards      bool // Value is earned, and Bound the most that can be
	Value, Bound float64
	Ratio        float64
}

// series are the costs of a schedule while its page was viewed.
type series struct {
	looked time.Time // last
	due    time.Time // of the next cost
	costs  []cost    // the oldest first
	err    error     // of the last try
}

// appraiser determines the costs of schedules, one after the other and outside
// requests, because each may take seconds. It works only while pages are
// viewed.
type appraiser struct {
	observer *observer

	mu      sync.Mutex
	busy    bool               // guarded by mu
	closed  bool               // guarded by mu
	of      map[keyRef]*series // guarded by mu
	workers sync.WaitGroup     // the one that is busy; it ends with its result, or with close
}

func newAppraiser(o *observer) *appraiser {
	return &appraiser{observer: o, of: map[keyRef]*series{}}
}

// look returns the costs that are known of a schedule, and begins to find out the next one
// if it is due. done is closed when nothing is under way for it.
func (a *appraiser) look(k keyRef, now time.Time) (costs []cost, done <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.of[k]
	if s == nil {
		a.forgetLocked()
		s = &series{}
		a.of[k] = s
	}
	s.looked = now
	ready := make(chan struct{})
	if a.busy || a.closed || now.Before(s.due) {
		close(ready)
	} else {
		a.busy = true
		a.workers.Add(1)
		go func() {
			defer a.workers.Done()
			defer close(ready)
			a.appraise(k, s, now)
		}()
	}
	return append([]cost(nil), s.costs...), ready, s.err
}

// forgetLocked makes room for a series.
func (a *appraiser) forgetLocked() {
	var oldest keyRef
	var at time.Time
	for k, s := range a.of {
		if at.IsZero() || s.looked.Before(at) {
			oldest, at = k, s.looked
		}
	}
	if len(a.of) >= maxSeries {
		delete(a.of, oldest)
	}
}

func (a *appraiser) appraise(k keyRef, s *series, now time.Time) {
	began := time.Now()
	answers, err := a.observer.Ask(appraiseTime, k.DB, call{"SCHED.COST", k.Key})
	took := time.Since(began)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = false
	s.due = now.Add(max(appraisePause, restTimes*took))
	if s.err = err; err != nil {
		return
	}
	if s.err = answers[0].Err(); s.err != nil {
		return
	}
	s.costs = append(s.costs, readCost(answers[0].Pairs(), now))
	s.costs = s.costs[max(0, len(s.costs)-maxCosts):]
}

func readCost(v map[string]answer, now time.Time) cost {
	c := cost{At: now, Policy: v["policy"].String(), Method: v["method"].String(), Ratio: report.Number(v["ratio"].String())}
	if reward, ok := v["reward"]; ok {
		c.Rewards, c.Value, c.Bound = true, report.Number(reward.String()), report.Number(v["bound"].String())
	} else {
		c.Value, c.Bound = report.Number(v["cost"].String()), report.Number(v["lb3"].String())
	}
	return c
}

// close ends what is under way and waits for it.
func (a *appraiser) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.observer.Close()
	a.workers.Wait()
}
