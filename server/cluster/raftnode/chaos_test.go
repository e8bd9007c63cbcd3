package raftnode

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/testscale"
)

var (
	firstSeed = flag.Uint64("seed", 1, "first seed of the simulation")
	howMany   = flag.Uint64("seeds", usualSeeds, "how many seeds of the simulation")
	length    = flag.Duration("length", 3*time.Second, "virtual time of a seed")
)

// policyOf has half of the seeds sync always, and half every second.
func policyOf(seed uint64) persistence.SyncPolicy {
	if seed%2 == 0 {
		return persistence.SyncEverySecond
	}
	return persistence.SyncAlways
}

// chaos runs clients while everything fails, for some virtual time.
func chaos(t testing.TB, seed uint64, without rules, length time.Duration) *world {
	w := newWorld(t, seed, policyOf(seed), without)
	for range 4 {
		w.client(length, w.anyone().id)
	}
	w.fault(length)
	w.run(length)
	w.settle()
	return w
}

// client makes one operation after the other. It stays with a member that has an outcome for it.
func (w *world) client(until time.Duration, to uint64) {
	if w.now >= until {
		return
	}
	op := w.ask(to, keys[w.rand.IntN(len(keys))], w.rand.IntN(2) == 0)
	w.after(time.Duration(5+w.rand.IntN(30))*time.Millisecond, func() { w.wait(op, until, to) })
}

// wait waits for an outcome, and goes on without it in the end.
func (w *world) wait(op *operation, until time.Duration, to uint64) {
	switch {
	case op.outcome == done:
		w.client(until, to)
	case op.outcome == refused || w.now > op.begin+patience:
		w.client(until, w.anyone().id)
	default:
		w.after(40*time.Millisecond, func() { w.wait(op, until, to) })
	}
}

// fault makes something fail, and later something else.
func (w *world) fault(until time.Duration) {
	w.after(time.Duration(w.rand.IntN(400))*time.Millisecond, func() {
		if w.now >= until {
			return
		}
		n, o := w.anyone(), w.anyone()
		again := func() {
			w.after(time.Duration(w.rand.IntN(60))*time.Millisecond, func() {
				if !n.up && !n.gone {
					n.start()
				}
			})
		}
		w.loss, w.slow = 0, false
		switch w.rand.IntN(13) {
		case 11:
			n.die()
			again()
		case 12: // all at once, which may be what an OOM killer does
			for _, n := range w.nodes[1:] {
				n.die()
			}
			w.after(time.Duration(w.rand.IntN(60))*time.Millisecond, func() {
				for _, n := range w.nodes[1:] {
					if !n.up && !n.gone {
						n.start()
					}
				}
			})
		case 0, 1:
			if w.fails(n) && n.up {
				w.isolate(n, false)
				n.stop(false)
				again()
			}
		case 2:
			n.stop(true)
			again()
		case 3:
			w.cut[n.id][o.id] = true
		case 4:
			w.isolate(n, true)
		case 5, 6:
			w.cut = [most + 1][most + 1]bool{}
		case 7:
			n.paused = w.now + time.Duration(w.rand.IntN(300))*time.Millisecond
		case 8:
			w.loss, w.slow = 0.2, true
		case 9:
			if n.up && w.policy == persistence.SyncAlways { // else it shows when Pebble writes
				n.disk.broken.Store(true)
			}
		case 10:
			if n.up && n.driver.Leading() != 0 {
				n.driver.Transfer(n.clock(), o.id)
				n.work()
			}
		}
		w.fault(until)
	})
}

// play runs the seeds of a kind of world, whose histories have to be linearizable, and
// returns how often what happened.
func play(t *testing.T, run func(t testing.TB, seed uint64, without rules, length time.Duration) *world) (effects map[string]int) {
	t.Helper()
	effects = map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*howMany; seed++ {
		w := run(t, seed, rules{}, *length)
		if v := w.history.violation(); v != "" {
			t.Errorf("violation: %s", v)
		}
		w.close()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		for _, o := range []outcome{unknown, refused, done} {
			effects[o.String()] += w.history.count(o)
		}
		for what, n := range w.effects {
			effects[what] += n
		}
	}
	t.Logf("%d seeds of %v: %v", *howMany, *length, effects)
	return effects
}

// wantEffects checks that things happened so often at least, if there were seeds enough.
func wantEffects(t *testing.T, effects map[string]int, least int, names ...string) {
	t.Helper()
	for _, what := range names {
		if effects[what] < least && *howMany >= 40 {
			t.Errorf("%d times %s: the simulation says little", effects[what], what)
		}
	}
}

// Whatever fails, what clients see could have come from one server that never failed.
func TestHistoriesAreLinearizable(t *testing.T) {
	effects := play(t, chaos)
	wantEffects(t, effects, 1, "done", "unknown", "deposed", "roll back", "power failure", "disk failure", "caught up")
	if all := effects["done"] + effects["unknown"]; effects["done"] < all/2 {
		t.Errorf("%d of %d operations have a known outcome", effects["done"], all)
	}
}

func (o outcome) String() string { return [...]string{"unknown", "refused", "done"}[o] }

func (w *world) sum() string { return fmt.Sprintf("%x", w.trace.Sum(nil)) }

// A seed makes the same run every time.
func TestASeedRepeatsExactly(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+max(2, *howMany/10); seed++ {
		var sums []string
		for range 2 {
			w := chaos(t, seed, rules{}, *length)
			sums = append(sums, w.sum())
			w.close()
		}
		if sums[0] != sums[1] {
			t.Errorf("two runs of seed %d differ", seed)
		}
	}
}

// witness ends what it watches at the first failure.
type witness struct {
	testing.TB
	failure string
}

func (w *witness) Fatalf(format string, args ...any) {
	w.failure = fmt.Sprintf(format, args...)
	panic(w)
}

func (w *witness) Errorf(format string, args ...any) { w.Fatalf(format, args...) }
func (w *witness) Fatal(args ...any)                 { w.Fatalf("%s", fmt.Sprint(args...)) }
func (w *witness) Error(args ...any)                 { w.Fatal(args...) }

// watch runs what a test does and returns why it failed, or panicked. The world is left as it is.
func watch(t testing.TB, run func(t testing.TB) *world) (failure string) {
	t.Helper()
	w := &witness{TB: t}
	defer func() {
		if r := recover(); r == any(w) {
			failure = w.failure
		} else if r != nil {
			failure = fmt.Sprint(r)
		}
	}()
	world := run(w)
	defer world.close()
	return world.history.violation()
}

// Each rule is needed: without it, some history is found that no single server makes.
func TestEveryRuleIsNeeded(t *testing.T) {
	random := func(without rules) func(t testing.TB, seed uint64) *world {
		return func(t testing.TB, seed uint64) *world { return chaos(t, seed, without, *length) }
	}
	missing := map[string]func(t testing.TB, seed uint64) *world{
		"R1": random(rules{replyAtOnce: true}),
		"R2": random(rules{readUncommitted: true}),
		"R4": func(t testing.TB, seed uint64) *world {
			return outlivedLease(t, seed, rules{Rules: Rules{RaftLease: true}})
		},
		"R5": func(t testing.TB, seed uint64) *world {
			return forgottenPromise(t, seed, rules{Rules: Rules{VoteAtOnce: true}})
		},
		"R6": func(t testing.TB, seed uint64) *world {
			return chaos(t, 2*seed, rules{Rules: Rules{KeepTerm: true}}, *length)
		},
		"R7": func(t testing.TB, seed uint64) *world {
			return rebornVoters(t, seed, rules{Rules: Rules{BlankVotes: true}})
		},
		"R8": func(t testing.TB, seed uint64) *world {
			return singleVoter(t, seed, rules{Rules: Rules{HastyLearners: true}})
		},
		"members are kept": func(t testing.TB, seed uint64) *world {
			return turnover(t, seed, rules{forgottenMembers: true}, *length)
		},
		"learners do not count": func(t testing.TB, seed uint64) *world {
			return learnersLease(t, seed, rules{learnersCount: true})
		},
	}
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(missing))) {
		t.Run(name, func(t *testing.T) {
			found(t, missing[name])
		})
	}
}

// found looks for a seed that shows that something is wrong.
func found(t *testing.T, run func(t testing.TB, seed uint64) *world) {
	for seed := uint64(1); seed <= 400; seed++ {
		if failure := watch(t, func(t testing.TB) *world { return run(t, seed) }); failure != "" {
			t.Logf("seed %d: %.300s", seed, failure)
			return
		}
	}
	t.Error("no seed shows it")
}

// With their rules, the scenarios that need R4 and R5 show nothing.
func TestLeasesHold(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*howMany; seed++ {
		for _, scenario := range []func(testing.TB, uint64, rules) *world{outlivedLease, forgottenPromise, lateReplies} {
			w := scenario(t, seed, rules{})
			w.judge()
			w.close()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// rivals writes at another member than a leader as soon as that can, while the leader is asked
// for reads.
func (w *world) rivals(leader *node) {
	for range 4 * election {
		for _, n := range w.nodes[1:] {
			if n != leader && n.up && n.driver.Leading() != 0 {
				w.ask(n.id, "a", true)
			}
		}
		w.run(tick)
		w.ask(leader.id, "a", false)
	}
}

// outlivedLease cuts a leader off at some moment between two of raft's checks for a quorum.
func outlivedLease(t testing.TB, seed uint64, without rules) *world {
	w, n := ledWorld(t, seed, persistence.SyncAlways, without)
	w.run(timeout + time.Duration(seed%(4*election))*tick/4)
	w.isolate(n, true)
	w.rivals(n)
	w.settle()
	return w
}

// forgottenPromise restarts a member that a leader relies on, which no other member hears:
//
//	leader loses B; A acknowledges a round, and restarts; the leader is cut off; B asks A
func forgottenPromise(t testing.TB, seed uint64, without rules) *world {
	w, n := ledWorld(t, seed, persistence.SyncAlways, without)
	a, b := w.nodes[n.id%members+1], w.nodes[(n.id+1)%members+1]
	w.cut[n.id][b.id], w.cut[b.id][n.id] = true, true
	w.run(timeout + time.Duration(seed%20)*tick/2) // B's own promise ends
	w.until("a lease", n.serves)
	a.stop(false)
	a.start()
	w.isolate(n, true)
	w.rivals(n)
	w.settle()
	return w
}

// lateReplies delays what a leader hears, and cuts it off then: a lease counts from when a round was sent.
func lateReplies(t testing.TB, seed uint64, without rules) *world {
	w, n := ledWorld(t, seed, persistence.SyncAlways, without)
	w.run(timeout)
	w.late[n.id] = timeout * 85 / 100
	w.run(2 * tick)
	for id := range w.cut[n.id] {
		w.cut[n.id][id] = true
	}
	w.rivals(n)
	w.late[n.id] = 0
	w.settle()
	return w
}
