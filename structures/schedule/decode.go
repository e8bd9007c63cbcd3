package schedule

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// maxLearnt bounds stored numbers that were learnt. Sums of 2^53 observations
// of MaxNumber, divided by the shortest exposure, stay far below it.
const maxLearnt = 1e60

// reader reads what schedules consist of.
type reader struct{ structures.Reader }

func (r *reader) byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) fixed() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.fixed()) }

// learnt reads a float from 0 to maxLearnt.
func (r *reader) learnt() float64 {
	v := r.float()
	if !(v >= 0 && v <= maxLearnt) {
		r.Bad = true
		return 0
	}
	return v
}

// nodeMemo reads a memo of the only length that it may have.
func (r *reader) nodeMemo(length int) []float64 {
	list := r.memo()
	if len(list) != length {
		r.Bad = true
		return nil
	}
	return list
}

// memo reads a list of finite floats. The bytes bound its length.
func (r *reader) memo() []float64 {
	n := r.Uint(uint64(len(r.B) / 8))
	if n == 0 || r.Bad {
		return nil
	}
	list := make([]float64, 0, min(n, uint64(len(r.B)/8)))
	for range n {
		v := r.float()
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.Bad = true
		}
		list = append(list, v)
	}
	return list
}

// whole says that all was read, and nothing was wrong.
func (r *reader) whole() bool { return !r.Bad && len(r.B) == 0 }

func (r *reader) done(what string) error {
	if !r.whole() {
		return fmt.Errorf("schedule: %s: %w", what, structures.ErrCorrupt)
	}
	return nil
}

// Decode makes a schedule from its head; SetPage adds its pages. The error
// wraps structures.ErrCorrupt.
func Decode(head []byte, key structures.HashKey) (*Schedule, error) {
	s, r := New(key), reader{structures.Reader{B: head}}
	if s.version = r.byte(); s.version != version && s.version != versionSignals && !r.Bad {
		return nil, fmt.Errorf("schedule: head of version %d: %w", s.version, structures.ErrCorrupt)
	}
	policy := r.byte()
	if policy == 0 {
		return s, r.done("head")
	}
	estimator := r.byte()
	c := Config{Probes: int(r.Uint(MaxCount)), Window: r.float(), Seed: r.fixed(),
		StepMillis: int64(r.Uint(MaxMillis)), LeaseMillis: int64(r.Uint(MaxMillis)), Explore: r.float()}
	s.clock = clock{stepMillis: c.StepMillis, epoch: int64(r.Uint(maxTime)), now: int64(r.Uint(maxTime)),
		step: int64(r.Uint(scheduler.MaxStep))}
	for _, counter := range []*uint64{&s.calls, &s.handed, &s.observed, &s.failed} {
		*counter = r.Uint(math.MaxUint64)
	}
	s.table.Memo = r.memo()
	if s.version == versionSignals {
		s.headFields(&r, &c)
	}
	if err := r.done("head"); err != nil {
		return nil, err
	}
	if err := s.restore(policy, estimator, c); err != nil {
		return nil, fmt.Errorf("schedule: head: %w: %w", err, structures.ErrCorrupt)
	}
	return s, nil
}

// headFields reads what versionSignals adds to the head.
func (s *Schedule) headFields(r *reader, c *Config) {
	mask := r.Uint(1<<headEnd - 1)
	if mask>>headQuiet&1 != 0 {
		c.QuietMillis = int64(r.Uint(MaxMillis))
	}
	if mask>>headSignals&1 != 0 {
		s.signals = r.Uint(math.MaxUint64)
	}
	if mask>>headTheta&1 != 0 {
		s.table.Crowd.Theta = r.learnt()
	}
	if mask>>headSure&1 != 0 {
		s.table.Crowd.Sure = r.learnt()
	}
	if mask>>headByHost&1 != 0 {
		c.ByHost = r.Uint(1) == 1
	}
	if mask>>headMissed&1 != 0 {
		s.missed = r.Uint(math.MaxUint64)
	}
	if mask>>headWorst&1 != 0 {
		s.worst = int64(r.Uint(2 * scheduler.MaxStep))
	}
	if mask>>headBudget&1 != 0 {
		c.Budget = r.float()
		s.purse.Budget = c.Budget
	}
	if mask>>headPurse&1 != 0 {
		if s.purse.Left = r.float(); !(math.Abs(s.purse.Left) <= maxLearnt) {
			r.Bad = true
		}
	}
	if mask>>headPurseStep&1 != 0 {
		s.purse.Step = int64(r.Uint(scheduler.MaxStep))
	}
	if mask>>headPrice&1 != 0 {
		c.Price = r.float()
	}
	// One without the other would be divided by.
	if k := s.table.Crowd; (k.Theta > 0) != (k.Sure > 0) || k.Theta > scheduler.MaxNats {
		r.Bad = true
	}
}

// restore configures from the numbers on disk.
func (s *Schedule) restore(policy, estimator byte, c Config) error {
	p, err := scheduler.PolicyNumbered(policy)
	if err != nil {
		return err
	}
	e, err := scheduler.EstimatorNumbered(estimator)
	if err != nil {
		return err
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	s.configure(c, p, e)
	return nil
}

// PageLimit is one more than the highest number of a page. Numbers of pages tell
// the order of nodes, which decides ties, and the room that tables take.
func (s *Schedule) PageLimit() uint64 { return scheduler.MaxNodes / scheduler.PageSize }

// SetPage hands over a stored page. It may be called again with another
// version of the page. The error wraps structures.ErrCorrupt; the schedule is
// of no use after one.
func (s *Schedule) SetPage(id uint64, page []byte) error {
	if id >= s.PageLimit() || !s.plan.created() {
		return fmt.Errorf("schedule: page %d: %w", id, structures.ErrCorrupt)
	}
	s.plan.attached, s.hidden.counted = false, false
	s.slots.postpone()
	first := int(id) * scheduler.PageSize
	for slot := s.table.After(first); slot >= 0 && slot < first+scheduler.PageSize; slot = s.table.After(slot + 1) {
		s.unseat(slot)
	}
	s.groups.unseat(int32(first))
	if !s.seatPage(page, func(i int) int { return first + i }) {
		return fmt.Errorf("schedule: page %d: %w", id, structures.ErrCorrupt)
	}
	return nil
}

// AppendPage is SetPage, but the nodes get the slots after all others. The
// error wraps structures.ErrCorrupt.
func (s *Schedule) AppendPage(page []byte) error {
	s.plan.attached, s.hidden.counted = false, false
	s.slots.postpone()
	if s.groups.renumbered == nil {
		s.groups.renumbered = make(map[int32]int32)
	}
	if !s.plan.created() || !s.seatPage(page, func(int) int { return s.table.Len() }) {
		return fmt.Errorf("schedule: page: %w", structures.ErrCorrupt)
	}
	return nil
}

// Adopt gives nodes the memos that the policy gives to new ones, which the pages
// of another program may lack. They are part of what is stored: without them the
// records that follow would mean another thing after each load.
func (s *Schedule) Adopt() {
	s.groups.renumbered = nil
	s.ready()
}

// Complete returns an error that wraps structures.ErrCorrupt if two nodes have one name,
// or a node is of a group that is not there. To be asked after the last page.
func (s *Schedule) Complete() error {
	if s.slots.build(); s.slots.twice {
		return fmt.Errorf("schedule: a name twice: %w", structures.ErrCorrupt)
	}
	if s.plan.created() && !s.hidden.recount(s.plan.policy) {
		return fmt.Errorf("schedule: no such group: %w", structures.ErrCorrupt)
	}
	return nil
}

// seatPage reads the nodes of a page and reports whether it is one. slotOf returns
// the slot for a place in the page.
func (s *Schedule) seatPage(page []byte, slotOf func(place int) int) bool {
	r := reader{structures.Reader{B: page}}
	used := r.fixed()
	if used == 0 && s.version == versionSignals {
		s.groups.seat(&r)
		used = r.fixed()
	}
	for i := range scheduler.PageSize {
		if used>>i&1 == 0 || r.Bad {
			continue
		}
		n := &s.node
		*n = scheduler.Node{}
		name, l, paused := r.node(n, s.plan.spec.Memo, s.version)
		if s.slots.has(name) || r.Bad || s.plan.spec.Check != nil && s.plan.spec.Check(&n.Params) != nil {
			r.Bad = true
			break
		}
		if n.Group = s.groups.renumber(n.Group); int(n.Group) >= scheduler.MaxNodes {
			r.Bad = true
			break
		}
		slot := slotOf(i)
		s.seat(slot, name, *n)
		if l.until > s.clock.now {
			l.slot = int32(slot)
			s.hidden.lease(l)
		}
		if paused > s.clock.now {
			s.hidden.pause(slot, paused)
		}
	}
	return r.whole()
}

func (r *reader) group() (name string, g scheduler.Group) {
	name = string(r.Bytes(int(r.Uint(MaxName))))
	mask := r.Uint(1<<groupEnd - 1)
	var concurrency int64
	for i, f := range [...]struct {
		to   *int64
		most uint64
	}{
		{&g.Gap, MaxMillis}, {&g.Rest, MaxMillis}, {&g.Steps, scheduler.MaxStep}, {&concurrency, math.MaxInt32},
		{&g.Handed, maxTime + 1}, {&g.Ended, forever + 1}, {&g.Last, scheduler.MaxStep + 1}, {&g.Held, forever},
	} {
		if mask>>i&1 != 0 {
			*f.to = int64(r.Uint(f.most))
		}
	}
	g.Concurrency = int32(concurrency)
	if mask>>groupTheta&1 != 0 {
		g.Crowd.Theta = r.learnt()
	}
	if mask>>groupSure&1 != 0 {
		g.Crowd.Sure = r.learnt()
	}
	if k := g.Crowd; (k.Theta > 0) != (k.Sure > 0) || k.Theta > scheduler.MaxNats {
		r.Bad = true
	}
	return name, g
}

// node reads a node whose memo, if it has one, is of a given length. The name
// aliases what is read; the zero lease is none, and so is a pause until 0.
func (r *reader) node(n *scheduler.Node, memo int, v byte) (name []byte, l lease, paused int64) {
	name = r.Bytes(int(r.Uint(MaxName)))
	end := fieldEnd
	if v == version {
		end = fieldEnd1
	}
	mask := r.Uint(1<<end - 1)
	n.Params = r.params(mask)
	var ints [3]int64
	for i := range ints {
		if mask>>(fieldBorn+i)&1 != 0 {
			ints[i] = int64(r.Uint(scheduler.MaxStep))
		}
	}
	n.Born, n.Last, n.Probes = ints[0], ints[0]+ints[1], ints[2]
	if n.Last > scheduler.MaxStep {
		r.Bad = true
	}
	for i, field := range learntFields(n) {
		if mask>>(fieldItems+i)&1 != 0 {
			*field = r.learnt()
		}
	}
	if mask>>fieldLease&1 != 0 {
		l.until, l.step = int64(r.Uint(maxTime+MaxMillis)), int64(r.Uint(scheduler.MaxStep))
	}
	if mask>>fieldMemo&1 != 0 {
		n.Memo = r.nodeMemo(memo)
	}
	r.shares(mask, &n.Params)
	r.signals(mask, n, &l)
	if mask>>fieldPaused&1 != 0 {
		paused = int64(r.Uint(forever))
	}
	if mask>>fieldGroup&1 != 0 {
		n.Group = int32(r.Uint(scheduler.MaxNodes - 1))
	}
	if mask>>fieldBefore&1 != 0 {
		if n.Last -= int64(r.Uint(scheduler.MaxStep)); n.Last < -scheduler.MaxStep {
			r.Bad = true
		}
	}
	r.terms(mask, &n.Params)
	return name, l, paused
}

// shares reads precision and recall.
func (r *reader) shares(mask uint64, p *scheduler.Params) {
	for i, share := range shareFields(p) {
		if mask>>(fieldPrecision+i)&1 != 0 {
			*share = r.float()
		}
	}
	if p.Check() != nil {
		r.Bad = true
	}
}

// terms reads the parameters after those of signals.
func (r *reader) terms(mask uint64, p *scheduler.Params) {
	if mask>>fieldDeadline&1 != 0 {
		p.Deadline = int64(r.Uint(scheduler.MaxStep))
	}
	if mask>>fieldPriced&1 != 0 {
		p.Priced = r.float()
	}
	if p.Check() != nil {
		r.Bad = true
	}
}

// signals reads the fields from fieldNats on.
func (r *reader) signals(mask uint64, n *scheduler.Node, l *lease) {
	for i, field := range signalFields(n) {
		if mask>>(fieldNats+i)&1 != 0 {
			*field = r.learnt()
		}
	}
	// Rates of zero would be divided by, and so would information.
	if s := &n.Signals; s.Nats > scheduler.MaxNats || s.Trust > scheduler.MaxNats || (s.Silent > 0) != (s.Sure > 0) ||
		s.Silent > 0 && s.Silent < scheduler.LeastRate {
		r.Bad = true
	}
	if mask>>fieldHanded&1 != 0 {
		n.Handed = int64(r.Uint(maxTime))
	}
	if mask>>fieldLeaseSignals&1 != 0 {
		l.nats, l.heard = r.learnt(), r.learnt()
	}
}

func (r *reader) params(mask uint64) scheduler.Params {
	p := scheduler.DefaultParams()
	for i, field := range paramFields(&p) {
		if mask>>i&1 != 0 {
			if *field = r.float(); *field > 0 && *field < minParam {
				r.Bad = true // Add makes it 0
			}
		}
	}
	if mask>>fieldMaxAge&1 != 0 {
		p.MaxAge = int64(r.Uint(scheduler.MaxStep))
	}
	if p.Check() != nil {
		r.Bad = true
	}
	return p
}
