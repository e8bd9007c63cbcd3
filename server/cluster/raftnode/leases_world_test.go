package raftnode

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

// Workers take nodes of a schedule by NEXT and give them back by OBSERVE or FAIL. Leases do not end, so a worker has a
// node from the reply of NEXT until it asks for the return, whatever else has an unknown outcome: no
// other worker may be handed it meanwhile, by any leader, and its return is taken.

// loan is a node that a worker was handed.
type loan struct {
	node     string
	from, to time.Duration // to is 0 if it was not given back
}

// lent is how many nodes a schedule has: many, as those whose NEXT or return had no reply stay leased.
const lent = 300

// lend runs an operation on the schedule; reply is called once, now or later.
func (n *node) lend(do func(s *schedule.Schedule, ch *structures.Change), reply func(outcome)) {
	if n.driver.Leading() == 0 {
		reply(refused)
		return
	}
	position := uint64(0)
	n.transact("schedule", func(tx *persistence.Tx, key, _ []byte) {
		s, ch, there, err := persistence.Edit[*schedule.Schedule](tx, key, nil)
		if err == nil && !there {
			persistence.Replace(tx, key, n.newSchedule(tx), persistence.NoExpiry)
			s, ch, _, err = persistence.Edit[*schedule.Schedule](tx, key, nil)
		}
		if err != nil {
			n.w.Fatalf("member %d: %v", n.id, err)
		}
		do(s, ch)
		n.newest = tx.Commit()
		position = max(n.newest, tx.Seen())
	})
	if n.w.without.replyAtOnce {
		position = 0
	}
	n.waiters = append(n.waiters, waiter{position, n.w.now + patience, reply})
}

func (n *node) newSchedule(tx *persistence.Tx) *schedule.Schedule {
	s, cfg := schedule.New(tx.HashKeys().Fields), schedule.DefaultConfig()
	cfg.Policy, cfg.LeaseMillis = "memoryless", schedule.MaxMillis
	if err := s.Create(nil, cfg, 1000); err != nil {
		n.w.Fatal(err)
	}
	for i := range lent {
		if _, err := s.Add(nil, fmt.Append(nil, i), scheduler.DefaultParams(), 1000); err != nil {
			n.w.Fatal(err)
		}
	}
	return s
}

// call does something with the schedule at a member. tell is called with the outcome, once: unknown if there is none in time.
func (w *world) call(to uint64, do func(s *schedule.Schedule, ch *structures.Change), tell func(outcome)) {
	n, told := w.nodes[to], false
	once := func(o outcome) {
		if !told {
			told = true
			w.note("schedule %v", o)
			tell(o)
		}
	}
	w.after(w.delay(), func() {
		if !n.up {
			once(refused)
			return
		}
		n.when(n.life, func() {
			n.lend(do, func(o outcome) { w.after(w.delay(), func() { once(o) }) })
			n.work()
		})
	})
	w.after(patience, func() { once(unknown) })
}

// worker takes nodes one after the other, and gives them back.
func (w *world) worker(until time.Duration, to uint64) {
	if w.now >= until {
		return
	}
	var got []string
	w.call(to, func(s *schedule.Schedule, ch *structures.Change) {
		picks, err := s.Next(ch, 1+w.rand.IntN(3), 1000, -1, schedule.NamesOnly)
		if err != nil {
			w.Fatalf("NEXT: %v", err)
		}
		for _, p := range picks {
			got = append(got, p.Node)
		}
	}, func(o outcome) {
		if o != done {
			w.worker(until, w.anyone().id)
			return
		}
		var loans []*loan
		for _, node := range got {
			loans = append(loans, &loan{node: node, from: w.now})
		}
		w.loans = append(w.loans, loans...)
		w.effects["lent"] += len(loans)
		w.after(time.Duration(w.rand.IntN(60))*time.Millisecond, func() { w.giveBack(loans, to, until) })
	})
}

// giveBack gives the nodes of a worker back, each until it has a reply. In doubt it does not ask again: somebody else may have
// been lent the node since.
func (w *world) giveBack(loans []*loan, to uint64, until time.Duration) {
	if len(loans) == 0 || w.now >= until {
		w.worker(until, to)
		return
	}
	l := loans[0]
	if l.to == 0 {
		l.to = w.now
	}
	var err error
	w.call(to, func(s *schedule.Schedule, ch *structures.Change) {
		if w.rand.IntN(3) == 0 {
			err = s.Fail(ch, []byte(l.node), 1000)
		} else {
			err = s.Observe(ch, []byte(l.node), 1, 1000)
		}
	}, func(o outcome) {
		switch {
		case o == done && err != nil:
			w.Errorf("seed %d: node %s, lent at %v, is not taken back at %v: %v", w.seed, l.node, l.from, w.now, err)
		case o == done:
			w.effects["given back"]++
			w.giveBack(loans[1:], to, until)
		case o == unknown:
			w.giveBack(loans[1:], w.anyone().id, until)
		default:
			w.giveBack(loans, w.anyone().id, until)
		}
	})
}

// lentTwice returns which node two workers had at a time, or "".
func (w *world) lentTwice() string {
	last := map[string]*loan{}
	for _, l := range slices.SortedFunc(slices.Values(w.loans), func(a, b *loan) int { return cmp.Compare(a.from, b.from) }) {
		if b := last[l.node]; b != nil && (b.to == 0 || l.from < b.to) {
			return fmt.Sprintf("node %s was lent at %v until %v, and at %v", l.node, b.from, b.to, l.from)
		}
		last[l.node] = l
	}
	return ""
}

// lending has workers share a schedule while everything fails.
func lending(t testing.TB, seed uint64, without rules, length time.Duration) *world {
	w := newWorld(t, seed, policyOf(seed), without)
	for range 4 {
		w.worker(length, w.anyone().id)
	}
	w.fault(length)
	w.run(length)
	w.settle()
	if v := w.lentTwice(); v != "" {
		t.Errorf("seed %d: %s", seed, v)
	}
	return w
}

func TestNoNodeIsLentTwice(t *testing.T) {
	effects := play(t, lending)
	wantEffects(t, effects, 100, "lent", "given back")
	wantEffects(t, effects, 1, "deposed", "roll back", "power failure")
	t.Run("without R1 one is", func(t *testing.T) {
		found(t, func(t testing.TB, seed uint64) *world { return lending(t, seed, rules{replyAtOnce: true}, *length) })
	})
}
