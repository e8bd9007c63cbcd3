package streams

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

// MAXCOUNT and MAXSIZE bound the whole reply of XREAD and XREADGROUP, where COUNT bounds what
// is returned of each stream. What is returned is counted before any of it is delivered: what is left out is
// not pending.

// budget is what a reply has left. Streams are served in their order.
type budget struct {
	given          bool
	entries, bytes int
	spent          bool // there is an entry in the reply
}

func (b *budget) set() {
	if !b.given {
		*b = budget{given: true, entries: math.MaxInt, bytes: math.MaxInt}
	}
}

func (b *budget) setEntries(n int64) {
	b.set()
	b.entries = int(n)
}

func (b *budget) setBytes(n int64) {
	b.set()
	b.bytes = int(n)
}

// most returns how many entries the reply may have.
func (b *budget) most() int {
	if b.given {
		return b.entries
	}
	return math.MaxInt
}

// take takes an entry, if there is room for it. One is always sent, however large it is.
func (b *budget) take(size int) bool {
	if b.entries == 0 || b.spent && size > b.bytes {
		b.entries = 0 // and none behind it
		return false
	}
	b.entries--
	b.bytes = max(b.bytes-size, 0)
	b.spent = true
	return true
}

// sizeOf is what an entry takes of a reply.
func sizeOf(e *stream.Entry) int {
	texts := 0
	size := sizeOfGone(e.ID)
	e.Each(func(field, value []byte) {
		texts += 2
		size += commands.BulkSize(len(field)) + commands.BulkSize(len(value))
	})
	return size + commands.ArraySize(texts)
}

// sizeOfGone is what an entry takes that has only its ID left.
func sizeOfGone(id stream.ID) int { return commands.ArraySize(2) + commands.BulkSize(len(id.String())) }

// count takes up to most entries of a stream from an ID on, and returns how many.
func (b *budget) count(s *stream.Stream, from, to stream.ID, most int) (n int) {
	if most <= 0 || b.entries == 0 {
		return 0
	}
	s.Each(from, to, func(e *stream.Entry) bool {
		if !b.take(sizeOf(e)) {
			return false
		}
		n++
		return n < most
	})
	return n
}

// cut returns what XREAD returns of the streams.
func (b *budget) cut(list []entries) []entries {
	kept := list[:0]
	for _, e := range list {
		if e.count = b.count(e.s, e.from, e.to, e.count); e.count > 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// limit returns the reads of XREADGROUP for which there is room, with the number of
// entries that each delivers.
func (r *reading) limit(reads []groupRead) []groupRead {
	b := &r.limited
	kept := reads[:0]
	for _, g := range reads {
		if b.entries == 0 {
			break
		}
		var e stream.Entry
		n := 0
		switch {
		case g.fresh:
			for n < len(g.idle) && g.s.Get(&e, g.idle[n].ID) && b.take(sizeOf(&e)) {
				n++
			}
			g.idle = g.idle[:n]
			if from, ok := g.group.Last().Next(); ok {
				n += b.count(g.s, from, stream.MaxID, g.count-n)
			}
		default:
			n = r.countAgain(&g)
		}
		g.count = n
		if n > 0 || !g.fresh && b.entries > 0 {
			kept = append(kept, g)
		}
	}
	return kept
}

// countAgain counts what the consumer gets again of a stream.
func (r *reading) countAgain(g *groupRead) (n int) {
	consumer := g.group.Consumer(r.consumer)
	from, ok := g.after.Next()
	if consumer == nil || !ok {
		return 0
	}
	var e stream.Entry
	g.group.EachPendingOf(consumer, from, stream.MaxID, func(p stream.Pending) bool {
		size := sizeOfGone(p.ID)
		if g.s.Get(&e, p.ID) {
			size = sizeOf(&e)
		}
		if !r.limited.take(size) {
			return false
		}
		n++
		return n < g.count
	})
	return n
}
