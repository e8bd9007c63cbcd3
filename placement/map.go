package placement

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Unit is a named unit of a map.
type Unit struct {
	Name     string  // unique in its map, 1 to MaxName bytes
	Capacity float64 // as the user said it: MinDecimal to MaxDecimal
	Domain   string  // what it fails together with; empty: nothing else
	Share    float64 // expected share of objects; answered, not asked for
}

// MaxName bounds the names of units and domains, in bytes.
const MaxName = 512

// Map places objects on named units: a strategy, its options, and the units
// in slots, the small numbers that the strategy knows. A new unit takes the
// lowest free slot, so the numbering is a function of the history of changes,
// and equal histories give equal maps.
//
// Lookups may run concurrently with each other, but not with changes.
type Map struct {
	opts     Options
	spec     Spec
	strategy Strategy
	scale    int // capacities are multiples of 2^-scale; chosen by the first units
	slots    []slot
	names    map[string]int // slot by name
	held     *held          // objects that are assigned; nil without Bound

	sampling sync.Mutex // held while a sampler is made
	samplers [MaxCopies + 1]atomic.Pointer[sampler]
}

// slot is a place for a unit; free if the name is empty.
type slot struct {
	name     string
	domain   string
	decimal  float64
	capacity Capacity
}

// NewMap makes a map without units; ErrStrategy or ErrOption.
func NewMap(opts Options) (*Map, error) {
	opts, err := opts.Check()
	if err != nil {
		return nil, err
	}
	spec, err := Lookup(opts.Strategy)
	if err != nil {
		return nil, err
	}
	m := &Map{opts: opts, spec: spec, strategy: spec.New(opts), names: map[string]int{}}
	if opts.Bound > 0 {
		m.held = &held{}
	}
	return m, nil
}

// Options returns the completed options.
func (m *Map) Options() Options { return m.opts }

// Len returns the number of units.
func (m *Map) Len() int { return len(m.names) }

// Bytes returns the memory held by the strategy and by the objects that are
// assigned, in bytes.
func (m *Map) Bytes() int { return m.strategy.Bytes() + m.held.bytes() }

// Hash returns the hash of an object's key, with the map's seed.
func (m *Map) Hash(key []byte) uint64 { return Hash(key, m.opts.Seed) }

// Locate returns the slot of a hash, -1 for a map without units. Of a map with
// Bound it is where the object was assigned, or without that, where it would be in
// a map without a bound.
func (m *Map) Locate(hash uint64) int {
	if slot, ok := m.held.slot(hash); ok {
		return slot
	}
	return m.strategy.Locate(hash)
}

// Choices appends the slots where an object may be: two for twochoice, which
// may be the same one, else the one that Locate returns; none without units.
func (m *Map) Choices(hash uint64, dst []int) []int {
	if len(m.names) == 0 {
		return dst
	}
	if slot, ok := m.held.slot(hash); ok {
		return append(dst, slot)
	}
	if t, ok := m.strategy.(*twochoice); ok {
		first, second := t.Choices(hash)
		return append(dst, first, second)
	}
	return append(dst, m.Locate(hash))
}

// Name returns the name of the unit in a slot, "" for a free one.
func (m *Map) Name(slot int) string {
	if slot < 0 || slot >= len(m.slots) {
		return ""
	}
	return m.slots[slot].name
}

// Units returns the units by slot, with their expected shares. Those of nearest
// and share are what they approximate; those of slots, maglev and copysets are what
// units have, in whole parts of the table.
func (m *Map) Units() []Unit {
	shares := m.shares()
	out := make([]Unit, 0, len(m.names))
	for i, s := range m.slots {
		if s.name != "" {
			out = append(out, Unit{s.name, s.decimal, s.domain, shares[i]})
		}
	}
	return out
}

// tabled is a strategy with a table of equal parts of all hashes, so that shares
// are whole parts and not what capacities ask for.
type tabled interface {
	owners() []uint16 // unit by part; meaningless without units
}

// shares returns the expected shares by slot.
func (m *Map) shares() []float64 {
	out := make([]float64, len(m.slots))
	if t, ok := m.strategy.(tabled); ok && len(m.names) > 0 {
		owners := t.owners()
		for _, unit := range owners {
			out[unit]++ // counts are exact
		}
		for i := range out {
			out[i] /= float64(len(owners))
		}
		return out
	}
	total := float64(m.total())
	for i, s := range m.slots {
		out[i] = float64(s.capacity) / total
	}
	return out
}

// Unit returns a unit by name, and whether there is one.
func (m *Map) Unit(name string) (Unit, bool) {
	i, ok := m.names[name]
	if !ok {
		return Unit{}, false
	}
	s := m.slots[i]
	return Unit{s.name, s.decimal, s.domain, m.shares()[i]}, true
}

func (m *Map) total() Capacity {
	var t Capacity
	for _, s := range m.slots {
		t += s.capacity
	}
	return t
}

// Set adds units and changes capacities and domains, all or nothing. A unit
// that is there keeps its domain if none is given. Equal strategies take a
// change of all capacities at once. ErrName, ErrDuplicate, ErrCapacity,
// ErrUniform, ErrLimit.
func (m *Map) Set(units ...Unit) error {
	next, changes, err := m.planSet(units)
	if err != nil {
		return err
	}
	return m.commit(next, changes)
}

// Remove takes units away, all or nothing. ErrUnit, ErrDuplicate, and ErrLast
// if none would be left.
func (m *Map) Remove(names ...string) error {
	next, changes, err := m.planRemove(names)
	if err != nil {
		return err
	}
	return m.commit(next, changes)
}

// plan is what a change makes of the units.
type plan struct {
	slots []slot
	scale int
}

// planSet returns the slots after Set and what it tells the strategy.
func (m *Map) planSet(units []Unit) (plan, []Change, error) {
	p := plan{slots: slices.Clone(m.slots), scale: m.scale}
	if len(m.names) == 0 && len(units) > 0 {
		p.scale = scaleOf(units)
	}
	given := make(map[string]bool, len(units))
	var changed []int
	free := 0
	for _, u := range units {
		if len(u.Name) == 0 || len(u.Name) > MaxName || len(u.Domain) > MaxName {
			return p, nil, ErrName
		}
		if given[u.Name] {
			return p, nil, ErrDuplicate
		}
		given[u.Name] = true
		c, err := quantise(u.Capacity, p.scale)
		if err != nil {
			return p, nil, err
		}
		at, known := m.names[u.Name]
		if !known {
			for free < len(p.slots) && p.slots[free].name != "" {
				free++
			}
			if at = free; at == len(p.slots) {
				p.slots = append(p.slots, slot{})
			}
		}
		if known && u.Domain == "" {
			u.Domain = p.slots[at].domain
		}
		p.slots[at] = slot{u.Name, u.Domain, u.Capacity, c}
		changed = append(changed, at)
	}
	if len(p.slots) > m.spec.MaxUnits {
		return p, nil, ErrLimit
	}
	changes, err := m.setChanges(p, changed)
	return p, changes, err
}

// scaleOf returns the scale that the first units choose.
func scaleOf(units []Unit) int {
	least, most := MaxDecimal, MinDecimal
	for _, u := range units {
		if decimalOK(u.Capacity) {
			least, most = min(least, u.Capacity), max(most, u.Capacity)
		}
	}
	return chooseScale(min(least, most), most)
}

// setChanges returns the changes of capacities in the order of Batcher:
// lowered ones, raised ones, new units. A strategy for equal units is told
// capacity 1, whatever all have.
func (m *Map) setChanges(p plan, changed []int) ([]Change, error) {
	if !m.spec.Weighted {
		return m.equalChanges(p, changed)
	}
	var out []Change
	was := func(at int) Capacity {
		if at < len(m.slots) {
			return m.slots[at].capacity
		}
		return 0
	}
	for _, at := range changed {
		if c := p.slots[at].capacity; c != was(at) {
			out = append(out, Change{at, c})
		}
	}
	kind := func(c Change) int {
		switch old := was(c.Unit); {
		case old == 0:
			return 2
		case old < c.Capacity:
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a.Unit, b.Unit))
	})
	return out, nil
}

func (m *Map) equalChanges(p plan, changed []int) ([]Change, error) {
	var out []Change
	if len(changed) == 0 {
		return nil, nil
	}
	same := p.slots[changed[0]].capacity
	for at, s := range p.slots {
		if s.name == "" {
			continue
		}
		if s.capacity != same {
			return nil, ErrUniform
		}
		if at >= len(m.slots) || m.slots[at].name == "" {
			out = append(out, Change{at, 1})
		}
	}
	return out, nil
}

// planRemove returns the slots after Remove and what it tells the strategy.
func (m *Map) planRemove(names []string) (plan, []Change, error) {
	p := plan{slots: slices.Clone(m.slots), scale: m.scale}
	var out []Change
	for _, name := range names {
		at, ok := m.names[name]
		if !ok {
			return p, nil, ErrUnit
		}
		if p.slots[at].name == "" {
			return p, nil, ErrDuplicate
		}
		p.slots[at] = slot{}
		out = append(out, Change{Unit: at})
	}
	if len(names) > 0 && len(names) == len(m.names) {
		return p, nil, ErrLast
	}
	for len(p.slots) > 0 && p.slots[len(p.slots)-1].name == "" {
		p.slots = p.slots[:len(p.slots)-1]
	}
	slices.SortFunc(out, func(a, b Change) int { return a.Unit - b.Unit })
	return p, out, nil
}

// commit changes the strategy, then the units.
func (m *Map) commit(p plan, changes []Change) error {
	var hashes []uint64
	var before []int32
	if m.Assigned() > 0 {
		hashes = m.held.sorted()
		before = m.naturals(hashes)
	}
	next, err := changedTo(m.strategy, p, changes)
	if err != nil {
		return err
	}
	m.strategy = next
	m.adopt(p)
	if len(hashes) > 0 {
		m.resettle(hashes, before)
	}
	return nil
}

// adopt takes over planned units.
func (m *Map) adopt(p plan) {
	m.slots, m.scale = p.slots, p.scale
	clear(m.names)
	for i, s := range m.slots {
		if s.name != "" {
			m.names[s.name] = i
		}
	}
	for k := range m.samplers {
		m.samplers[k].Store(nil)
	}
	if m.held != nil {
		m.held.total = m.total()
	}
}

// changedTo is changed for planned units: a strategy that knows domains is told
// these, too.
func changedTo(s Strategy, p plan, changes []Change) (Strategy, error) {
	if c, ok := s.(*copysets); ok {
		return c.changed(domainsOf(p.slots), changes)
	}
	return changed(s, changes)
}

// domainsOf returns for each slot a number of its domain, -1 for a free one.
func domainsOf(slots []slot) []int32 {
	out, _ := numberDomains(slots)
	return out
}

// changed returns a strategy after changes, all or nothing: a strategy that
// takes one at a time is changed in a copy, so that none is half done.
func changed(s Strategy, changes []Change) (Strategy, error) {
	if len(changes) == 0 {
		return s, nil
	}
	if b, ok := s.(Batcher); ok {
		return s, b.Apply(changes)
	}
	if len(changes) == 1 {
		return s, change(s, changes[0])
	}
	c := s.Clone()
	for _, step := range changes {
		if err := change(c, step); err != nil {
			return s, err
		}
	}
	return c, nil
}

func change(s Strategy, c Change) error {
	if c.Capacity == 0 {
		return s.Remove(c.Unit)
	}
	return s.Set(c.Unit, c.Capacity)
}
