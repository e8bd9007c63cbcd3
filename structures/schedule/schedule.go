package schedule

import (
	"math/rand/v2"
	"unsafe"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// Schedule is a value of KindSchedule.
type Schedule struct {
	config Config
	// version is that of the head: versionSignals from the first use of what it
	// adds on.
	version byte

	clock    clock
	calls    uint64 // NEXT calls so far; seeds the draws of the next one
	handed   uint64 // nodes handed out
	observed uint64
	failed   uint64
	signals  uint64 // taken in
	missed   uint64 // deadlines
	worst    int64  // steps by which one was missed at most

	purse scheduler.Purse

	plan   plan
	table  scheduler.Table
	names  names     // of the nodes in the table
	slots  directory // of the names
	groups groups
	hidden hidden

	chosen []int          // scratch of Next and Peek: slots
	node   scheduler.Node // scratch of whatever calls an interface: it would escape
	picks  []Pick         // result of Next and Peek

	changed changed // since Clean
}

// New makes a schedule that has not been created: Create, Apply of a recorded
// Create, or nothing else is possible on it. The key decides where names lie in
// memory, and is to be secret where clients choose names.
func New(key structures.HashKey) *Schedule {
	s := &Schedule{version: version}
	s.slots.names, s.slots.key, s.slots.after = &s.names, key, s.table.After
	s.groups.list, s.groups.changed = &s.table.Groups, &s.changed
	s.hidden = hidden{leases: newLeases(), pauses: newLeases(), table: &s.table, groups: &s.groups}
	s.plan.table, s.plan.draws = &s.table, rand.New(&s.plan.pcg)
	return s
}

// Create configures a new schedule. It returns ErrExists if that was done
// before, and the error of Config.Check.
func (s *Schedule) Create(ch *structures.Change, c Config, nowMillis int64) error {
	if s.plan.created() {
		return ErrExists
	}
	p, e, err := c.resolve()
	if err != nil {
		return err
	}
	later := [...]struct {
		op   byte
		used bool
		arg  uint64
	}{
		{opQuiet, c.QuietMillis > 0, uint64(c.QuietMillis)},
		{opByHost, c.ByHost, 1},
		{opBudget, c.Budget > 0, floatBits(c.Budget)},
		{opPrice, c.Price > 0, floatBits(c.Price)},
	}
	for _, l := range later {
		if !l.used {
			continue
		}
		if err := ch.Permit(l.op); err != nil {
			return err
		}
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
	for _, l := range later {
		if l.used {
			ch.Op(l.op, 1)
			ch.Uint(l.arg)
			s.version = versionSignals
		}
	}
	if c.Budget > 0 {
		s.setBudget(c.Budget)
	}
	return nil
}

func (s *Schedule) configure(c Config, p scheduler.PolicySpec, e scheduler.EstimatorSpec) {
	c.Policy, c.Estimator = p.Name, e.Name
	s.config = c
	s.plan.set(p, e, c.Window)
	s.table.Probes, s.table.Price = c.Probes, c.Price
}

// Config is the configuration, with the names of policy and estimator filled
// in.
func (s *Schedule) Config() Config { return s.config }

// Len is the number of nodes.
func (s *Schedule) Len() int { return s.table.Live() }

// Step is the current step, the one of the last Next.
func (s *Schedule) Step() int64 { return s.clock.step }

// Params are the parameters of a node; false and the defaults if there is no
// such node. A caller that changes some of them starts from here.
func (s *Schedule) Params(node []byte) (scheduler.Params, bool) {
	slot, ok := s.slots.find(node)
	if !ok {
		return scheduler.DefaultParams(), false
	}
	return s.table.Node(slot).Params, true
}

// minParam is the lowest parameter that is distinguished from 0. Below,
// quotients such as weight times arrival over decay would overflow. -0 becomes
// 0 with them: they are equal, but not in the encoding.
const minParam = 1e-100

// Add adds a node and returns true, or gives an existing node new parameters
// and returns false: what was learnt about it, its age and its lease stay.
// Parameters below 1e-100 count as 0. Errors:
// ErrNotCreated, ErrName, ErrFull, those of scheduler.Params.Check, and
// scheduler.ErrDecay from policies that need one.
func (s *Schedule) Add(ch *structures.Change, node []byte, p scheduler.Params, nowMillis int64) (created bool, err error) {
	if !s.plan.created() {
		return false, ErrNotCreated
	}
	if err := s.checkNode(node, &p); err != nil {
		return false, err
	}
	now, op := s.clock.at(nowMillis), opOf(&p)
	if err := ch.Permit(op); err != nil {
		return false, err
	}
	ch.Op(op, 3)
	ch.Bytes(node)
	ch.Uint(uint64(now))
	var buf [96]byte
	ch.Bytes(appendParams(buf[:0], &p))
	return s.add(node, p, now), nil
}

// opOf is the operation that adds a node with these parameters.
func opOf(p *scheduler.Params) byte {
	if paramsMask(p) >= 1<<fieldBorn {
		return opPut
	}
	return opAdd
}

// checkNode makes the least parameters 0 and checks all.
func (s *Schedule) checkNode(node []byte, p *scheduler.Params) error {
	if len(node) > MaxName {
		return ErrName
	}
	for _, field := range paramFields(p) {
		if *field >= 0 && *field < minParam {
			*field = 0
		}
	}
	if err := p.Check(); err != nil {
		return err
	}
	if err := s.plan.check(p); err != nil {
		return err
	}
	if s.table.Live() >= scheduler.MaxNodes {
		if _, ok := s.slots.find(node); !ok {
			return ErrFull
		}
	}
	return nil
}

func (s *Schedule) add(node []byte, p scheduler.Params, now int64) (created bool) {
	s.ready()
	s.setTime(now)
	if opOf(&p) == opPut {
		s.version = versionSignals
	}
	slot, ok := s.slots.find(node)
	n := &s.node
	if ok {
		s.table.Load(slot, n)
		p.Group = n.Group // SetGroup changes it
		n.Params = p
		s.plan.estimator.Refresh(n)
		s.table.Store(slot, n)
	} else {
		slot = s.table.Free()
		p.Group = 0
		*n = scheduler.NewNode(p, s.clock.born(now))
		s.plan.estimator.Refresh(n)
		s.seat(slot, node, *n)
	}
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
	return !ok
}

// setTime records a time. Leases that were over then are no longer stored, and
// their nodes are shown: a policy must see those that it will see when it is
// loaded between this record and the next.
func (s *Schedule) setTime(now int64) {
	s.clock.set(now)
	s.hidden.expire(s.plan.policy, s.clock.now, s.clock.now)
}

// seat puts a node and its name into a free slot.
func (s *Schedule) seat(slot int, name []byte, n scheduler.Node) {
	s.names.put(slot, name)
	s.slots.insert(name, slot)
	s.table.Put(slot, n)
}

// Remove forgets a node and reports whether there was one. A lease on it ends
// with it: a later Observe finds no such node.
func (s *Schedule) Remove(ch *structures.Change, node []byte) bool {
	slot, ok := s.slots.find(node)
	if !ok {
		return false
	}
	ch.Op(opRemove, 1)
	ch.Uint(uint64(slot))
	s.remove(slot)
	return true
}

func (s *Schedule) remove(slot int) {
	s.ready()
	group := s.table.GroupOf(slot)
	s.unseat(slot)
	s.plan.policy.Touch(slot)
	s.changed.touch(slot)
	s.groups.sweep(group, s.clock.now)
}

// unseat takes a node out of its slot.
func (s *Schedule) unseat(slot int) {
	s.hidden.unlease(s.plan.policy, slot, s.clock.now)
	s.hidden.unpause(slot)
	s.slots.remove(slot)
	s.names.drop(slot)
	s.table.Remove(slot)
	// Pages of names are removed with the pages of the table.
	id := slot / scheduler.PageSize
	if next := s.table.After(id * scheduler.PageSize); next < 0 || next/scheduler.PageSize != id {
		s.names.release(id)
	}
	s.names.trim((s.table.Len() + scheduler.PageSize - 1) / scheduler.PageSize)
}

// ready derives what is not stored: the policy's structures.
// It costs O(n) after the schedule was loaded and nothing later.
func (s *Schedule) ready() {
	s.plan.attach()
	if !s.hidden.counted {
		s.hidden.recount(s.plan.policy)
	}
}

// Kind is KindSchedule.
func (s *Schedule) Kind() structures.Kind { return structures.KindSchedule }

// Empty is false: a schedule exists without nodes.
func (s *Schedule) Empty() bool { return false }

// Size is the memory held, in bytes, by everything but small change: the parts
// count what they have allocated. Before a loaded schedule is used first, the
// structures of its policy are missing.
func (s *Schedule) Size() int {
	n := int(unsafe.Sizeof(*s)) + s.table.Bytes() + s.names.size() + s.slots.size() + s.hidden.size() + s.groups.size()
	if s.plan.policy != nil {
		n += s.plan.policy.Bytes()
	}
	const pick = int(unsafe.Sizeof(Pick{}))
	return n + 8*(cap(s.chosen)+cap(s.changed)) + pick*cap(s.picks)
}
