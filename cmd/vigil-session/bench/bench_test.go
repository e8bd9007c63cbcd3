package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
	"github.com/vigildb/vigil/server"
)

// meet returns a visitor of a microservice that answers as answer says.
func meet(t *testing.T, answer func(r wire.Request, payload string) string) (*visitor, *redis.Client) {
	t.Helper()
	s := rig.Start(t, server.Options{Seed: 1})
	rdb := s.Client(t)
	sub := rdb.PSubscribe(t.Context(), "ss:*")
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for m := range sub.Channel() {
			r, err := wire.Names{}.Parse(m.Channel)
			if err != nil {
				t.Error(err)
				continue
			}
			rdb.LPush(context.Background(), wire.Names{}.List(r), answer(r, m.Payload))
		}
	})
	t.Cleanup(func() {
		sub.Close()
		wg.Wait()
	})
	return &visitor{session: "v", web: webtier.New(s.Client(t), webtier.Options{Budget: 30 * time.Second}),
		rng: rand.New(rand.NewPCG(1, 1))}, rdb
}

func TestAnswersToAnotherRequestAreNoticed(t *testing.T) {
	for _, total := range []string{"0", "2", "7"} {
		v, _ := meet(t, func(wire.Request, string) string { return `{"totalPages":` + total + `}` })
		v.view(1, true)
		if v.wrong != 1 {
			t.Errorf("total %s after one page: %d wrong, want 1", total, v.wrong)
		}
	}
	v, _ := meet(t, func(wire.Request, string) string { return `{"totalPages":1}` })
	v.view(1, true)
	v.view(2, true) // the answer of the first page again
	v.mark(10)
	if v.wrong != 2 || v.degraded != 0 || len(v.pages) != 2 {
		t.Errorf("got %d wrong, %d degraded, %d pages; want 2, 0, 2", v.wrong, v.degraded, len(v.pages))
	}
}

func TestPageViewsThatWereHeardAndNotCountedAreLost(t *testing.T) {
	v, rdb := meet(t, func(wire.Request, string) string { return `{}` })
	for page := range 3 {
		v.view(page, false)
	}
	for counted, want := range map[string]int64{"1": 2, "3": 0, "4": 0} {
		rdb.Set(t.Context(), "total-pages:v", counted, 0)
		if got, err := lost(t.Context(), rdb, []*visitor{v}); got != want || err != nil {
			t.Errorf("%s of 3 counted: %d lost, %v; want %d", counted, got, err, want)
		}
	}
	rdb.Del(t.Context(), "total-pages:v")
	if got, err := lost(t.Context(), rdb, []*visitor{v}); got != 3 || err != nil {
		t.Errorf("none counted: %d lost, %v; want 3", got, err)
	}
}

func TestPageWithoutAMicroserviceIsDegradedAndNotLost(t *testing.T) {
	s := rig.Start(t, server.Options{Seed: 1})
	v := &visitor{session: "v", web: webtier.New(s.Client(t), webtier.Options{Budget: time.Minute})}
	v.view(1, true)
	if got, err := lost(t.Context(), s.Client(t), []*visitor{v}); v.degraded != 1 || v.wrong != 0 || got != 0 || err != nil {
		t.Errorf("%d degraded, %d wrong, %d lost, %v; want 1, 0, 0", v.degraded, v.wrong, got, err)
	}
}

func TestQuantilesAndMedians(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{.5: 501, .99: 991, .999: 1000} {
		if got := quantile(times, q); got != want {
			t.Errorf("quantile %v: got %d, want %d", q, got, want)
		}
	}
	m := medians([]row{{p99: 3, wrong: 1, lost: 1, pages: 10, degraded: 2}, {p99: 1, pages: 10}, {p99: 2, wrong: 2, pages: 10, degraded: 1}})
	if m.p99 != 2 || m.wrong != 3 || m.lost != 1 || m.pages != 30 || m.degraded != 3 {
		t.Errorf("got %+v", m)
	}
}

func TestTableIsPutBetweenItsMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + beginMark + "old\n" + endMark + "after\n")
	if err := insert(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "before\n"+beginMark+"new\n"+endMark+"after\n" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"", beginMark, endMark + beginMark} {
		write(text)
		if err := insert(path, "new\n"); !errors.Is(err, errMarks) {
			t.Errorf("%q: got %v, want errMarks", text, err)
		}
	}
	table := report([]row{{visitors: 5, kind: "vigil", pages: 1000, degraded: 1}}, options{rounds: 3})
	if lines := strings.Split(table, "\n"); strings.Count(lines[0], "|") != strings.Count(lines[2], "|") {
		t.Errorf("columns differ:\n%s", table)
	}
}

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	usage := errors.New("usage")
	for _, args := range [][]string{{"-visitors", "0"}, {"-visitors", "a"}, {"-visitors", ""}, {"-think", "0s"}, {"-rounds", "0"},
		{"-workers", "0"}, {"-nonsense"}, {"extra"}, {"-vigil", "/nonexistent"}, {"-redis", "/nonexistent"}} {
		if err := Run(t.Context(), args, io.Discard, io.Discard, usage); !errors.Is(err, usage) {
			t.Errorf("%q: got %v, want a usage error", args, err)
		}
	}
}
