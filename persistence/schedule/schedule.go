package schedule

import (
	"math/rand/v2"
	"unsafe"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Schedule is a value of KindSchedule.
type Schedule struct {
	config    Config
	policyNum byte // 0: not created yet
	estNum    byte
	rewards   bool
	check     func(*scheduler.Params) error
	exact     func([]float64, int) float64
	estimator scheduler.Estimator

	clock    clock
	calls    uint64 // NEXT calls so far; seeds the draws of the next one
	handed   uint64 // nodes handed out
	observed uint64
	failed   uint64

	table scheduler.Table
	names map[string]int32 // slot of a node
	seats []*seatPage      // beside the table's pages

	// Derived from the above when first needed, and never stored.
	policy   scheduler.Policy
	attached bool
	leases   []int32 // slots of hidden nodes, a heap by the end of the lease
	pcg      rand.PCG
	draws    *rand.Rand
	slots    []int  // scratch of Next and Peek
	picks    []Pick // answer of Next and Peek

	dirty     []uint64 // bit p%64 of word p/64: page p changed since Clean
	nameBytes int
	memos     int // numbers in the Memo fields
}

// seat is what a schedule knows of a slot beside the scheduler's node.
type seat struct {
	name  string
	until int64 // the lease ends at this millisecond; 0: none since it was freed
	step  int64 // step of the NEXT that gave the lease
	place int32 // one more than the position in Schedule.leases; 0: not leased
}

type seatPage [scheduler.PageSize]seat

// New makes a schedule that has not been created: Create, Apply of a recorded
// Create, or nothing else is possible on it.
func New() *Schedule {
	s := &Schedule{names: make(map[string]int32)}
	s.draws = rand.New(&s.pcg)
	return s
}

// Create configures a new schedule. It returns ErrExists if that was done
// before, and the error of Config.Check.
func (s *Schedule) Create(ch *structures.Change, c Config, nowMillis int64) error {
	if s.policyNum != 0 {
		return ErrExists
	}
	p, e, err := c.resolve()
	if err != nil {
		return err
	}
	now := clampTime(nowMillis)
	s.configure(c, p, e)
	s.clock = clock{stepMillis: c.StepMillis, epoch: now, now: now, seen: now}
	ch.Op(opCreate, 9)
	ch.Uint(uint64(p.Number))
	ch.Uint(uint64(e.Number))
	ch.Uint(uint64(c.Probes))
	ch.Uint(floatBits(c.Window))
	ch.Uint(c.Seed)
	ch.Uint(uint64(c.StepMillis))
	ch.Uint(uint64(c.LeaseMillis))
	ch.Uint(floatBits(c.Explore))
	ch.Uint(uint64(now))
	return nil
}

func (s *Schedule) configure(c Config, p scheduler.PolicySpec, e scheduler.EstimatorSpec) {
	c.Policy, c.Estimator = p.Name, e.Name
	s.config, s.policyNum, s.estNum = c, p.Number, e.Number
	s.rewards, s.check, s.exact = p.Rewards, p.Check, p.Cost
	s.policy, s.estimator = p.New(), e.New(c.Window)
	s.attached = false
}

// Config is the configuration, with the names of policy and estimator filled
// in.
func (s *Schedule) Config() Config { return s.config }

// Len is the number of nodes.
func (s *Schedule) Len() int { return s.table.Live() }

// Step is the current step: that of the last Next.
func (s *Schedule) Step() int64 { return s.clock.step }

// Params are the parameters of a node; false and the defaults if there is no
// such node. A caller that changes some of them starts from here.
func (s *Schedule) Params(node []byte) (scheduler.Params, bool) {
	slot, ok := s.names[string(node)]
	if !ok {
		return scheduler.DefaultParams(), false
	}
	return s.table.Node(int(slot)).Params, true
}

// Add adds a node and answers true, or gives an existing node new parameters
// and answers false: what was learnt of it, its age and its lease stay. Errors:
// ErrNotCreated, ErrName, ErrFull, those of scheduler.Params.Check, and
// scheduler.ErrDecay from policies that need one.
func (s *Schedule) Add(ch *structures.Change, node []byte, p scheduler.Params, nowMillis int64) (created bool, err error) {
	if s.policyNum == 0 {
		return false, ErrNotCreated
	}
	if err := s.checkNode(node, &p); err != nil {
		return false, err
	}
	for _, field := range paramFields(&p) {
		*field += 0 // -0 becomes 0: they are equal, but not in the encoding
	}
	now := s.clock.at(nowMillis)
	ch.Op(opAdd, 3)
	ch.Bytes(node)
	ch.Uint(uint64(now))
	var buf [64]byte
	ch.Bytes(appendParams(buf[:0], &p))
	return s.add(node, p, now), nil
}

func (s *Schedule) checkNode(node []byte, p *scheduler.Params) error {
	if len(node) > MaxName {
		return ErrName
	}
	if err := p.Check(); err != nil {
		return err
	}
	if s.check != nil {
		if err := s.check(p); err != nil {
			return err
		}
	}
	if _, ok := s.names[string(node)]; !ok && s.table.Live() >= scheduler.MaxNodes {
		return ErrFull
	}
	return nil
}

func (s *Schedule) add(node []byte, p scheduler.Params, now int64) (created bool) {
	s.ready()
	s.clock.set(now)
	at, ok := s.names[string(node)]
	slot := int(at)
	n := scheduler.NewNode(p, s.clock.born(now))
	if ok {
		n = s.table.Node(slot)
		n.Params = p
		s.estimator.Refresh(&n)
		s.table.Store(slot, &n)
	} else {
		slot = s.table.Free()
		s.estimator.Refresh(&n)
		s.seatNode(slot, string(node), n)
	}
	s.policy.Touch(slot)
	s.touch(slot)
	return !ok
}

// seatNode puts a node and its name into a free slot.
func (s *Schedule) seatNode(slot int, name string, n scheduler.Node) {
	id := slot / scheduler.PageSize
	for len(s.seats) <= id {
		s.seats = append(s.seats, nil)
	}
	if s.seats[id] == nil {
		s.seats[id] = new(seatPage)
	}
	*s.seat(slot) = seat{name: name}
	s.names[name] = int32(slot)
	s.nameBytes += len(name)
	s.memos += len(n.Memo)
	s.table.Put(slot, n)
}

// seat is the seat of a slot in use.
func (s *Schedule) seat(slot int) *seat {
	return &s.seats[slot/scheduler.PageSize][slot%scheduler.PageSize]
}

// Remove forgets a node and answers whether there was one. A lease on it ends
// with it: a later Observe finds no such node.
func (s *Schedule) Remove(ch *structures.Change, node []byte) bool {
	slot, ok := s.names[string(node)]
	if !ok {
		return false
	}
	ch.Op(opRemove, 1)
	ch.Uint(uint64(slot))
	s.remove(int(slot))
	return true
}

func (s *Schedule) remove(slot int) {
	s.ready()
	s.unseat(slot)
	s.policy.Touch(slot)
	s.touch(slot)
}

// unseat takes a node out of its slot.
func (s *Schedule) unseat(slot int) {
	s.unlease(slot)
	st := s.seat(slot)
	delete(s.names, st.name)
	s.nameBytes -= len(st.name)
	s.memos -= len(s.table.MemoOf(slot))
	*st = seat{}
	s.table.Remove(slot)
	// Pages of seats go when those of the table do.
	id := slot / scheduler.PageSize
	if next := s.table.After(id * scheduler.PageSize); next < 0 || next/scheduler.PageSize != id {
		s.seats[id] = nil
	}
	for len(s.seats)*scheduler.PageSize >= s.table.Len()+scheduler.PageSize {
		s.seats = s.seats[:len(s.seats)-1]
	}
}

// ready derives what is not stored: the policy's structures and who is hidden.
// It costs O(n) after the schedule was loaded and nothing later.
func (s *Schedule) ready() {
	if s.attached {
		return
	}
	s.attached = true
	s.leases = s.leases[:0]
	for slot := s.table.After(0); slot >= 0; slot = s.table.After(slot + 1) {
		s.table.Hide(slot, false)
		s.seat(slot).place = 0
		if s.seat(slot).until > s.clock.now {
			s.lease(slot)
		}
	}
	s.policy.Attach(&s.table)
}

// touch marks the page of a slot as changed.
func (s *Schedule) touch(slot int) {
	id := slot / scheduler.PageSize
	for len(s.dirty) <= id/64 {
		s.dirty = append(s.dirty, 0)
	}
	s.dirty[id/64] |= 1 << (id % 64)
}

// Kind is KindSchedule.
func (s *Schedule) Kind() structures.Kind { return structures.KindSchedule }

// Empty is false: a schedule exists without nodes.
func (s *Schedule) Empty() bool { return false }

// Size estimates the memory held. The map entry of a name and the policy's
// share of a node are counted as mapEntry and derived bytes.
func (s *Schedule) Size() int {
	const mapEntry, derived = 32, 16
	const node = int(unsafe.Sizeof(scheduler.Node{})+unsafe.Sizeof(seat{})) + mapEntry + derived
	return int(unsafe.Sizeof(*s)) + s.table.Live()*node + s.nameBytes + 8*s.memos
}
