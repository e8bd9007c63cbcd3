package tasks

import (
	"context"
	"sync"
	"time"
)

// Task is a part of the background work, made step by step. A step is due when
// Wake has a token, which the caller takes, and once each Period. One that is not
// due does no harm: there is nothing to be done.
type Task struct {
	Name   string // "commit", "materialise", "warm", "touch", "room"
	Wake   <-chan struct{}
	Period time.Duration // 0: only when woken
	// Step makes one step; periodic says that a Period is over. It may wait for the
	// disk and for steps of other tasks. After Close it does nothing.
	Step func(periodic bool)
}

// Work is a Task with its end.
type Work struct {
	Name   string
	Wake   chan struct{} // has room for a token
	Period time.Duration
	Step   func(periodic bool)
	Last   func() // the last step; nil if there is nothing to be ended

	mu    sync.Mutex // held during a step: the last one follows all others
	ended bool       // guarded by mu
}

// Signal gives the work a token.
func (w *Work) Signal() {
	select {
	case w.Wake <- struct{}{}:
	default:
	}
}

func (w *Work) run(periodic bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.Step(periodic)
	}
}

// Try makes a step without waiting for one that is being made. It reports false if there is one, or no work yet.
func (w *Work) Try() bool {
	if w == nil || !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	if !w.ended {
		w.Step(false)
	}
	return true
}

func (w *Work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.Last != nil {
		w.Last()
	}
}

// Group is work that ends together.
type Group struct{ all sync.WaitGroup }

// Start begins work, which ends with ctx. background is given each Task and makes its steps from then on; nil is a goroutine for each,
// which does so when they are due.
func (g *Group) Start(ctx context.Context, background func(Task), list ...*Work) {
	for _, w := range list {
		steps := w.loop
		if background != nil {
			steps = func(ctx context.Context) { <-ctx.Done() }
			background(Task{Name: w.Name, Wake: w.Wake, Period: w.Period, Step: w.run})
		}
		// Each ends with ctx, independently: a running step may wait for the
		// last step of another task.
		g.all.Go(func() {
			steps(ctx)
			w.end()
		})
	}
}

// Wait returns when all work has made its last step.
func (g *Group) Wait() { g.all.Wait() }

// loop makes the steps when they are due.
func (w *Work) loop(ctx context.Context) {
	var tick <-chan time.Time
	if w.Period > 0 {
		ticker := time.NewTicker(w.Period)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-w.Wake:
			w.run(false)
		case <-tick:
			w.run(true)
		case <-ctx.Done():
			return
		}
	}
}
