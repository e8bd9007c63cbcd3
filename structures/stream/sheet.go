package stream

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// A sheet is the page of some consumers of a group: those of 64 numbers in a row.
// All numbers in it are uvarints.
//
//	page      consumer ...                      at least one
//	consumer  number in the page | name | unix ms when seen | when active + 1
//	          name: length | bytes
type sheet struct {
	leaf
	g     *Group
	first uint32 // number of its first consumer
}

const sheetConsumers = 64

// touchConsumer notes that a consumer changed, came or went.
func (g *Group) touchConsumer(c *Consumer) {
	index := c.number / sheetConsumers
	sh := g.sheets[index]
	if sh == nil {
		sh = g.newSheet(index)
	}
	for n := range uint32(sheetConsumers) {
		if g.byNumber[sh.first+n] != nil {
			g.s.markDirty(sh)
			return
		}
	}
	delete(g.sheets, index)
	g.s.drop(sh)
}

func (g *Group) newSheet(index uint32) *sheet {
	sh := &sheet{leaf: leaf{id: g.pageID(sheetBit | uint64(index))}, g: g, first: index * sheetConsumers}
	g.sheets[index] = sh
	return sh
}

func (sh *sheet) appendPage(dst []byte) []byte {
	for n := range uint32(sheetConsumers) {
		c := sh.g.byNumber[sh.first+n]
		if c == nil {
			continue
		}
		dst = append(dst, byte(n))
		dst = appendString(dst, []byte(c.name))
		dst = binary.AppendUvarint(dst, uint64(c.seen))
		dst = binary.AppendUvarint(dst, uint64(c.active+1))
	}
	return dst
}

// loadSheet adds the consumers of a stored page to the group.
func (g *Group) loadSheet(index uint64, b []byte) error {
	if index >= nobody/sheetConsumers || g.sheets[uint32(index)] != nil {
		return fmt.Errorf("page %d of consumers: %w", index, structures.ErrCorrupt)
	}
	sh := g.newSheet(uint32(index))
	sh.Stored = true
	r := reader{b: b}
	for before := -1; !r.bad && (r.at < len(b) || before < 0); {
		n, name := r.uvarint(), r.string()
		c := &Consumer{name: string(name), number: sh.first + uint32(n), seen: int64(r.uvarint()), active: int64(r.uvarint()) - 1}
		if r.bad || n >= sheetConsumers || int(n) <= before || g.consumers[c.name] != nil {
			return fmt.Errorf("consumer %d of page %d: %w", n, index, structures.ErrCorrupt)
		}
		before = int(n)
		g.next = max(g.next, c.number+1)
		g.addConsumer(c)
	}
	return r.done("page of consumers")
}
