package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/testscale"
)

var _ structures.Value = (*Schedule)(nil)

// play does n random operations with irregular time, records them and calls
// each after every one.
func play(t testing.TB, s *Schedule, ch *structures.Change, rng *rand.Rand, n int, each func()) {
	t.Helper()
	now := int64(1000)
	var out []string
	name := func() []byte { return fmt.Appendf(nil, "node-%d", rng.IntN(300)) }
	for range n {
		now += int64(rng.IntN(60)) - 10
		switch k := rng.IntN(20); {
		case k < 6:
			p := scheduler.DefaultParams()
			if s.plan.spec.Ranks && rng.IntN(3) == 0 {
				p.Deadline = 1 + rng.Int64N(300)
			}
			p.Decay, p.Arrival = .01+rng.Float64(), rng.Float64()
			if rng.IntN(4) == 0 {
				p.Cost, p.Priced = .5+rng.Float64(), float64(rng.IntN(2))
			}
			if rng.IntN(3) == 0 {
				p.Precision, p.Recall = rng.Float64(), rng.Float64()
			}
			if rng.IntN(2) == 0 {
				p.Rate, p.MaxAge = rng.Float64(), int64(rng.IntN(3))
			}
			if _, err := s.Add(ch, name(), p, now); err != nil {
				t.Fatal(err)
			}
		case k < 7 && rng.IntN(2) == 0:
			if err := rearrange(s, ch, rng, name(), now); err != nil {
				t.Fatal(err)
			}
		case k < 7:
			if _, err := s.Signal(ch, name(), float64(rng.IntN(3)-1), int64(rng.IntN(50)), now); err != nil {
				t.Fatal(err)
			}
		case k < 8 && rng.IntN(4) == 0:
			if _, err := s.Pause(ch, name(), int64(rng.IntN(3)*50), now); err != nil {
				t.Fatal(err)
			}
		case k < 8 && rng.IntN(3) == 0:
			if _, err := s.Resume(ch, name(), now); err != nil {
				t.Fatal(err)
			}
		case k < 8 && rng.IntN(2) == 0:
			nodes := [][]byte{name(), name(), name()}
			places, err := s.Take(ch, nodes, int64(rng.IntN(3)*30), now)
			if err != nil {
				t.Fatal(err)
			}
			for _, place := range places {
				out = append(out, string(nodes[place]))
			}
		case k < 8:
			s.Remove(ch, name())
		case k < 13:
			picks, err := s.Next(ch, rng.IntN(4), now, int64(rng.IntN(5)*40-40), NamesOnly)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, namesOf(picks)...)
		case k < 14 && rng.IntN(5) == 0:
			if err := reconfigure(s, ch, rng); err != nil {
				t.Fatal(err)
			}
		case k < 14:
			if _, err := s.Peek(1, now+int64(rng.IntN(100)), NamesOnly); err != nil {
				t.Fatal(err)
			}
		case len(out) > 0:
			i := rng.IntN(len(out))
			// Errors are part of the game: the lease may be over.
			if rng.IntN(3) == 0 {
				_ = s.Pay(ch, []byte(out[i]), 2*rng.Float64(), now)
			}
			if k < 18 {
				_ = s.Observe(ch, []byte(out[i]), float64(rng.IntN(4)), now)
			} else {
				_ = s.Fail(ch, []byte(out[i]), now)
			}
			out = append(out[:i], out[i+1:]...)
		}
		each()
	}
}

// reconfigure changes the configuration at random. That the policy cannot have what
// it is asked for is part of the game.
func reconfigure(s *Schedule, ch *structures.Change, rng *rand.Rand) error {
	var err error
	switch rng.IntN(8) {
	case 0:
		all := scheduler.Policies()
		err = s.AlterPolicy(ch, all[rng.IntN(len(all))].Name)
	case 1, 2:
		err = s.AlterPrice(ch, float64(rng.IntN(2))*rng.Float64())
	case 3:
		c := s.Config()
		c.Probes, c.LeaseMillis = 1+rng.IntN(3), 10+rng.Int64N(90)
		err = s.Alter(ch, c)
	default:
		err = s.AlterBudget(ch, float64(rng.IntN(2))*3*rng.Float64())
	}
	for _, mayBe := range []error{ErrNoBudget, ErrPriceOf, scheduler.ErrNoDeadlines, scheduler.ErrDecay, scheduler.ErrArrival} {
		if errors.Is(err, mayBe) {
			return nil
		}
	}
	return err
}

// rearrange changes groups at random.
func rearrange(s *Schedule, ch *structures.Change, rng *rand.Rand, node []byte, now int64) error {
	group := fmt.Appendf(nil, "group-%d", rng.IntN(9))
	number := func(n int64) *int64 {
		v := rng.Int64N(2) * rng.Int64N(n)
		return &v
	}
	switch rng.IntN(5) {
	case 4:
		if err := s.SetPast(ch, node, Past{Age: rng.Int64N(90) - 1, Probes: rng.Int64N(9) - 1, Items: rng.Float64()}, now); err != ErrNoNode {
			return err
		}
		return nil
	case 0:
		return s.Limit(ch, group, number(60), number(60), number(4), nil, now)
	case 1:
		return s.Hold(ch, group, rng.Int64N(2)*rng.Int64N(200), now)
	case 2:
		return s.Limit(ch, group, nil, nil, nil, number(3), now)
	}
	if rng.IntN(4) == 0 {
		group = nil
	}
	if err := s.SetGroup(ch, node, group, now); err != ErrNoNode {
		return err
	}
	return nil
}

func replay(t testing.TB, s *Schedule, record []byte) {
	t.Helper()
	for len(record) > 0 {
		op, args, rest, err := structures.NextOp(record)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(op, &args); err != nil {
			t.Fatal(err)
		}
		record = rest
	}
}

// configs are all policies, with and without the wall clock and exploration.
func configs() []Config {
	var all []Config
	for i, p := range scheduler.Policies() {
		for k, e := range scheduler.Estimators() {
			c := DefaultConfig()
			c.Policy, c.Estimator, c.Probes, c.Seed = p.Name, e.Name, 2, uint64(i)
			c.StepMillis, c.Explore, c.QuietMillis = int64(k%2*37), float64(i%2)*.2, int64(k%3*10)
			all = append(all, c)
		}
	}
	return all
}

func TestReplayOfRecordedChangesGivesTheSameBytes(t *testing.T) {
	policies, budgets := 0, 0
	defer func() {
		if policies < 10 || budgets < 10 {
			t.Errorf("%d schedules ended with another policy, %d with a budget", policies, budgets)
		}
	}()
	for i, c := range configs() {
		s, ch := New(testKey), new(structures.Change)
		if err := s.Create(ch, c, 900); err != nil {
			t.Fatal(err)
		}
		play(t, s, ch, rand.New(rand.NewPCG(uint64(i), 1)), testscale.Rounds(3000), func() {})
		if s.Config().Policy != c.Policy {
			policies++
		}
		if s.Config().Budget > 0 {
			budgets++
		}
		copied := New(testKey)
		replay(t, copied, ch.Encoded())
		if !bytes.Equal(encoding(s), encoding(copied)) {
			t.Errorf("%s/%s, seed %d: replay differs", c.Policy, c.Estimator, i)
		}
	}
}

// store is a disk: a head and pages, brought up to date by dirty pages only.
type store struct {
	head  []byte
	pages map[uint64][]byte
}

func (d *store) save(s *Schedule) {
	d.head = s.AppendHead(nil)
	s.Pages(false, func(id uint64, page []byte) {
		if page == nil {
			delete(d.pages, id)
		} else {
			d.pages[id] = bytes.Clone(page)
		}
	})
	s.Clean()
}

func (d *store) load(t testing.TB) *Schedule {
	t.Helper()
	s, err := Decode(d.head, testKey)
	if err != nil {
		t.Fatal(err)
	}
	for id, page := range d.pages {
		if err := s.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestDirtyPagesAddUpToTheWholeValue(t *testing.T) {
	for i, c := range configs() {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		s, disk := New(testKey), store{pages: map[uint64][]byte{}}
		if err := s.Create(nil, c, 900); err != nil {
			t.Fatal(err)
		}
		saves := 0
		play(t, s, nil, rng, testscale.Rounds(2000), func() {
			if rng.IntN(40) != 0 {
				return
			}
			disk.save(s)
			saves++
			if saves%5 == 0 && !bytes.Equal(encoding(s), encoding(disk.load(t))) {
				t.Fatalf("%s/%s, seed %d: loaded value differs", c.Policy, c.Estimator, i)
			}
		})
	}
}

func TestALoadedScheduleGoesOnAsTheOriginal(t *testing.T) {
	for i, c := range configs() {
		s, disk := New(testKey), store{pages: map[uint64][]byte{}}
		if err := s.Create(nil, c, 900); err != nil {
			t.Fatal(err)
		}
		play(t, s, nil, rand.New(rand.NewPCG(uint64(i), 3)), testscale.Rounds(1500), func() {})
		disk.save(s)
		loaded := disk.load(t)
		a, b := new(structures.Change), new(structures.Change)
		// Start beyond any time seen, as both then see the same leases.
		for _, v := range []*Schedule{s, loaded} {
			if _, err := v.Next(nil, 1, 100_000, 100, NamesOnly); err != nil {
				t.Fatal(err)
			}
		}
		play(t, s, a, rand.New(rand.NewPCG(uint64(i), 4)), testscale.Rounds(1500), func() {})
		play(t, loaded, b, rand.New(rand.NewPCG(uint64(i), 4)), testscale.Rounds(1500), func() {})
		if !bytes.Equal(a.Encoded(), b.Encoded()) || !bytes.Equal(encoding(s), encoding(loaded)) {
			t.Errorf("%s/%s, seed %d: the loaded schedule went another way", c.Policy, c.Estimator, i)
		}
	}
}

// A crash may come after any record, and what was derived until then is derived
// anew from what is on disk: the records that follow must mean the same.
func TestRecordsMeanTheSameWhereverTheScheduleWasLoaded(t *testing.T) {
	for i, c := range configs() {
		rng := rand.New(rand.NewPCG(uint64(i), 6))
		s, ch := New(testKey), new(structures.Change)
		if err := s.Create(ch, c, 900); err != nil {
			t.Fatal(err)
		}
		copied, ops := New(testKey), 0
		play(t, s, ch, rand.New(rand.NewPCG(uint64(i), 7)), testscale.Rounds(1500), func() {
			if ops++; rng.IntN(8) != 0 {
				return
			}
			replay(t, copied, ch.Encoded())
			ch.Reset(1 << 16)
			got := encoding(copied)
			if !bytes.Equal(encoding(s), got) {
				t.Fatalf("%s/%s, seed %d: after %d operations it differs", c.Policy, c.Estimator, i, ops)
			}
			disk := store{pages: map[uint64][]byte{}}
			disk.head = copied.AppendHead(nil)
			copied.Pages(true, func(id uint64, page []byte) { disk.pages[id] = bytes.Clone(page) })
			copied = disk.load(t)
		})
	}
}

func TestOneProbeDirtiesOnePage(t *testing.T) {
	s := make1(t, nil)
	for i := range 1000 {
		if _, err := s.Add(nil, fmt.Appendf(nil, "n%d", i), scheduler.DefaultParams(), 1); err != nil {
			t.Fatal(err)
		}
	}
	s.Clean()
	count := func() (n int) {
		s.Pages(false, func(uint64, []byte) { n++ })
		return n
	}
	if n := count(); n != 0 {
		t.Fatalf("%d pages dirty after Clean", n)
	}
	ch := new(structures.Change)
	picks, _ := s.Next(ch, 1, 1, 10, NamesOnly)
	if err := s.Observe(ch, []byte(picks[0].Node), 1, 1); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d pages dirty after one probe, want 1", n)
	}
	if ch.Len() > 60 {
		t.Errorf("one probe recorded %d bytes", ch.Len())
	}
}

func TestPagesOfRemovedNodesAreGone(t *testing.T) {
	s := make1(t, nil)
	for i := range 200 {
		if _, err := s.Add(nil, fmt.Appendf(nil, "n%d", i), scheduler.DefaultParams(), 1); err != nil {
			t.Fatal(err)
		}
	}
	s.Clean()
	for i := range 200 {
		s.Remove(nil, fmt.Appendf(nil, "n%d", i))
	}
	var gone []uint64
	s.Pages(false, func(id uint64, page []byte) {
		if page != nil {
			t.Errorf("page %d has %d bytes", id, len(page))
		}
		gone = append(gone, id)
	})
	if fmt.Sprint(gone) != "[0 1 2 3]" {
		t.Errorf("gone: %v", gone)
	}
	if s.names.bytes != 0 || s.slots.size() != 0 || s.Len() != 0 || s.Empty() {
		t.Errorf("names take %d and %d bytes; %d nodes; empty %v", s.names.bytes, s.slots.size(), s.Len(), s.Empty())
	}
}

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	for name, record := range map[string]func(ch *structures.Change){
		"unknown operation": func(ch *structures.Change) { ch.Op(99, 0) },
		"second create":     func(ch *structures.Change) { _ = New(testKey).Create(ch, DefaultConfig(), 1) },
		"slot not in use":   func(ch *structures.Change) { ch.Op(opRemove, 1); ch.Uint(7) },
		"slot huge":         func(ch *structures.Change) { ch.Op(opRemove, 1); ch.Uint(1 << 63) },
		"too few arguments": func(ch *structures.Change) { ch.Op(opObserve, 1); ch.Uint(0) },
		"too many":          func(ch *structures.Change) { ch.Op(opRemove, 2); ch.Uint(0); ch.Uint(0) },
		"items NaN":         func(ch *structures.Change) { ch.Op(opObserve, 3); ch.Uint(0); ch.Uint(1<<63 - 1); ch.Uint(1) },
		"step back": func(ch *structures.Change) {
			ch.Op(opNext, 4)
			ch.Uint(1)
			ch.Uint(0)
			ch.Uint(1)
			ch.Bytes(nil)
		},
	} {
		s := make1(t, nil, "a")
		next(t, s, 1, 1000, 10)
		before := encoding(s)
		ch := new(structures.Change)
		record(ch)
		op, args, _, err := structures.NextOp(ch.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(op, &args); err == nil {
			t.Errorf("%s: applied", name)
		}
		if !bytes.Equal(before, encoding(s)) {
			t.Errorf("%s: the schedule changed", name)
		}
	}
	op, args, _, _ := structures.NextOp([]byte{opRemove, 0})
	if err := New(testKey).Apply(op, &args); err == nil {
		t.Error("applied to a schedule that was not created")
	}
}

// checkParts compares names, leases and hidden nodes with each other.
func checkParts(t *testing.T, s *Schedule) {
	t.Helper()
	hidden, paused := 0, 0
	for slot := s.table.After(0); slot >= 0; slot = s.table.After(slot + 1) {
		if at, ok := s.slots.find([]byte(s.names.of(slot))); !ok || at != slot {
			t.Fatalf("name %q leads to slot %d, not %d", s.names.of(slot), at, slot)
		}
		l, leased := s.hidden.leases.of(slot)
		running := leased && l.place >= 0
		p, resting := s.hidden.pauses.of(slot)
		resting = resting && p.place >= 0
		if s.table.Hidden(slot) != (running || resting) {
			t.Fatalf("slot %d: hidden %v, lease %+v, pause %+v", slot, s.table.Hidden(slot), l, p)
		}
		if resting {
			paused++
		}
		if running {
			hidden++
		}
		if leased && l.until > s.clock.seen && !running {
			t.Fatalf("slot %d is leased until %d but shown at %d", slot, l.until, s.clock.seen)
		}
		if leased && !running && l.until <= s.clock.now {
			t.Fatalf("the lease of slot %d ended at %d and is kept at %d", slot, l.until, s.clock.now)
		}
	}
	if paused != len(s.hidden.pauses.running) {
		t.Fatalf("%d paused, %d in the heap", paused, len(s.hidden.pauses.running))
	}
	if hidden != len(s.hidden.leases.running) || s.slots.used != s.table.Live() {
		t.Fatalf("%d hidden, %d in the heap; %d names, %d nodes", hidden, len(s.hidden.leases.running), s.slots.used, s.table.Live())
	}
}

func TestLeaseHeapHoldsExactlyTheHiddenNodes(t *testing.T) {
	const seed = 23
	s := make1(t, func(c *Config) { c.Probes = 3 })
	play(t, s, nil, rand.New(rand.NewPCG(seed, 5)), 4000, func() { checkParts(t, s) })
}
