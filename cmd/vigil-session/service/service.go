package service

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// alwaysDone is the command whose work counts even if no page waits for the
// answer any more.
const alwaysDone = wire.PageViewed

// ErrNoFilters is returned by Run if the server has no Bloom filters and the
// configuration needs them.
var ErrNoFilters = errors.New("the server does not have the BF commands: load the Bloom module, use vigil, or set filters = false " +
	"(pages seen, combos and notifications then go by what can be known without)")

// Options say what the zero value does not.
type Options struct {
	// Glob chooses the sessions, "?*" (all) by default. Instances with globs
	// that do not overlap share the work.
	Glob string
	// Now is the clock: time.Now.
	Now func() time.Time
	// Log takes the log; nil discards it.
	Log *slog.Logger
	// Metrics takes the metrics; nil discards them.
	Metrics prometheus.Registerer
	// Backoff is how long to wait before subscribing for the nth time after a
	// failure, n from 0: half to all of 50 ms doubled n times, 5 s at most.
	Backoff func(n int) time.Duration
	// Stop bounds a graceful stop: 10 s.
	Stop time.Duration
}

// Service is one microservice.
type Service struct {
	opts     Options
	rdb      *redis.Client
	settings atomic.Pointer[settings]
	now      func() time.Time
	log      *slog.Logger
	bounded  *boundedLog
	metrics  *metrics
	seed     maphash.Seed
	queues   []*queue
	ready    atomic.Bool // requests are heard
}

// New returns a service that works with the store of rdb, which should be made
// with ClientOptions.
func New(rdb *redis.Client, c config.Config, opts Options) *Service {
	if opts.Glob == "" {
		opts.Glob = "?*"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Backoff == nil {
		opts.Backoff = backoff
	}
	if opts.Stop == 0 {
		opts.Stop = 10 * time.Second
	}
	s := &Service{opts: opts, rdb: rdb, now: opts.Now, log: opts.Log, bounded: newBoundedLog(opts.Log), seed: maphash.MakeSeed()}
	s.settings.Store(newSettings(c))
	// Rounded up, so that a small queue is not none.
	each := (c.Limits.Queue + c.Limits.Workers - 1) / c.Limits.Workers
	for range c.Limits.Workers {
		s.queues = append(s.queues, newQueue(each, c.Limits.PerSession))
	}
	s.metrics = newMetrics(opts.Metrics, func() float64 { return float64(s.waiting()) })
	return s
}

// ClientOptions returns a copy of o for a service with so many workers: nothing
// is sent twice, and a server that does not reply is abandoned in the end.
// RESP2 is spoken unless o says otherwise: under RESP3 the library looks for
// notices of the server ahead of each reply, a tenth of a worker's time.
func ClientOptions(o *redis.Options, workers int) *redis.Options {
	p := *o
	p.Protocol = cmp.Or(o.Protocol, 2)
	p.MaxRetries = -1
	p.DialerRetries = 1
	p.DialTimeout = 2 * time.Second
	p.ReadTimeout = 3 * time.Second
	p.PipelinePoolSize = -1
	p.PoolSize = workers + 2 // and the subscriber's questions
	p.ReadBufferSize, p.WriteBufferSize = 64<<10, 64<<10
	return &p
}

// Run hears requests and answers them until ctx ends. Then it hears what was
// published before, answers it, and returns nil. Other returns: ErrNoFilters,
// at the first connection only.
func (s *Service) Run(ctx context.Context) error {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var workers sync.WaitGroup
	for _, q := range s.queues {
		workers.Go(func() { (&worker{Service: s, queue: q}).run(working) })
	}
	err := s.subscribe(ctx)
	for _, q := range s.queues {
		q.close()
	}
	limit := time.AfterFunc(s.opts.Stop, kill)
	defer limit.Stop()
	workers.Wait()
	if working.Err() != nil {
		s.log.Warn("stopped before everything was answered", "after", s.opts.Stop)
	}
	return err
}

// Ready says whether requests are heard.
func (s *Service) Ready() bool { return s.ready.Load() }

// Reload puts another configuration to use, from the next pipeline on. Names,
// workers and the size of the queue stay as they are; Reload returns the names
// of such settings if they would have changed.
func (s *Service) Reload(c config.Config) (kept []string) {
	old := s.settings.Load()
	if c.Names != old.Config.Names {
		kept = append(kept, "names")
		c.Names = old.Config.Names
	}
	if c.Limits.Workers != old.Limits.Workers {
		kept = append(kept, "limits.workers")
		c.Limits.Workers = old.Limits.Workers
	}
	if c.Limits.Queue != old.Limits.Queue {
		kept = append(kept, "limits.queue")
		c.Limits.Queue = old.Limits.Queue
	}
	for _, q := range s.queues {
		q.setPerSession(c.Limits.PerSession)
	}
	s.settings.Store(newSettings(c))
	s.metrics.reloads.WithLabelValues("taken").Inc()
	s.metrics.loaded.Set(1)
	return kept
}

// Refuse counts a configuration that was not good enough for Reload.
func (s *Service) Refuse() {
	s.metrics.reloads.WithLabelValues("refused").Inc()
	s.metrics.loaded.Set(0)
}

// hear puts a message into the queue of its session's worker.
func (s *Service) hear(channel, payload string) {
	set := s.settings.Load()
	r, err := set.names.Parse(channel)
	if err == nil && plans[r.Command] == nil {
		err = errors.New("unknown command")
	}
	if err != nil {
		s.metrics.malformed.Inc()
		s.bounded.warn("channel", "message without a request", "channel", clip(channel), "error", err)
		return
	}
	m := message{Request: r, payload: payload, heard: s.now()}
	if len(payload) > set.Limits.Payload {
		s.refused(m, errors.New("payload is too long"))
		return
	}
	q := s.queues[maphash.String(s.seed, r.Session)%uint64(len(s.queues))]
	switch err := q.push(m); {
	case errors.Is(err, errFlood):
		s.metrics.done(m, flood, m.heard)
		s.bounded.warn("flood", "request dropped: its session has too much waiting", "command", r.Command, "session", clip(r.Session))
	case err != nil:
		s.metrics.done(m, full, m.heard)
		s.bounded.warn("full", "request dropped: the queue is full", "command", r.Command)
	}
}

func (s *Service) waiting() (n int) {
	for _, q := range s.queues {
		n += q.length()
	}
	return n
}

// refused and lost count requests that get no answer, and log some of them.
func (s *Service) refused(m message, err error) {
	s.metrics.done(m, refused, m.heard)
	s.bounded.warn("refused", "request refused", "command", m.Command, "session", clip(m.Session),
		"payload", clip(m.payload), "error", err)
}

func (s *Service) lost(m message, err error) {
	s.metrics.done(m, failed, m.heard)
	s.bounded.warn("failed", "request failed", "command", m.Command, "session", clip(m.Session), "error", err)
}
