package stream

import (
	"maps"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// Group is a consumer group: how far it has read a stream, and which entries were
// delivered to its consumers and not acknowledged.
type Group struct {
	leaf
	s      *Stream
	name   string
	number uint64 // in the numbers of its pages
	last   ID
	read   int64 // entries read, counted from the first one ever; Unknown

	consumers map[string]*Consumer
	byNumber  map[uint32]*Consumer
	sheets    map[uint32]*sheet // pages of consumers
	nobody    *Consumer         // has what was released
	released  int64             // the last place in the queue of what was released
	next      uint32            // number of the next consumer if none is free
	free      []uint32          // numbers of consumers that are gone

	pending  []*pendingPage // in the order of IDs
	count    int            // records in them
	nextPage uint64         // number of the last page of records

	promised *groupPromise // of the page of a group until the stream is complete
}

// Unknown stands for a number of entries read that is not known.
const Unknown = -1

// Never is the time at which a consumer that was given nothing was active.
const Never = -1

// maxGroups bounds the numbers of groups, which are parts of the numbers of pages.
const maxGroups = namesGroup - 1

// Consumer is a consumer of a group.
type Consumer struct {
	name         string
	number       uint32
	seen, active int64
	pending      int            // records
	pages        []*pendingPage // that have any of them, in the order of IDs
}

const (
	groupSize    = int(unsafe.Sizeof(Group{})) + 200   // its maps, and its place in one
	consumerSize = int(unsafe.Sizeof(Consumer{})) + 80 // its places in maps
)

// Name returns the group's name.
func (g *Group) Name() string { return g.name }

// Last returns the ID behind which entries are new to the group.
func (g *Group) Last() ID { return g.last }

// Read returns how many entries the group has read, or Unknown.
func (g *Group) Read() int64 { return g.read }

// Pending is the number of entries that were delivered and not acknowledged.
func (g *Group) Pending() int { return g.count }

// Name returns the consumer's name.
func (c *Consumer) Name() string { return c.name }

// Seen returns the unix milliseconds at which the consumer last asked for anything.
func (c *Consumer) Seen() int64 { return c.seen }

// Active returns the unix milliseconds at which it last got anything, or Never.
func (c *Consumer) Active() int64 { return c.active }

// Pending is the number of entries that it got and that were not acknowledged.
func (c *Consumer) Pending() int { return c.pending }

// Group returns the group of that name, nil if there is none.
func (s *Stream) Group(name []byte) *Group { return s.groups[string(name)] }

// GroupCount is the number of groups.
func (s *Stream) GroupCount() int { return len(s.groups) }

// Groups lists the groups in the order of their names.
func (s *Stream) Groups() []*Group {
	list := make([]*Group, 0, len(s.groups))
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		list = append(list, s.groups[name])
	}
	return list
}

// CreateGroup makes a group, to which entries behind last are new. It returns nil
// and records nothing if there is one of that name.
func (s *Stream) CreateGroup(ch *structures.Change, name []byte, last ID, read int64) *Group {
	if s.groups[string(name)] != nil {
		return nil
	}
	number := s.groupNumber()
	if number == 0 {
		return nil
	}
	ch.Op(opGroupCreate, 4)
	ch.Bytes(name)
	recordID(ch, last)
	ch.Int(read)
	g := s.newGroup(number)
	g.name, g.last, g.read = string(name), last, read
	s.groups[g.name] = g
	s.memory += g.fixedMemory()
	s.markDirty(g)
	return g
}

// groupNumber returns a number for a new group, 0 if there is none left.
func (s *Stream) groupNumber() uint64 {
	if n := len(s.freeGroups); n > 0 {
		number := s.freeGroups[n-1]
		s.freeGroups = s.freeGroups[:n-1]
		return number
	}
	if s.nextGroup > maxGroups {
		return 0
	}
	s.nextGroup++
	return s.nextGroup - 1
}

func (s *Stream) newGroup(number uint64) *Group {
	if s.groups == nil {
		s.groups = map[string]*Group{}
	}
	g := &Group{s: s, number: number, consumers: map[string]*Consumer{}, nobody: &Consumer{number: nobody, active: Never},
		byNumber: map[uint32]*Consumer{}, sheets: map[uint32]*sheet{}}
	g.byNumber[nobody] = g.nobody
	g.id = g.pageID(0)
	return g
}

func (g *Group) fixedMemory() int { return groupSize + len(g.name) }

// DestroyGroup removes a group. It returns false if there is none of that name.
func (s *Stream) DestroyGroup(ch *structures.Change, name []byte) bool {
	g := s.groups[string(name)]
	if g == nil {
		return false
	}
	ch.Op(opGroupDestroy, 1)
	ch.Bytes(name)
	delete(s.groups, g.name)
	s.freeGroups = append(s.freeGroups, g.number)
	s.drop(g)
	for _, sh := range g.sheets {
		s.drop(sh)
	}
	for _, p := range g.pending {
		s.memory -= p.memory()
		s.drop(p)
	}
	for _, c := range g.consumers {
		s.memory -= c.memory()
	}
	s.memory -= 8 * cap(g.nobody.pages)
	s.memory -= g.fixedMemory()
	return true
}

// SetID changes what is new to the group.
func (g *Group) SetID(ch *structures.Change, last ID, read int64) {
	ch.Op(opGroupSetID, 4)
	ch.String(g.name)
	recordID(ch, last)
	ch.Int(read)
	g.last, g.read = last, read
	g.s.markDirty(g)
}

// Lag returns how many entries are new to the group; ok is false if it is not
// known, as deleted entries make it uncertain.
func (g *Group) Lag() (n int64, ok bool) {
	s := g.s
	first := s.First()
	switch {
	case s.added == 0 || s.len == 0:
		return 0, true
	case g.last.Less(first) && s.maxDeleted.Less(first):
		return int64(s.len), true
	case g.read != Unknown && !s.holed(g.last):
		return int64(s.added) - g.read, true
	}
	read := s.Position(g.last)
	return int64(s.added) - read, read != Unknown
}

// holed reports whether an entry from an ID on may have been deleted.
func (s *Stream) holed(from ID) bool {
	return s.len > 0 && s.maxDeleted != ID{} && !s.maxDeleted.Less(from)
}

// Position returns how many entries were added up to an ID, Unknown if that cannot
// be told: it lies behind an entry that was deleted, or between the first and the last.
func (s *Stream) Position(id ID) int64 {
	first := s.First()
	switch {
	case s.added == 0:
		return 0
	case s.len == 0 && !s.last.Less(id):
		return int64(s.added)
	case id != ID{} && id.Less(s.maxDeleted):
		return Unknown
	case id == s.last:
		return int64(s.added)
	case s.last.Less(id):
		return Unknown
	case s.maxDeleted != ID{} && !s.maxDeleted.Less(first):
		return Unknown
	case id.Less(first):
		return int64(s.added) - int64(s.len)
	case id == first:
		return int64(s.added) - int64(s.len) + 1
	}
	return Unknown
}

// Consumer returns the consumer of that name, nil if there is none.
func (g *Group) Consumer(name []byte) *Consumer { return g.consumers[string(name)] }

// ConsumerCount is the number of consumers.
func (g *Group) ConsumerCount() int { return len(g.consumers) }

// Consumers lists the consumers in the order of their names.
func (g *Group) Consumers() []*Consumer {
	list := make([]*Consumer, 0, len(g.consumers))
	for _, name := range slices.Sorted(maps.Keys(g.consumers)) {
		list = append(list, g.consumers[name])
	}
	return list
}

// CreateConsumer makes a consumer. It returns nil and records nothing if there is
// one of that name.
func (g *Group) CreateConsumer(ch *structures.Change, name []byte, now int64) *Consumer {
	if g.consumers[string(name)] != nil {
		return nil
	}
	ch.Op(opConsumerCreate, 3)
	ch.String(g.name)
	ch.Bytes(name)
	ch.Int(now)
	number := g.next
	if n := len(g.free); n > 0 {
		number, g.free = g.free[n-1], g.free[:n-1]
	} else {
		g.next++
	}
	c := &Consumer{name: string(name), number: number, seen: now, active: Never}
	g.addConsumer(c)
	g.touchConsumer(c)
	g.s.markDirty(g)
	return c
}

func (g *Group) addConsumer(c *Consumer) {
	g.consumers[c.name], g.byNumber[c.number] = c, c
	g.s.memory += c.memory()
}

func (c *Consumer) memory() int { return consumerSize + len(c.name) + 8*cap(c.pages) }

// DeleteConsumer removes a consumer and forgets what was delivered to it. It
// returns how many entries that were, and false if there is no such consumer.
func (g *Group) DeleteConsumer(ch *structures.Change, name []byte) (forgotten int, ok bool) {
	c := g.consumers[string(name)]
	if c == nil {
		return 0, false
	}
	ch.Op(opConsumerDelete, 2)
	ch.String(g.name)
	ch.Bytes(name)
	forgotten = c.pending
	g.s.memory -= c.memory()
	emptied := false
	for _, p := range c.pages {
		g.s.memory -= p.memory()
		p.records = slices.DeleteFunc(p.records, func(r record) bool { return r.consumer == c.number })
		if len(p.records) == 0 {
			emptied = true
			g.s.drop(p)
			continue
		}
		p.records, p.oldest = slices.Clone(p.records), 0
		g.s.memory += p.memory()
		g.s.markDirty(p)
	}
	if emptied {
		g.pending = slices.DeleteFunc(g.pending, func(p *pendingPage) bool { return p.gone })
	}
	g.count -= forgotten
	delete(g.consumers, c.name)
	delete(g.byNumber, c.number)
	g.free = append(g.free, c.number)
	g.touchConsumer(c)
	g.s.markDirty(g)
	return forgotten, true
}

// See notes that a consumer asked for something. That is no change: it is stored
// with the next change of the consumer, and a restart may forget it.
func (c *Consumer) See(now int64) { c.seen = now }

// SetTimes sets when a consumer of a stream that is read from elsewhere was seen and
// active. It is not recorded.
func (c *Consumer) SetTimes(seen, active int64) { c.seen, c.active = seen, active }
