package schedule

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Operations of a schedule. These numbers are on disk and never change.
const (
	opCreate  = 16 // policy, estimator, probes, window, seed, step-ms, lease-ms, explore, now
	opAdd     = 17 // node, now, parameters
	opRemove  = 18 // slot
	opNext    = 19 // now, step, lease-ms, slots
	opObserve = 20 // slot, items, now
	opFail    = 21 // slot, now
	opPut     = 22 // node, now, parameters with those of versionSignals
	opSignal  = 23 // slot, nats, now
	opQuiet   = 24 // quiet-ms
	opPause   = 25 // slot, end, now
	opResume  = 26 // slot, now
	opTake    = 27 // now, step, lease-ms, slots
	opAlter   = 28 // probes, lease-ms, explore, quiet-ms
	opGroup   = 29 // slot, group, now
	opLimit   = 30 // group, gap, rest, steps, concurrency, now
	opHold    = 31 // group, end, now
	opByHost  = 32 // 1
	opPast    = 33 // slot, age + 1, probes + 1, items, now
	opBudget  = 34 // budget
	opPay     = 35 // slot, cost, now
	opPolicy  = 36 // policy
	opPrice   = 37 // price

	opEnd = opPrice // the highest
)

// Apply replays a recorded operation. It draws nothing and reads no clock. The
// error wraps structures.ErrCorrupt or structures.ErrUnknownChange; the schedule
// is unchanged then.
func (s *Schedule) Apply(op byte, args *structures.Args) error {
	if (op == opCreate) != (s.policyNum == 0) && op >= opCreate && op <= opEnd {
		return fmt.Errorf("schedule: operation %d on a schedule in the wrong state: %w", op, structures.ErrCorrupt)
	}
	err := structures.ErrUnknownChange
	switch op {
	case opCreate:
		err = s.applyCreate(args)
	case opAdd:
		err = s.applyAdd(args, 1<<fieldBorn-1)
	case opPut:
		err = s.applyAdd(args, allParams)
	case opSignal:
		err = s.applySignal(args)
	case opQuiet:
		err = s.applyQuiet(args)
	case opRemove:
		err = s.applyRemove(args)
	case opAlter:
		err = s.applyAlter(args)
	case opGroup:
		err = s.applyGroup(args)
	case opLimit:
		err = s.applyLimit(args)
	case opHold:
		err = s.applyHold(args)
	case opPrice:
		err = s.applyPrice(args)
	case opBudget:
		err = s.applyBudget(args)
	case opPay:
		err = s.applyPay(args)
	case opPolicy:
		err = s.applyPolicy(args)
	case opPast:
		err = s.applyPast(args)
	case opByHost:
		err = s.applyByHost(args)
	case opPause:
		err = s.applyPause(args)
	case opResume:
		err = s.applyResume(args)
	case opNext:
		err = s.applyNext(args, s.hand)
	case opTake:
		err = s.applyNext(args, s.give)
	case opObserve:
		err = s.applyObserve(args)
	case opFail:
		err = s.applyFail(args)
	}
	if err != nil {
		return fmt.Errorf("schedule: operation %d: %w", op, err)
	}
	return nil
}

func (s *Schedule) applyCreate(args *structures.Args) error {
	policy, estimator := args.Uint(), args.Uint()
	probes := args.Uint()
	c := Config{Window: math.Float64frombits(args.Uint()), Seed: args.Uint()}
	step, lease := args.Uint(), args.Uint()
	c.Explore = math.Float64frombits(args.Uint())
	now := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if policy > math.MaxUint8 || estimator > math.MaxUint8 || probes > MaxCount ||
		step > MaxMillis || lease > MaxMillis || now > maxTime {
		return structures.ErrCorrupt
	}
	c.Probes, c.StepMillis, c.LeaseMillis = int(probes), int64(step), int64(lease)
	if err := s.restore(byte(policy), byte(estimator), c); err != nil {
		return fmt.Errorf("%w: %w", err, structures.ErrCorrupt)
	}
	s.clock = clock{stepMillis: c.StepMillis, epoch: int64(now), now: int64(now), seen: int64(now)}
	return nil
}

// applyAdd adds a node whose parameters are some of known.
func (s *Schedule) applyAdd(args *structures.Args, known uint64) error {
	node, now := args.Bytes(), args.Uint()
	r := reader{structures.Reader{B: args.Bytes()}}
	if err := args.Done(); err != nil {
		return err
	}
	mask := r.Uint(known)
	p := r.params(mask)
	r.shares(mask, &p)
	r.terms(mask, &p)
	if r.done("parameters") != nil || mask&^known != 0 || now > maxTime || s.checkNode(node, &p) != nil {
		return structures.ErrCorrupt
	}
	s.add(node, p, int64(now))
	return nil
}

func (s *Schedule) applySignal(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	nats, now := math.Float64frombits(args.Uint()), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || !(nats >= 0 && nats <= scheduler.MaxNats) || now > maxTime {
		return structures.ErrCorrupt
	}
	s.signal(slot, nats, int64(now))
	return nil
}

func (s *Schedule) applyQuiet(args *structures.Args) error {
	quiet := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if quiet > MaxMillis {
		return structures.ErrCorrupt
	}
	s.setQuiet(int64(quiet))
	return nil
}

func (s *Schedule) applyRemove(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	s.remove(slot)
	return nil
}

func (s *Schedule) applyAlter(args *structures.Args) error {
	probes, lease := args.Uint(), args.Uint()
	explore, quiet := math.Float64frombits(args.Uint()), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if probes > MaxCount || lease > MaxMillis || quiet > MaxMillis {
		return structures.ErrCorrupt
	}
	next := s.altered(Config{Probes: int(probes), LeaseMillis: int64(lease), Explore: explore, QuietMillis: int64(quiet)})
	if next.checkNumbers() != nil {
		return structures.ErrCorrupt
	}
	s.alter(next)
	return nil
}

func (s *Schedule) applyGroup(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	group, now := args.Bytes(), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || len(group) > 0 && s.checkGroup(group) != nil || now > maxTime {
		return structures.ErrCorrupt
	}
	s.setGroup(slot, string(group), int64(now))
	return nil
}

func (s *Schedule) applyLimit(args *structures.Args) error {
	group := args.Bytes()
	gap, rest, steps, concurrency := args.Uint(), args.Uint(), args.Uint(), args.Uint()
	now := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if s.checkGroup(group) != nil || gap > MaxMillis || rest > MaxMillis || steps > scheduler.MaxStep ||
		concurrency > math.MaxInt32 || now > maxTime {
		return structures.ErrCorrupt
	}
	l := scheduler.Limits{Gap: int64(gap), Rest: int64(rest), Steps: int64(steps), Concurrency: int32(concurrency)}
	s.limit(string(group), l, int64(now))
	return nil
}

func (s *Schedule) applyHold(args *structures.Args) error {
	group, until, now := args.Bytes(), args.Uint(), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if s.checkGroup(group) != nil || until > forever || now > maxTime {
		return structures.ErrCorrupt
	}
	s.hold(string(group), int64(until), int64(now))
	return nil
}

func (s *Schedule) applyByHost(args *structures.Args) error {
	on := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if on != 1 {
		return structures.ErrCorrupt
	}
	s.setByHost()
	return nil
}

func (s *Schedule) applyPause(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	until, now := args.Uint(), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || until > forever || now > maxTime {
		return structures.ErrCorrupt
	}
	s.pause(slot, int64(until), int64(now))
	return nil
}

func (s *Schedule) applyResume(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	now := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || now > maxTime {
		return structures.ErrCorrupt
	}
	s.resume(slot, int64(now))
	return nil
}

// applyNext replays what hands out nodes.
func (s *Schedule) applyNext(args *structures.Args, hand func(now, step, leaseMillis int64, slots []int)) error {
	now, step, lease := args.Uint(), args.Uint(), args.Uint()
	list := args.Bytes()
	if err := args.Done(); err != nil {
		return err
	}
	if now > maxTime || step > scheduler.MaxStep || int64(step) < s.clock.step || lease > MaxMillis {
		return structures.ErrCorrupt
	}
	s.chosen = s.chosen[:0]
	for len(list) > 0 {
		v, w := binary.Uvarint(list)
		slot, err := s.slotOf(v)
		if w <= 0 || err != nil || len(s.chosen) == MaxCount {
			return structures.ErrCorrupt
		}
		s.chosen = append(s.chosen, slot)
		list = list[w:]
	}
	hand(max(int64(now), s.clock.now), int64(step), int64(lease), s.chosen)
	return nil
}

func (s *Schedule) applyObserve(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	items, now := math.Float64frombits(args.Uint()), args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || scheduler.CheckNumber(items) != nil || now > maxTime {
		return structures.ErrCorrupt
	}
	s.observe(slot, items, int64(now))
	return nil
}

func (s *Schedule) applyFail(args *structures.Args) error {
	slot, err := s.slotOf(args.Uint())
	now := args.Uint()
	if err := args.Done(); err != nil {
		return err
	}
	if err != nil || now > maxTime {
		return structures.ErrCorrupt
	}
	s.fail(slot, int64(now))
	return nil
}

// slotOf checks a recorded slot: it must be in use.
func (s *Schedule) slotOf(v uint64) (int, error) {
	if v >= scheduler.MaxNodes || !s.table.Has(int(v)) {
		return 0, structures.ErrCorrupt
	}
	return int(v), nil
}
