package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// batchSize limits a pipeline. Requests beyond it wait for one more round trip,
// which by then is a small part of what their work takes.
const batchSize = 64

// worker works on the requests of its sessions, one pipeline at a time.
type worker struct {
	*Service
	queue *queue
	batch []message // the request of each job, in order
	ready []reply   // answers that leave with the next pipeline
}

// job is a request in a pipeline.
type job struct {
	message
	work
	multi, exec *redis.Cmd // nil without calls; multi is nil with one
}

// reply is an answer that is ready, or in the pipeline when exec is set.
type reply struct {
	message
	text []byte
	exec *redis.Cmd
}

// run works until the queue is closed and empty. ctx ends what it does at once.
//
// Answers leave ahead of the next requests in the same pipeline, so a busy
// worker needs one round trip for each batch, an idle one two.
func (w *worker) run(ctx context.Context) {
	for more := true; more || len(w.ready) > 0; {
		w.batch, more = w.queue.take(w.batch[:0], batchSize, len(w.ready) == 0)
		w.turn(ctx)
	}
}

func (w *worker) turn(ctx context.Context) {
	s := w.settings.Load()
	pipe := w.rdb.Pipeline()
	for i := range w.ready {
		w.ready[i].exec = s.answer(ctx, pipe, w.ready[i])
	}
	jobs := w.plan(ctx, s, pipe)
	if pipe.Len() > 0 {
		// What failed shows in each command.
		_, _ = pipe.Exec(ctx)
		w.metrics.batch.Observe(float64(len(w.ready) + len(jobs)))
	}
	for _, r := range w.ready {
		if err := r.exec.Err(); err != nil {
			w.lost(r.message, fmt.Errorf("answer: %w", err))
			continue
		}
		w.metrics.done(r.message, answered, w.now())
	}
	w.ready = w.ready[:0]
	for _, j := range jobs {
		w.finish(s, j)
	}
}

// plan puts the work of the batch into the pipeline.
func (w *worker) plan(ctx context.Context, s *settings, pipe redis.Pipeliner) []job {
	jobs := make([]job, 0, len(w.batch))
	now := w.now()
	for _, m := range w.batch {
		if m.Command != alwaysDone && s.expired(m, now) {
			w.metrics.done(m, late, now)
			continue
		}
		work, err := plans[m.Command](s, m, now)
		if err != nil {
			w.refused(m, err)
			continue
		}
		j := job{message: m, work: work}
		if len(work.calls) > 1 {
			j.multi = pipe.Do(ctx, "multi")
		}
		for _, call := range work.calls {
			j.exec = pipe.Do(ctx, call...)
		}
		if j.multi != nil {
			j.exec = pipe.Do(ctx, "exec")
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// finish makes the answer of a job that has run.
func (w *worker) finish(s *settings, j job) {
	replies, err := j.replies()
	if err != nil {
		w.lost(j.message, err)
		return
	}
	text, err := j.work.answer(replies)
	if err != nil {
		w.lost(j.message, err)
		return
	}
	if now := w.now(); s.expired(j.message, now) {
		w.metrics.done(j.message, late, now)
		return
	}
	w.ready = append(w.ready, reply{message: j.message, text: text})
}

// replies are those of the job's calls.
func (j job) replies() ([]any, error) {
	switch {
	case j.exec == nil:
		return nil, nil
	case j.multi == nil:
		v, err := j.exec.Result()
		return []any{v}, err
	case j.multi.Err() != nil:
		return nil, j.multi.Err()
	}
	all, err := j.exec.Slice()
	if err != nil {
		return nil, err
	}
	if len(all) != len(j.calls) {
		return nil, fmt.Errorf("%d replies to %d commands", len(all), len(j.calls))
	}
	for _, v := range all {
		if err, ok := v.(error); ok && !errors.Is(err, redis.Nil) {
			return nil, err
		}
	}
	return all, nil
}

// answer puts an answer into the pipeline: on the list of its request, where it
// expires if no page takes it. Both happen or neither.
func (s *settings) answer(ctx context.Context, pipe redis.Pipeliner, r reply) *redis.Cmd {
	list := s.names.List(r.Request)
	pipe.Do(ctx, "multi")
	pipe.Do(ctx, "lpush", list, r.text)
	pipe.Do(ctx, "pexpire", list, s.answerTTL)
	return pipe.Do(ctx, "exec")
}

// expired reports whether the page of m was served without its answer.
func (s *settings) expired(m message, now time.Time) bool {
	return now.Sub(m.heard) > s.Budget.Duration
}
