package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Queue is a queue of jobs. Any number of producers and workers, in this process or
// in others, share one by its Prefix.
type Queue struct {
	Redis  *redis.Client
	Prefix string
	Lease  time.Duration // how long a worker may take for its batch; then others get the jobs
	Tries  int64         // how often a job is tried, at least 1
	Batch  int64         // how many jobs a worker takes at once, at least 1
	Wait   time.Duration // how long a worker waits for a job, not at all if negative; it looks as often for jobs that are due
}

// Job is one piece of work.
type Job struct {
	ID   string // of its entry in the stream
	Kind string
	Body string
}

// Counts says how many jobs there are.
type Counts struct {
	Open  int64 // waiting for a worker, or taken by one
	Taken int64 // of the open ones, those taken by a worker
	Later int64 // not due yet
	Dead  int64 // given up
}

// group is the name of the consumer group that all workers are in.
const group = "workers"

// All keys have one hash tag, so that they are on one node of a cluster.
func (q *Queue) jobs() string  { return "{" + q.Prefix + "}:jobs" }
func (q *Queue) later() string { return "{" + q.Prefix + "}:later" }
func (q *Queue) dead() string  { return "{" + q.Prefix + "}:dead" }

// Open makes the stream and its group, unless they are there. Jobs that were added
// before are in the group.
func (q *Queue) Open(ctx context.Context) error {
	err := q.Redis.XGroupCreateMkStream(ctx, q.jobs(), group, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return fmt.Errorf("open %s: %w", q.Prefix, err)
	}
	return nil
}

// Add adds a job and returns its ID.
func (q *Queue) Add(ctx context.Context, kind, body string) (id string, err error) {
	return q.Redis.XAdd(ctx, &redis.XAddArgs{Stream: q.jobs(), Values: []any{"kind", kind, "body", body}}).Result()
}

// addLater takes the server's time, so that the clocks of producers and workers need
// not agree.
var addLater = redis.NewScript(`
local time = redis.call('TIME')
local due = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
return redis.call('ZADD', KEYS[1], 'NX', due, cjson.encode({ARGV[2], ARGV[3], ARGV[4]}))
`)

// AddLater adds a job that becomes open after a delay. A job whose ticket, kind and body
// equal those of a waiting one is not added again: two equal jobs need two tickets.
func (q *Queue) AddLater(ctx context.Context, ticket, kind, body string, delay time.Duration) error {
	return addLater.Run(ctx, q.Redis, []string{q.later()}, delay.Milliseconds(), ticket, kind, body).Err()
}

// release moves due jobs into the stream and returns how many, ARGV[1] at most.
var release = redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do
	local job = cjson.decode(member)
	redis.call('XADD', KEYS[2], '*', 'kind', job[2], 'body', job[3])
	redis.call('ZREM', KEYS[1], member)
end
return #due
`)

// Release opens jobs whose time has come, 100 at most, and returns how many. Workers do it.
func (q *Queue) Release(ctx context.Context) (int64, error) {
	return release.Run(ctx, q.Redis, []string{q.later(), q.jobs()}, 100).Int64()
}

// Counts counts the jobs. The figures are of one moment.
func (q *Queue) Counts(ctx context.Context) (c Counts, err error) {
	var open, later, dead *redis.IntCmd
	var taken *redis.XPendingCmd
	_, err = q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		open, later, dead = p.XLen(ctx, q.jobs()), p.ZCard(ctx, q.later()), p.XLen(ctx, q.dead())
		taken = p.XPending(ctx, q.jobs(), group)
		return nil
	})
	if err != nil {
		return c, err
	}
	return Counts{Open: open.Val(), Taken: taken.Val().Count, Later: later.Val(), Dead: dead.Val()}, nil
}

// done removes jobs that were done. It is one transaction: a job that is acknowledged
// but still in the stream would count as open for ever.
func (q *Queue) done(ctx context.Context, ids ...string) error {
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.XAck(ctx, q.jobs(), group, ids...)
		p.XDel(ctx, q.jobs(), ids...)
		return nil
	})
	return err
}

// bury moves a job to the dead ones, with the number of its tries.
func (q *Queue) bury(ctx context.Context, j Job, tries int64) error {
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.XAdd(ctx, &redis.XAddArgs{Stream: q.dead(), MaxLen: 10000, Approx: true,
			Values: []any{"id", j.ID, "kind", j.Kind, "body", j.Body, "tries", tries}})
		p.XAck(ctx, q.jobs(), group, j.ID)
		p.XDel(ctx, q.jobs(), j.ID)
		return nil
	})
	return err
}

// retry is a script, since of two callers one finds the job.
var retry = redis.NewScript(`
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local job = {}
for i = 1, #entry[2], 2 do job[entry[2][i]] = entry[2][i + 1] end
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], '*', 'kind', job.kind, 'body', job.body)
return 1
`)

// Retry opens a dead job again, with a new ID, and reports whether there was one with
// that ID in the stream of the dead.
func (q *Queue) Retry(ctx context.Context, deadID string) (bool, error) {
	return retry.Run(ctx, q.Redis, []string{q.dead(), q.jobs()}, deadID).Bool()
}

func jobOf(m redis.XMessage) Job {
	kind, _ := m.Values["kind"].(string)
	body, _ := m.Values["body"].(string)
	return Job{ID: m.ID, Kind: kind, Body: body}
}
