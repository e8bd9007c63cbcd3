package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
)

// tally is what visitors experienced.
type tally struct {
	pages    []time.Duration // waits of the measured pages
	degraded int             // of them, without an answer
	wrong    int             // answers that belong to another request
	lost     int64           // page views that were heard, and not counted
}

func (t *tally) add(o tally) {
	t.pages = append(t.pages, o.pages...)
	t.degraded += o.degraded
	t.wrong += o.wrong
}

// visitor is one session in its browser.
type visitor struct {
	session string
	web     *webtier.Client
	rng     *rand.Rand
	seen    int64 // page views of the newest answer
	heard   int64 // page views that the microservice heard, for certain
	told    int64 // page views that it may have heard
	tally
}

// visit views pages until ctx ends; those of the time when measuring says so
// are measured.
func (v *visitor) visit(ctx context.Context, think time.Duration, measuring func() bool) {
	wait := time.NewTimer(time.Duration(v.rng.Float64() * float64(think)))
	defer wait.Stop()
	for page := 1; ; page++ {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		v.view(page, measuring())
		if page%10 == 0 {
			v.mark(page)
		}
		wait.Reset(time.Duration(v.rng.ExpFloat64() * float64(think)))
	}
}

// view is one page. A page view that was heard is counted even if its answer
// came too late; so the count must be beyond the last one, and not beyond what
// was published.
func (v *visitor) view(page int, measured bool) {
	began := time.Now()
	got, err := v.web.PageView(context.Background(), v.session, fmt.Sprintf("/added/item-%d", page%50))
	took := time.Since(began)
	switch {
	case err == nil, errors.Is(err, webtier.ErrNoAnswer), errors.Is(err, webtier.ErrAnswer):
		v.heard++
		v.told++
	case errors.Is(err, webtier.ErrStore):
		v.told++
	}
	if measured {
		v.pages = append(v.pages, took)
	}
	switch {
	case err != nil:
		if measured {
			v.degraded++
		}
		if errors.Is(err, webtier.ErrAnswer) {
			v.wrong++
		}
	case got.TotalPages <= v.seen || got.TotalPages > v.told:
		v.wrong++
	default:
		v.seen = got.TotalPages
	}
}

// mark asks for an answer that no other request has.
func (v *visitor) mark(page int) {
	text := fmt.Sprintf("notification %d of %s", page, v.session)
	answer, err := v.web.Ask(context.Background(), "mark-notification-seen", v.session, text)
	if err == nil && string(answer) != `"`+text+`"` {
		v.wrong++
	}
}

// run puts n visitors on the server for the time, and returns their tally and
// the CPU that server and microservice used in the measured part.
func (o options) run(ctx context.Context, s *stage, n int) (total tally, server, service time.Duration, err error) {
	// Fewer connections than visitors: a page holds one only while it waits.
	rdb := redis.NewClient(webtier.Pool(&redis.Options{Addr: s.rdb.Options().Addr}, min(n, 512)))
	defer rdb.Close()
	web := webtier.New(rdb, webtier.Options{Waiting: n})
	began := time.Now()
	from, to := began.Add(o.warm), began.Add(o.warm+o.length)
	visiting, cancel := context.WithDeadline(ctx, to)
	defer cancel()
	measuring := func() bool { return time.Now().After(from) }
	visitors := make([]*visitor, n)
	var wg sync.WaitGroup
	for i := range visitors {
		v := &visitor{session: fmt.Sprintf("visitor%d", i), web: web, rng: rand.New(rand.NewPCG(o.seed, uint64(i)))}
		visitors[i] = v
		wg.Go(func() { v.visit(visiting, o.think, measuring) })
	}
	select {
	case <-time.After(time.Until(from)):
	case <-ctx.Done():
	}
	before, err := cpuOf(s.server, s.service)
	if err == nil {
		<-visiting.Done()
		var after [2]time.Duration
		after, err = cpuOf(s.server, s.service)
		server, service = after[0]-before[0], after[1]-before[1]
	}
	cancel()
	wg.Wait()
	for _, v := range visitors {
		total.add(v.tally)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		// What waits in the microservice is done before it stops.
		s.service.stop()
		s.service = nil
		total.lost, err = lost(ctx, s.rdb, visitors)
	}
	slices.Sort(total.pages)
	return total, server, service, err
}

func cpuOf(server, service *process) (used [2]time.Duration, err error) {
	for i, p := range []*process{server, service} {
		if used[i], err = p.cpu(); err != nil {
			return used, err
		}
	}
	return used, nil
}

// lost compares what visitors were told with what their sessions count, once
// nothing is under way.
func lost(ctx context.Context, rdb *redis.Client, visitors []*visitor) (sum int64, err error) {
	for batch := range slices.Chunk(visitors, 1000) {
		keys := make([]string, len(batch))
		for i, v := range batch {
			keys[i] = "total-pages:" + v.session
		}
		values, err := rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return 0, err
		}
		for i, v := range values {
			var counted int64
			if text, ok := v.(string); ok {
				if counted, err = strconv.ParseInt(text, 10, 64); err != nil {
					return 0, err
				}
			}
			sum += max(0, batch[i].heard-counted)
		}
	}
	return sum, nil
}
