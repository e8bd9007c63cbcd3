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

// reader takes an encoding apart and keeps its first failure.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.buf) == 0 {
		r.bad = true
		return 0
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

// number reads a uvarint of at most limit.
func (r *reader) number(limit uint64) uint64 {
	v, w := binary.Uvarint(r.buf)
	if w <= 0 || v > limit {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[w:]
	return v
}

func (r *reader) fixed() uint64 {
	if len(r.buf) < 8 {
		r.bad, r.buf = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.buf)
	r.buf = r.buf[8:]
	return v
}

func (r *reader) float() float64 { return math.Float64frombits(r.fixed()) }

// learnt reads a float from 0 to maxLearnt.
func (r *reader) learnt() float64 {
	v := r.float()
	if !(v >= 0 && v <= maxLearnt) {
		r.bad = true
		return 0
	}
	return v
}

func (r *reader) bytes(limit uint64) []byte {
	n := r.number(limit)
	if n > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return nil
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

// nodeMemo reads a memo of the only length that it may have.
func (r *reader) nodeMemo(length int) []float64 {
	list := r.memo()
	if len(list) != length {
		r.bad = true
		return nil
	}
	return list
}

// memo reads a list of finite floats. The bytes bound its length.
func (r *reader) memo() []float64 {
	n := r.number(uint64(len(r.buf) / 8))
	if n == 0 || r.bad {
		return nil
	}
	list := make([]float64, 0, min(n, uint64(len(r.buf)/8)))
	for range n {
		v := r.float()
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.bad = true
		}
		list = append(list, v)
	}
	return list
}

// whole says that all was read, and nothing was wrong.
func (r *reader) whole() bool { return !r.bad && len(r.buf) == 0 }

func (r *reader) done(what string) error {
	if !r.whole() {
		return fmt.Errorf("schedule: %s: %w", what, structures.ErrCorrupt)
	}
	return nil
}

// Decode makes a schedule from its head; SetPage adds its pages. The error
// wraps structures.ErrCorrupt.
func Decode(head []byte, key structures.HashKey) (*Schedule, error) {
	s, r := New(key), reader{buf: head}
	if v := r.byte(); v != version && !r.bad {
		return nil, fmt.Errorf("schedule: head of version %d: %w", v, structures.ErrCorrupt)
	}
	policy := r.byte()
	if policy == 0 {
		return s, r.done("head")
	}
	estimator := r.byte()
	c := Config{Probes: int(r.number(MaxCount)), Window: r.float(), Seed: r.fixed(),
		StepMillis: int64(r.number(MaxMillis)), LeaseMillis: int64(r.number(MaxMillis)), Explore: r.float()}
	s.clock = clock{stepMillis: c.StepMillis, epoch: int64(r.number(maxTime)), now: int64(r.number(maxTime)),
		step: int64(r.number(scheduler.MaxStep))}
	for _, counter := range []*uint64{&s.calls, &s.handed, &s.observed, &s.failed} {
		*counter = r.number(math.MaxUint64)
	}
	s.table.Memo = r.memo()
	if err := r.done("head"); err != nil {
		return nil, err
	}
	if err := s.restore(policy, estimator, c); err != nil {
		return nil, fmt.Errorf("schedule: head: %w: %w", err, structures.ErrCorrupt)
	}
	return s, nil
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
	if id >= s.PageLimit() || s.policyNum == 0 {
		return fmt.Errorf("schedule: page %d: %w", id, structures.ErrCorrupt)
	}
	s.attached = false
	first := int(id) * scheduler.PageSize
	for slot := s.table.After(first); slot >= 0 && slot < first+scheduler.PageSize; slot = s.table.After(slot + 1) {
		s.unseat(slot)
	}
	if !s.seatPage(page, func(i int) int { return first + i }) {
		return fmt.Errorf("schedule: page %d: %w", id, structures.ErrCorrupt)
	}
	return nil
}

// AppendPage is SetPage, but the nodes get the slots after all others. The
// error wraps structures.ErrCorrupt.
func (s *Schedule) AppendPage(page []byte) error {
	s.attached = false
	if s.policyNum == 0 || !s.seatPage(page, func(int) int { return s.table.Len() }) {
		return fmt.Errorf("schedule: page: %w", structures.ErrCorrupt)
	}
	return nil
}

// Adopt gives nodes the memos that the policy gives to new ones, which the pages
// of another program may lack. They are part of what is stored: without them the
// records that follow would mean another thing after each load.
func (s *Schedule) Adopt() { s.ready() }

// seatPage reads the nodes of a page and reports whether it is one. slotOf returns
// the slot for a place in the page.
func (s *Schedule) seatPage(page []byte, slotOf func(place int) int) bool {
	r := reader{buf: page}
	used := r.fixed()
	for i := range scheduler.PageSize {
		if used>>i&1 == 0 || r.bad {
			continue
		}
		n := &s.node
		*n = scheduler.Node{}
		name, l := r.node(n, s.memo)
		if _, twice := s.slots.find(name); twice || r.bad || (s.check != nil && s.check(&n.Params) != nil) {
			r.bad = true
			break
		}
		slot := slotOf(i)
		s.seat(slot, name, *n)
		if l.until > s.clock.now {
			s.lease(slot, l.until, l.step)
		}
	}
	return r.whole()
}

// node reads a node whose memo, if it has one, is of a given length. The name
// aliases what is read; the zero lease is none.
func (r *reader) node(n *scheduler.Node, memo int) (name []byte, l lease) {
	name = r.bytes(MaxName)
	mask := r.number(1<<fieldEnd - 1)
	n.Params = r.params(mask)
	var ints [3]int64
	for i := range ints {
		if mask>>(fieldBorn+i)&1 != 0 {
			ints[i] = int64(r.number(scheduler.MaxStep))
		}
	}
	n.Born, n.Last, n.Probes = ints[0], ints[0]+ints[1], ints[2]
	if n.Last > scheduler.MaxStep {
		r.bad = true
	}
	for i, field := range learntFields(n) {
		if mask>>(fieldItems+i)&1 != 0 {
			*field = r.learnt()
		}
	}
	if mask>>fieldLease&1 != 0 {
		l.until, l.step = int64(r.number(maxTime+MaxMillis)), int64(r.number(scheduler.MaxStep))
	}
	if mask>>fieldMemo&1 != 0 {
		n.Memo = r.nodeMemo(memo)
	}
	return name, l
}

func (r *reader) params(mask uint64) scheduler.Params {
	p := scheduler.DefaultParams()
	for i, field := range paramFields(&p) {
		if mask>>i&1 != 0 {
			if *field = r.float(); *field > 0 && *field < minParam {
				r.bad = true // Add makes it 0
			}
		}
	}
	if mask>>fieldMaxAge&1 != 0 {
		p.MaxAge = int64(r.number(scheduler.MaxStep))
	}
	if p.Check() != nil {
		r.bad = true
	}
	return p
}
