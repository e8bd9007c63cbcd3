package persistence

import (
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

// task is a Task with its end.
type task struct {
	name   string
	wake   chan struct{}
	period time.Duration
	step   func(periodic bool)
	last   func() // the last step, made by Close; nil if there is nothing to be ended

	mu    sync.Mutex // held during a step: the last one follows all others
	ended bool       // guarded by mu
}

// signal gives the task a token.
func (t *task) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *task) run(periodic bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.step(periodic)
	}
}

// try is run without waiting for a step that is being made. It reports false if there is one, or no task yet.
func (t *task) try() bool {
	if t == nil || !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	if !t.ended {
		t.step(false)
	}
	return true
}

func (t *task) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.last != nil {
		t.last()
	}
}

// touchTask is the task that touches pages of the slabs ahead of their use.
func (s *Store) touchTask() *task {
	t := &task{name: "touch", wake: make(chan struct{}, 1)}
	t.step = func(bool) {
		if s.keyspace.Pool.TouchNext() {
			t.signal() // perhaps there is more
		}
	}
	s.keyspace.Pool.NotifyTouch(t.signal)
	return t
}

// startTasks begins the background work.
func (s *Store) startTasks() {
	commit := s.commitTask
	if s.member != nil {
		commit = s.memberTask
	}
	committing := commit()
	s.committing.Store(committing)
	tasks := []*task{committing, s.materialiseTask(), s.warmTask(), s.touchTask()}
	if s.opts.Reserve > 0 {
		tasks = append(tasks, s.roomTask())
	}
	for _, t := range tasks {
		loop := s.loop
		if s.opts.Background != nil {
			loop = func(*task) { <-s.ctx.Done() }
			s.opts.Background(Task{Name: t.name, Wake: t.wake, Period: t.period, Step: t.run})
		}
		s.work.Add(1)
		// Each ends with s.ctx, independently: a running step may wait for the
		// last step of another task.
		go func() {
			defer s.work.Done()
			loop(t)
			t.end()
		}()
	}
}

// loop makes the steps of a task when they are due.
func (s *Store) loop(t *task) {
	var tick <-chan time.Time
	if t.period > 0 {
		ticker := time.NewTicker(t.period)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-t.wake:
			t.run(false)
		case <-tick:
			t.run(true)
		case <-s.ctx.Done():
			return
		}
	}
}
