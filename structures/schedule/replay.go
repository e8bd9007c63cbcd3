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
	if (op == opCreate) == s.plan.created() && op >= opCreate && op <= opEnd {
		return fmt.Errorf("schedule: operation %d on a schedule in the wrong state: %w", op, structures.ErrCorrupt)
	}
	r := record{args: args, table: &s.table}
	switch op {
	case opCreate:
		s.replayCreate(&r)
	case opAdd:
		s.replayAdd(&r, 1<<fieldBorn-1)
	case opPut:
		s.replayAdd(&r, allParams)
	case opNext, opTake:
		s.replayNext(op, &r)
	case opRemove, opObserve, opFail, opSignal, opPause, opResume, opPast, opPay:
		s.replayNode(op, &r)
	case opGroup, opLimit, opHold:
		s.replayGroup(op, &r)
	case opQuiet, opAlter, opByHost, opBudget, opPolicy, opPrice:
		s.replayConfig(op, &r)
	default:
		r.err = structures.ErrUnknownChange
	}
	if r.err != nil {
		return fmt.Errorf("schedule: operation %d: %w", op, r.err)
	}
	return nil
}

func (s *Schedule) replayCreate(r *record) {
	policy, estimator := byte(r.number(math.MaxUint8)), byte(r.number(math.MaxUint8))
	c := Config{Probes: int(r.number(MaxCount)), Window: r.float(), Seed: r.args.Uint(), StepMillis: r.number(MaxMillis),
		LeaseMillis: r.number(MaxMillis), Explore: r.float()}
	now := r.time()
	if !r.holds(true) {
		return
	}
	if err := s.restore(policy, estimator, c); err != nil {
		r.err = fmt.Errorf("%w: %w", err, structures.ErrCorrupt)
		return
	}
	s.clock = clock{stepMillis: c.StepMillis, epoch: now, now: now, seen: now}
}

// replayAdd adds a node whose parameters are some of known.
func (s *Schedule) replayAdd(r *record, known uint64) {
	node, now := r.args.Bytes(), r.time()
	params := reader{structures.Reader{B: r.args.Bytes()}}
	mask := params.Uint(known)
	p := params.params(mask)
	params.shares(mask, &p)
	params.terms(mask, &p)
	if r.holds(params.whole() && mask&^known == 0 && s.checkNode(node, &p) == nil) {
		s.add(node, p, now)
	}
}

// replayNext replays what hands out nodes.
func (s *Schedule) replayNext(op byte, r *record) {
	now, step, lease := r.time(), r.number(scheduler.MaxStep), r.number(MaxMillis)
	list := r.args.Bytes()
	s.chosen = s.chosen[:0]
	for len(list) > 0 && !r.bad {
		v, w := binary.Uvarint(list)
		if r.bad = w <= 0 || len(s.chosen) == MaxCount; r.bad {
			break
		}
		s.chosen = append(s.chosen, r.used(v))
		list = list[w:]
	}
	if !r.holds(step >= s.clock.step) {
		return
	}
	if op == opNext {
		s.calls++
	}
	s.give(max(now, s.clock.now), step, lease, s.chosen)
}

// replayNode replays what happened to one node.
func (s *Schedule) replayNode(op byte, r *record) {
	slot := r.slot()
	switch op {
	case opRemove:
		if r.holds(true) {
			s.remove(slot)
		}
	case opObserve:
		if items, now := r.amount(), r.time(); r.holds(true) {
			s.observe(slot, items, now)
		}
	case opFail:
		if now := r.time(); r.holds(true) {
			s.fail(slot, now)
		}
	case opSignal:
		if nats, now := r.float(), r.time(); r.holds(nats >= 0 && nats <= scheduler.MaxNats) {
			s.signal(slot, nats, now)
		}
	case opPause:
		if until, now := r.number(forever), r.time(); r.holds(true) {
			s.pause(slot, until, now)
		}
	case opResume:
		if now := r.time(); r.holds(true) {
			s.pause(slot, 0, now)
		}
	case opPast:
		p := Past{Age: r.number(scheduler.MaxStep+1) - 1, Probes: r.number(scheduler.MaxStep+1) - 1, Items: r.float()}
		if now := r.time(); r.holds(s.CheckPast(nil, p) == nil) {
			s.setPast(slot, p, now)
		}
	case opPay:
		if cost, now := r.amount(), r.time(); r.holds(true) {
			s.paid(slot, cost, now)
		}
	}
}

// replayGroup replays what happened to a group, or a node's change of its group.
func (s *Schedule) replayGroup(op byte, r *record) {
	switch op {
	case opGroup:
		slot, group, now := r.slot(), r.args.Bytes(), r.time()
		if r.holds(len(group) == 0 || s.groups.check(group) == nil) {
			s.setGroup(slot, string(group), now)
		}
	case opLimit:
		group := r.args.Bytes()
		l := scheduler.Limits{Gap: r.number(MaxMillis), Rest: r.number(MaxMillis), Steps: r.number(scheduler.MaxStep),
			Concurrency: int32(r.number(math.MaxInt32))}
		if now := r.time(); r.holds(s.groups.check(group) == nil) {
			s.limit(string(group), l, now)
		}
	case opHold:
		group, until, now := r.args.Bytes(), r.number(forever), r.time()
		if r.holds(s.groups.check(group) == nil) {
			s.hold(string(group), until, now)
		}
	}
}

// replayConfig replays a change of the configuration.
func (s *Schedule) replayConfig(op byte, r *record) {
	next := s.config
	switch op {
	case opQuiet:
		if next.QuietMillis = r.number(MaxMillis); r.holds(true) {
			s.config, s.version = next, versionSignals
		}
	case opByHost:
		if next.ByHost = true; r.holds(r.number(1) == 1) {
			s.config, s.version = next, versionSignals
		}
	case opAlter:
		next.Probes, next.LeaseMillis = int(r.number(MaxCount)), r.number(MaxMillis)
		next.Explore, next.QuietMillis = r.float()+0, r.number(MaxMillis)
		if r.holds(next.checkNumbers() == nil) {
			s.alter(next)
		}
	case opBudget:
		if next.Budget = r.float(); r.holds(next.checkNumbers() == nil && (next.Budget <= 0 || s.plan.spec.Ranks)) {
			s.setBudget(next.Budget)
		}
	case opPrice:
		if next.Price = r.float(); r.holds(next.checkNumbers() == nil) {
			s.setPrice(next.Price)
		}
	case opPolicy:
		p, err := scheduler.PolicyNumbered(byte(r.number(math.MaxUint8)))
		if r.holds(err == nil && s.plan.suits(&p, s.config.Budget) == nil) {
			s.setPolicy(&p)
		}
	}
}
