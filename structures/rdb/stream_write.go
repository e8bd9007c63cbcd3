package rdb

import (
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures/stream"
)

// A stream in a payload. All numbers are lengths unless they have a size; IDs of 16
// bytes are big endian, times of 8 little endian and in unix ms.
//
//	type | nodes | node... | entries | last ID (2)
//	     [ | first ID (2) | greatest deleted ID (2) | entries ever ]     since 19
//	     | groups | group...
//	     [ | duration | most | producers | producer... | duplicates (2) ] since 26
//	node     ID (string of 16) | listpack (string)
//	group    name | last ID (2) [ | entries read ]                       since 19
//	         | pending | for each: ID (16), time (8), deliveries
//	         | consumers | for each: name, seen (8) [, active (8)]       since 21
//	                       pending | for each: ID (16)
//	         [ | pending without a consumer | for each: ID (16) ]        since 27
//	producer name | entries | for each: name given by it, ID (2)
//
// A node's listpack has first what its entries have in common, and then them:
//
//	entries | deleted | fields | field... | 0
//	flags | ms - ms of the node | sequence - that of the node [ | fields ] | field, value, ... or value...
//	      | elements before this one of the entry
const (
	// A node that has so much is full, as Redis has it.
	nodeEntries = 100
	nodeBytes   = 4096

	entryDeleted = 1
	entrySame    = 2 // fields of the node
)

// streamNode is a node that is being written.
type streamNode struct {
	first   stream.ID
	names   [][]byte
	entries int
	body    listpack // the entries
}

// add appends an entry. The first one decides on the fields of the node.
func (n *streamNode) add(e *stream.Entry) {
	same := true
	if n.entries == 0 {
		n.first = e.ID
		e.Each(func(field, _ []byte) { n.names = append(n.names, slices.Clone(field)) })
	} else {
		i := 0
		e.Each(func(field, _ []byte) {
			same = same && i < len(n.names) && string(n.names[i]) == string(field)
			i++
		})
		same = same && i == len(n.names)
	}
	l, before := &n.body, n.body.count
	flags := int64(0)
	if same {
		flags = entrySame
	}
	l.int(flags)
	l.int(int64(e.ID.Ms - n.first.Ms))
	l.int(int64(e.ID.Seq - n.first.Seq))
	if !same {
		l.int(int64(e.Len()))
	}
	e.Each(func(field, value []byte) {
		if !same {
			l.bytes(field)
		}
		l.bytes(value)
	})
	l.int(int64(l.count - before))
	n.entries++
}

// appendTo appends the node to dst.
func (n *streamNode) appendTo(dst []byte) []byte {
	var l listpack
	l.int(int64(n.entries))
	l.int(0)
	l.int(int64(len(n.names)))
	for _, name := range n.names {
		l.bytes(name)
	}
	l.int(0)
	l.b = append(l.b, n.body.b...)
	l.count += n.body.count
	dst = appendRawID(append(dst, 16), n.first)
	dst = appendLength(dst, uint64(l.size()))
	return l.appendTo(dst)
}

func appendRawID(dst []byte, id stream.ID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, id.Ms), id.Seq)
}

func appendLengthID(dst []byte, id stream.ID) []byte {
	return appendLength(appendLength(dst, id.Ms), id.Seq)
}

// eachNode visits the nodes of a stream, as they are written.
func eachNode(s *stream.Stream, visit func(n *streamNode)) {
	var n streamNode
	s.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		if n.entries == nodeEntries || len(n.body.b) >= nodeBytes {
			visit(&n)
			n = streamNode{}
		}
		n.add(e)
		return true
	})
	if n.entries > 0 {
		visit(&n)
	}
}

// stream writes a stream in the form of Redis 7.0, which has no time at which a
// consumer was active, or of 7.2.
func (o *out) stream(t byte, s *stream.Stream) {
	if o.full == nil {
		var nodes []byte
		count := uint64(0)
		eachNode(s, func(n *streamNode) { nodes, count = n.appendTo(nodes), count+1 })
		o.b = append(appendLength(o.b, count), nodes...)
	} else { // their number comes first, and they may be more than memory has room for
		count := uint64(0)
		eachNode(s, func(*streamNode) { count++ })
		o.length(count)
		eachNode(s, func(n *streamNode) {
			o.b = n.appendTo(o.b)
			o.step()
		})
	}
	o.length(uint64(s.Len()))
	o.id(s.Last())
	o.id(s.First())
	o.id(s.MaxDeleted())
	o.length(s.Added())
	o.length(uint64(s.GroupCount()))
	for _, g := range s.Groups() {
		o.group(t, g)
	}
	if t >= typeStream4 {
		o.producers(s)
	}
}

// producers writes the names that producers have given to entries.
func (o *out) producers(s *stream.Stream) {
	w := s.Window()
	o.length(uint64(w.Seconds))
	o.length(uint64(w.Most))
	producers := s.Names()
	o.length(uint64(len(producers)))
	for _, names := range producers {
		o.string(names[0].Producer)
		o.length(uint64(len(names)))
		for _, n := range names {
			o.string(n.Name)
			o.id(n.ID)
		}
	}
	n := s.Naming(0)
	o.length(n.Added)
	o.length(n.Duplicates)
}

func (o *out) id(id stream.ID) { o.b = appendLengthID(o.b, id) }

func (o *out) group(t byte, g *stream.Group) {
	o.string([]byte(g.Name()))
	o.id(g.Last())
	o.length(uint64(g.Read()))
	o.length(uint64(g.Pending()))
	g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
		o.b = binary.LittleEndian.AppendUint64(appendRawID(o.b, p.ID), uint64(p.Time))
		o.length(uint64(p.Deliveries))
		o.step()
		return true
	})
	if t >= typeStream5 {
		o.length(uint64(g.ConsumerCount()))
		for _, c := range g.Consumers() {
			o.consumer(t, g, c, 0)
		}
		o.length(uint64(g.Released()))
		g.EachReleased(o.pending)
		return
	}
	unnamed := g.Consumer(nil)
	consumers := g.ConsumerCount()
	if released := g.Released() > 0; released && unnamed == nil {
		consumers++
	}
	o.length(uint64(consumers))
	for _, c := range g.Consumers() {
		if c != unnamed {
			o.consumer(t, g, c, 0)
		}
	}
	if consumers > g.ConsumerCount() {
		unnamed = new(stream.Consumer)
	}
	if unnamed != nil {
		o.consumer(t, g, unnamed, g.Released())
	}
}

// consumer writes a consumer and the entries that it has. What was released goes to one without
// a name: before 8.8 every entry has a consumer.
func (o *out) consumer(t byte, g *stream.Group, c *stream.Consumer, released int) {
	o.string([]byte(c.Name()))
	o.b = binary.LittleEndian.AppendUint64(o.b, uint64(c.Seen()))
	if t >= typeStream3 {
		o.b = binary.LittleEndian.AppendUint64(o.b, uint64(c.Active()))
	}
	o.length(uint64(c.Pending() + released))
	g.EachPendingOf(c, stream.ID{}, stream.MaxID, o.pending)
	if released > 0 {
		g.EachReleased(o.pending)
	}
}

// pending writes the ID of an entry that a consumer has, or nobody.
func (o *out) pending(p stream.Pending) bool {
	o.b = appendRawID(o.b, p.ID)
	o.step()
	return true
}
