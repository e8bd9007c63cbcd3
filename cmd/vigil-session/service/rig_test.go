package service

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
	"github.com/vigildb/vigil/server"
)

// patient is a limit that no test reaches, on a loaded machine either.
const patient = time.Minute

// stage is a server, a microservice on it and the serving layer.
type stage struct {
	t       *testing.T
	server  *rig.Server
	service *Service
	web     *webtier.Client
	rdb     *redis.Client // of the test
	pipes   *gate
	log     *logBuffer
	clock   atomic.Int64 // minutes that the microservice's clock is ahead of noon
	stop    func() error // ends the microservice gracefully
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func testConfig() config.Config {
	c := config.Default()
	c.Budget.Duration, c.AnswerTTL.Duration = patient, patient
	return c
}

// perform sets the stage and waits until the microservice hears.
func perform(t *testing.T, c config.Config, opts Options) *stage {
	t.Helper()
	return performOn(t, rig.Start(t, server.Options{Seed: 1}), c, opts)
}

func performOn(t *testing.T, srv *rig.Server, c config.Config, opts Options) *stage {
	t.Helper()
	s := &stage{t: t, server: srv, rdb: srv.Client(t), log: &logBuffer{}, pipes: &gate{}}
	own := redis.NewClient(ClientOptions(&redis.Options{Network: "unix", Addr: srv.Addr}, c.Limits.Workers))
	own.AddHook(s.pipes)
	opts.Now = func() time.Time { return noon.Add(time.Duration(s.clock.Load()) * time.Minute) }
	opts.Log = slog.New(slog.NewTextHandler(s.log, nil))
	opts.Metrics = prometheus.NewRegistry()
	opts.Backoff = func(int) time.Duration { return time.Millisecond }
	s.service = New(own, c, opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.service.Run(ctx) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	pool := redis.NewClient(webtier.Pool(&redis.Options{Network: "unix", Addr: srv.Addr}, 64))
	s.web = webtier.New(pool, webtier.Options{Budget: patient, Prefix: c.Names.Channels, Async: c.Names.Answers})
	t.Cleanup(func() {
		s.pipes.open()
		if err := s.stop(); err != nil {
			t.Errorf("microservice: %v", err)
		}
		own.Close()
		pool.Close()
	})
	s.until("subscribed", s.service.Ready)
	return s
}

// until polls: what it waits for happens in another goroutine or the server.
func (s *stage) until(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.After(patient); !done(); {
		select {
		case <-deadline:
			s.t.Fatalf("%s: never\n%s", what, s.log)
		case <-time.After(time.Millisecond):
		}
	}
}

// ask expects an answer, letter by letter.
func (s *stage) ask(command, session, payload, want string) {
	s.t.Helper()
	got, err := s.web.Ask(s.t.Context(), command, session, payload)
	if string(got) != want || err != nil {
		s.t.Errorf("%s %.40q of %s:\ngot  %s, %v\nwant %s", command, payload, session, got, err, want)
	}
}

// publish sends a request whose id the test chooses.
func (s *stage) publish(r wire.Request, payload string) {
	s.t.Helper()
	n, err := s.rdb.Publish(s.t.Context(), wire.Names{}.Channel(r), payload).Result()
	if n != 1 || err != nil {
		s.t.Fatalf("publish %v: %d receivers, %v", r, n, err)
	}
}

// answers are all elements on the list of r, or none.
func (s *stage) answers(r wire.Request) []string {
	s.t.Helper()
	all, err := s.rdb.LRange(s.t.Context(), wire.Names{}.List(r), 0, -1).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// count is how many requests had the outcome.
func (s *stage) count(command string, o outcome) int {
	return int(testutil.ToFloat64(s.service.metrics.requests.WithLabelValues(command, string(o))))
}

func (s *stage) expectCount(command string, o outcome, want int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d of %s %s, not %d", want, command, o, s.count(command, o)), func() bool { return s.count(command, o) >= want })
	if got := s.count(command, o); got != want {
		s.t.Errorf("%s %s: got %d, want %d", command, o, got, want)
	}
}

// gate is a hook that holds pipelines up, makes them fail, and answers COMMAND
// INFO as a server without modules does.
type gate struct {
	mu       sync.Mutex    // guards what follows
	shut     chan struct{} // not nil while pipelines are held up; closed to let them go on
	held     atomic.Int64
	noModule atomic.Bool
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c, ok := cmd.(*redis.Cmd); ok && g.noModule.Load() && cmd.Name() == "command" {
			c.SetVal([]any{nil})
			return nil
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut != nil {
			g.held.Add(1)
			<-shut
		}
		return next(ctx, cmds)
	}
}

// logBuffer is a log that a test may read while it grows.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) lines(with string) int { return strings.Count(l.String(), with) }

// metricValue is a counter or gauge without labels.
func metricValue(t *testing.T, s *stage, name string) float64 {
	t.Helper()
	families, err := s.service.opts.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
