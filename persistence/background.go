package persistence

import (
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/persistence/tasks"
)

// Task is a part of the background work: "commit", "materialise", "warm", "touch" or "room".
type Task = tasks.Task

// startTasks begins the background work.
func (s opener) startTasks() {
	var commit *tasks.Work
	if m := s.member; m != nil { // what is journalled is proposed
		commit = &tasks.Work{Name: "commit", Wake: m.Wake(), Period: commits.Period, Step: m.Step, Last: m.SyncLater}
	} else {
		commit = s.commits.Start()
	}
	s.commits.Serve(commit)
	list := []*tasks.Work{commit, s.passes.Work(), s.warmer.Work(), touchTask(&s.keyspace.Pool)}
	if s.opts.Reserve > 0 {
		list = append(list, &tasks.Work{Name: "room", Period: reserve.Period, Step: func(bool) {
			s.reserve.Watch(func() bool { return s.files.Disk.Err() == nil })
		}})
	}
	s.tasks.Start(s.ctx, s.opts.Background, list...)
}

// touchTask is the task that touches pages of the slabs ahead of their use.
func touchTask(pool *slab.Pool) *tasks.Work {
	t := &tasks.Work{Name: "touch", Wake: make(chan struct{}, 1)}
	t.Step = func(bool) {
		if pool.TouchNext() {
			t.Signal() // perhaps there is more
		}
	}
	pool.NotifyTouch(t.Signal)
	return t
}
