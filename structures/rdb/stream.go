package rdb

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/structures/stream"
)

// stream reads a stream, which stream_write.go draws.
func (d *decoder) stream(t byte) *stream.Stream {
	s := stream.New()
	for n := d.length(); n > 0 && d.err == nil; n-- {
		d.node(s)
		d.grew(s, growBatch)
	}
	entries, last := d.length(), d.lengthID()
	added, deleted := entries, stream.ID{}
	if t != typeStream1 {
		d.lengthID() // of the first entry, which the stream knows
		deleted, added = d.lengthID(), d.length()
	}
	// Files have been found of streams that had been trimmed, whose numbers of entries are wrong
	// by a few: Redis takes them.
	wrong := entries != uint64(s.Len()) && (d.src == nil || entries < uint64(s.Len()))
	if d.err == nil && (wrong || last.Less(s.Last())) {
		d.fail("stream of %d entries up to %v has %d up to %v", entries, last, s.Len(), s.Last())
	}
	if d.err != nil {
		return s
	}
	s.SetID(nil, last, added, deleted)
	for n := d.length(); n > 0 && d.err == nil; n-- {
		d.group(t, s)
	}
	if t >= typeStream4 {
		d.producers(s)
	}
	return s
}

// producers reads the names that producers have given to entries, each given at the time of its ID.
func (d *decoder) producers(s *stream.Stream) {
	w := stream.Window{Seconds: int64(min(d.length(), math.MaxInt32)), Most: int(min(d.length(), math.MaxInt32))}
	var names []stream.NamedEntry
	for n := d.length(); n > 0 && d.err == nil; n-- {
		producer := slices.Clone(d.string(&d.room))
		for k := d.length(); k > 0 && d.err == nil; k-- {
			names = append(names, stream.NamedEntry{Producer: producer, Name: slices.Clone(d.string(&d.room)), ID: d.lengthID()})
		}
	}
	added, duplicates := d.length(), d.length()
	if d.err == nil {
		d.err = s.SetNames(w, names, added, duplicates)
	}
}

// lengthID reads an ID of two lengths.
func (d *decoder) lengthID() stream.ID { return stream.ID{Ms: d.length(), Seq: d.length()} }

// rawID reads an ID of 16 bytes.
func (d *decoder) rawID() (id stream.ID) {
	if b := d.take(16); b != nil {
		id.Ms, id.Seq = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	}
	return id
}

// node reads the entries of a node.
func (d *decoder) node(s *stream.Stream) {
	key := d.string(&d.room)
	if d.err == nil && len(key) != 16 {
		d.fail("node of a stream with an ID of %d bytes", len(key))
	}
	if d.err != nil {
		return
	}
	n := nodeReader{s: s, first: stream.ID{Ms: binary.BigEndian.Uint64(key), Seq: binary.BigEndian.Uint64(key[8:])}}
	b := d.string(&d.room)
	if d.err == nil {
		d.err = walkListpack(b, n.add)
	}
	if d.err == nil && (n.state != atFlags || n.live != n.entries || n.dead != n.deleted || n.live == 0) {
		d.fail("node of %d entries and %d deleted ones has %d and %d", n.entries, n.deleted, n.live, n.dead)
	}
}

// nodeState is what the next element of a node is.
type nodeState int

const (
	atEntries nodeState = iota
	atDeleted
	atFields
	atName // of the node's fields
	atZero
	atFlags // of the next entry
	atMs
	atSeq
	atPairs
	atText // field or value
	atCount
)

// nodeReader gathers the elements of a node into entries of a stream.
type nodeReader struct {
	s     *stream.Stream
	first stream.ID
	state nodeState

	entries, deleted int64 // as the node says
	live, dead       int64
	names            [][]byte

	flags int64
	id    stream.ID
	left  int64 // strings of the entry, or names of the node, that are to come
	count int64 // elements of the entry
	texts []byte
	ends  []int // of the strings in texts
}

// add takes the next element.
func (n *nodeReader) add(elem []byte) error {
	if n.state == atName {
		n.names = append(n.names, slices.Clone(elem))
		if n.left--; n.left == 0 {
			n.state = atZero
		}
		return nil
	}
	if n.count++; n.state == atText {
		n.texts = append(n.texts, elem...)
		n.ends = append(n.ends, len(n.texts))
		if n.left--; n.left == 0 {
			n.state = atCount
		}
		return nil
	}
	v, err := strconv.ParseInt(string(elem), 10, 64)
	if err != nil {
		return damaged("number %.20q in a node of a stream", elem)
	}
	return n.number(v)
}

// number takes an element that is a number.
func (n *nodeReader) number(v int64) error {
	next := n.state + 1
	switch n.state {
	case atEntries:
		n.entries = v
	case atDeleted:
		n.deleted = v
	case atFields:
		if n.left = v; v <= 0 {
			return damaged("node of a stream with %d fields", v)
		}
	case atZero:
		if v != 0 {
			return damaged("%d behind the fields of a node", v)
		}
	case atFlags:
		n.flags, n.count, n.texts, n.ends = v, 1, n.texts[:0], n.ends[:0]
		if v&^(entryDeleted|entrySame) != 0 {
			return damaged("flags %d of an entry", v)
		}
	case atMs:
		n.id.Ms = n.first.Ms + uint64(v)
	case atSeq:
		n.id.Seq = n.first.Seq + uint64(v)
		if n.flags&entrySame != 0 {
			n.left, next = int64(len(n.names)), atText
		}
	case atPairs:
		if v <= 0 || v > math.MaxInt32 {
			return damaged("entry of %d fields", v)
		}
		n.left = 2 * v
	case atCount:
		next = atFlags
		if v != n.count-1 {
			return damaged("entry of %d elements has %d", v, n.count-1)
		}
		return n.finish(next)
	}
	n.state = next
	return nil
}

// finish adds the entry that was read.
func (n *nodeReader) finish(next nodeState) error {
	n.state = next
	if n.flags&entryDeleted != 0 {
		n.dead++
		return nil
	}
	n.live++
	pairs := make([][]byte, 0, 2*max(len(n.names), len(n.ends)/2))
	from := 0
	for i, end := range n.ends {
		if n.flags&entrySame != 0 {
			pairs = append(pairs, n.names[i])
		}
		pairs = append(pairs, n.texts[from:end])
		from = end
	}
	if !n.s.Add(nil, n.id, pairs, stream.PageLimits{Bytes: nodeBytes, Entries: nodeEntries}) {
		return damaged("entry %v behind %v", n.id, n.s.Last())
	}
	return nil
}

// group reads a consumer group.
func (d *decoder) group(t byte, s *stream.Stream) {
	name, last := d.string(&d.room), d.lengthID()
	read := s.Position(last)
	if t != typeStream1 {
		read = int64(d.length())
	}
	if d.err != nil {
		return
	}
	g := s.CreateGroup(nil, name, last, read)
	if g == nil || read < stream.Unknown {
		d.fail("group %.20q of a stream, which read %d", name, read)
		return
	}
	var pending []stream.Pending
	for n := d.length(); n > 0 && d.err == nil; n-- {
		p := stream.Pending{ID: d.rawID(), Time: int64(d.fixed(8)), Deliveries: int64(min(d.length(), math.MaxInt64))}
		if k := len(pending); k > 0 && !pending[k-1].ID.Less(p.ID) {
			d.fail("pending entry %v behind %v", p.ID, pending[k-1].ID)
		}
		pending = append(pending, p)
	}
	left := len(pending)
	for n := d.length(); n > 0 && d.err == nil; n-- {
		left -= d.consumer(t, g, pending)
	}
	if t >= typeStream5 {
		left -= d.released(g, pending)
	}
	if d.err == nil && left != 0 {
		d.fail("%d pending entries without a consumer", left)
	}
}

// consumer reads a consumer, and gives it those of the pending entries that it has.
// It returns how many these are.
func (d *decoder) consumer(t byte, g *stream.Group, pending []stream.Pending) int {
	name, seen := d.string(&d.room), int64(d.fixed(8))
	active := seen
	if t >= typeStream3 {
		active = int64(d.fixed(8))
	}
	if d.err != nil {
		return 0
	}
	c := g.CreateConsumer(nil, name, seen)
	if c == nil {
		d.fail("consumer %.20q given twice", name)
		return 0
	}
	own := d.owned(d.length(), c, pending)
	g.Claim(nil, c, seen, own)
	c.SetTimes(seen, active)
	return len(own)
}

// released reads the pending entries that were released. It returns how many these are.
func (d *decoder) released(g *stream.Group, pending []stream.Pending) int {
	n := d.length()
	if n == 0 || d.err != nil {
		return 0
	}
	own := d.owned(n, new(stream.Consumer), pending)
	g.Release(nil, own)
	return len(own)
}

// owned reads the IDs of the n entries that a consumer has, and returns those of the
// pending entries.
func (d *decoder) owned(n uint64, c *stream.Consumer, pending []stream.Pending) (own []stream.Pending) {
	for ; n > 0 && d.err == nil; n-- {
		id := d.rawID()
		i, ok := slices.BinarySearchFunc(pending, id, func(p stream.Pending, id stream.ID) int { return p.ID.Compare(id) })
		if d.err != nil || !ok || pending[i].Consumer != nil {
			d.fail("entry %v of a consumer, which is not pending, or of two", id)
			return nil
		}
		pending[i].Consumer = c
		own = append(own, pending[i])
	}
	return own
}
