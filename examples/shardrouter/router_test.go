package main

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vigildb/vigil/placement"
)

const testKeys = 2000

func start(t *testing.T, names ...string) *fleet {
	t.Helper()
	f, err := startFleet(names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// route connects a router of units with capacities 1, 2, 3 ... to a fleet.
func route(t *testing.T, f *fleet, units ...string) *router {
	t.Helper()
	m, err := placement.NewMap(placement.Options{Seed: 7, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range units {
		if err := m.Set(placement.Unit{Name: name, Capacity: float64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newRouter(m, f.clients)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func with(unit string, capacity float64) func(*placement.Map) error {
	return func(m *placement.Map) error { return m.Set(placement.Unit{Name: unit, Capacity: capacity}) }
}

func without(unit string) func(*placement.Map) error {
	return func(m *placement.Map) error { return m.Remove(unit) }
}

// changed returns what a change makes of a map.
func changed(t *testing.T, m *placement.Map, change func(*placement.Map) error) *placement.Map {
	t.Helper()
	next := m.Clone()
	if err := change(next); err != nil {
		t.Fatal(err)
	}
	return next
}

// checkPlaces fails unless each loaded key and counter is where the map says,
// with its value, and nothing else is anywhere.
func checkPlaces(t *testing.T, f *fleet, m *placement.Map, loaded int, counts map[string]int) {
	t.Helper()
	want := map[string]string{}
	for i := range loaded {
		want[loadedKey(i)] = loadedKey(i)
	}
	for key, n := range counts {
		want[key] = strconv.Itoa(n)
	}
	total, capacities := len(want), 0.0
	for _, u := range m.Units() {
		capacities += u.Capacity
	}
	for name, c := range f.clients {
		u, _ := m.Unit(name)
		if n, most := c.DBSize(t.Context()).Val(), math.Ceil((1+bound)*u.Capacity/capacities*float64(total)); float64(n) > most {
			t.Errorf("%s has %d keys, at most %v", name, n, most)
		}
		keys, err := c.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			continue
		}
		values, err := c.MGet(t.Context(), keys...).Result()
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if unitOf(m, key) != name || values[i] != want[key] {
				t.Errorf("%s on %s is %v, want %q on %s", key, name, values[i], want[key], unitOf(m, key))
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d keys are lost: %v", len(want), want)
	}
}

// checkMoved fails unless the share of loaded keys that move is the preview's,
// by pairs as in all, within 4.5 standard deviations.
func checkMoved(t *testing.T, now, next *placement.Map, p placement.Preview) {
	t.Helper()
	want := map[placement.Pair]int{}
	moved := 0
	for i := range testKeys {
		if from, to := unitOf(now, loadedKey(i)), unitOf(next, loadedKey(i)); from != to {
			want[placement.Pair{From: from, To: to}]++
			moved++
		}
	}
	near := func(what string, got int, share float64) {
		sigma := math.Sqrt(testKeys * share * (1 - share))
		if math.Abs(float64(got)-testKeys*share) > 4.5*sigma {
			t.Errorf("%s: %d of %d keys, want %.1f with deviation %.1f", what, got, testKeys, testKeys*share, sigma)
		}
	}
	near("moved", moved, p.Moved)
	for _, pair := range p.Pairs {
		near(pair.From+" to "+pair.To, want[placement.Pair{From: pair.From, To: pair.To}], pair.Share)
		delete(want, placement.Pair{From: pair.From, To: pair.To})
	}
	if len(want) > 0 {
		t.Errorf("moves that the preview does not have: %v", want)
	}
	if p.Moved > p.Optimum+2*bound {
		t.Errorf("the preview moves %v, the optimum is %v", p.Moved, p.Optimum)
	}
}

func TestNoKeyIsLostWhenServersJoinAndLeave(t *testing.T) {
	f := start(t, "a", "b", "c", "d")
	r := route(t, f, "a", "b", "c")
	if err := load(t.Context(), r, testKeys); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for id := range trafficClients {
		for i := range ownCounters {
			if _, err := r.incr(t.Context(), counterKey(id, i)); err != nil {
				t.Fatal(err)
			}
			counts[counterKey(id, i)] = 1
		}
	}
	join, err := r.now.PreviewSet(placement.Unit{Name: "d", Capacity: 2})
	if err != nil {
		t.Fatal(err)
	}
	change := func(change func(*placement.Map) error, p placement.Preview) {
		t.Helper()
		checkMoved(t, r.now, changed(t, r.now, change), p)
		clients := startTraffic(t.Context(), r, testKeys, counts)
		moved, err := r.rebalance(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if err := clients.finish(); err != nil {
			t.Fatal(err)
		}
		if moved == 0 {
			t.Error("the mover has moved nothing")
		}
		checkPlaces(t, f, r.now, testKeys, counts)
	}
	change(with("d", 2), join)
	leave, err := r.now.PreviewRemove("b")
	if err != nil {
		t.Fatal(err)
	}
	change(without("b"), leave)
	if n := f.clients["b"].DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the server that left has %d keys", n)
	}
}

func TestInterruptedMoveLosesNothingAndGoesOn(t *testing.T) {
	f := start(t, "a", "b", "c")
	r := route(t, f, "a", "b")
	if err := load(t.Context(), r, 500); err != nil {
		t.Fatal(err)
	}
	change := with("c", 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.clients["a"].AddHook(&interlude{after: 20, then: cancel})
	if _, err := r.rebalance(ctx, change); !errors.Is(err, context.Canceled) {
		t.Fatalf("rebalance: got %v, want %v", err, context.Canceled)
	}
	if _, err := r.rebalance(t.Context(), change); !errors.Is(err, errMoving) {
		t.Errorf("a second change: got %v, want %v", err, errMoving)
	}
	for i := range 500 {
		if got, err := r.get(t.Context(), loadedKey(i)); err != nil || got != loadedKey(i) {
			t.Fatalf("GET %s: got %q, %v", loadedKey(i), got, err)
		}
	}
	if moved, err := r.resume(t.Context()); err != nil || moved == 0 {
		t.Fatalf("resume: got %d, %v", moved, err)
	}
	checkPlaces(t, f, r.now, 500, nil)
}

// interlude is a hook that does something once, after so many transactions.
type interlude struct {
	after int
	then  func()
	mu    sync.Mutex
	seen  int // guarded by mu
}

func (h *interlude) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *interlude) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *interlude) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		h.mu.Lock()
		h.seen++
		now := h.seen == h.after
		h.mu.Unlock()
		if now {
			h.then()
		}
		return err
	}
}

// A mover has dumped a key; before it restores it, another one moves the key
// and a client changes it at the new place.
func TestLateMoverBringsNothingBack(t *testing.T) {
	for name, change := range map[string]func(context.Context, *redis.Client) error{
		"deleted": func(ctx context.Context, c *redis.Client) error { return c.Del(ctx, "k").Err() },
		"changed": func(ctx context.Context, c *redis.Client) error { return c.Set(ctx, "k", "new", 0).Err() },
		"renamed": func(ctx context.Context, c *redis.Client) error { return c.Rename(ctx, "k", "l").Err() },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, "old", "new")
			from, to := f.clients["old"], f.clients["new"]
			if err := from.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			from.AddHook(&interlude{after: 1, then: func() {
				if ours, err := move(t.Context(), from, to, "k"); err != nil || !ours {
					t.Errorf("the mover between: got %v, %v", ours, err)
				}
				if err := change(t.Context(), to); err != nil {
					t.Error(err)
				}
			}})
			if ours, err := move(t.Context(), from, to, "k"); err != nil || ours {
				t.Errorf("the late mover: got %v, %v, want false", ours, err)
			}
			want := map[string]string{"deleted": "", "changed": "new", "renamed": ""}[name]
			if got, _ := to.Get(t.Context(), "k").Result(); got != want {
				t.Errorf("k is %q, want %q", got, want)
			}
			if n := from.Exists(t.Context(), "k").Val(); n != 0 {
				t.Error("k is at its old place")
			}
		})
	}
}

func TestMoveKeepsTypeAndTimeToLive(t *testing.T) {
	f := start(t, "old", "new")
	from, to, ctx := f.clients["old"], f.clients["new"], t.Context()
	from.RPush(ctx, "list", "x", "y")
	from.HSet(ctx, "hash", "field", "value")
	from.Set(ctx, "short", "v", time.Hour)
	for _, key := range []string{"list", "hash", "short"} {
		if ours, err := move(ctx, from, to, key); err != nil || !ours {
			t.Fatalf("move %s: got %v, %v", key, ours, err)
		}
	}
	if got := to.LRange(ctx, "list", 0, -1).Val(); strings.Join(got, " ") != "x y" {
		t.Errorf("list: got %v", got)
	}
	if got := to.HGet(ctx, "hash", "field").Val(); got != "value" {
		t.Errorf("hash: got %q", got)
	}
	if ttl := to.PTTL(ctx, "short").Val(); ttl <= 50*time.Minute || ttl > time.Hour {
		t.Errorf("time to live: got %v, want about an hour", ttl)
	}
	if ttl := to.TTL(ctx, "list").Val(); ttl != -1 {
		t.Errorf("time to live of list: got %v, want none", ttl)
	}
	if ours, err := move(ctx, from, to, "none"); err != nil || ours {
		t.Errorf("move of a missing key: got %v, %v, want false", ours, err)
	}
}

func TestMapsWithUnknownServersAreRefused(t *testing.T) {
	f := start(t, "a", "b")
	r := route(t, f, "a", "b")
	if _, err := newRouter(changed(t, r.now, with("ghost", 1)), f.clients); !errors.Is(err, errShard) {
		t.Errorf("newRouter: got %v, want %v", err, errShard)
	}
	if _, err := r.rebalance(t.Context(), with("ghost", 1)); !errors.Is(err, errShard) {
		t.Errorf("rebalance: got %v, want %v", err, errShard)
	}
	if err := r.set(t.Context(), "k", "v"); err != nil || r.next != nil {
		t.Errorf("after a refused change: %v, moving %v", err, r.next != nil)
	}
}

// A map may be a key of a server: all routers fetch the same one, and the server
// answers for clients that have no router.
func TestServerAndRouterLocateAlike(t *testing.T) {
	f := start(t, "a", "b")
	c, ctx := f.clients["a"], t.Context()
	for _, args := range [][]any{
		{"PLACE.CREATE", "shards", "SEED", 7},
		{"PLACE.SET", "shards", "a", 1, "b", 2.5, "c", 4},
		{"PLACE.DEL", "shards", "c"},
	} {
		if err := c.Do(ctx, args...).Err(); err != nil {
			t.Fatal(args, err)
		}
	}
	exported, err := c.Do(ctx, "PLACE.EXPORT", "shards").Text()
	if err != nil {
		t.Fatal(err)
	}
	m, err := placement.Decode([]byte(exported))
	if err != nil {
		t.Fatal(err)
	}
	call := []any{"PLACE.LOCATE", "shards"}
	for i := range 1000 {
		call = append(call, loadedKey(i))
	}
	units, err := c.Do(ctx, call...).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	for i, unit := range units {
		if want := unitOf(m, loadedKey(i)); unit != want {
			t.Fatalf("%s: the server says %s, the router %s", loadedKey(i), unit, want)
		}
	}
}

func TestStoryEndsWell(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, 500); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "missing: 0;"); n != 2 || !strings.Contains(out.String(), "birch 0") {
		t.Errorf("got\n%s", out.String())
	}
}
