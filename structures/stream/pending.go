package stream

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// record is an entry that was delivered and not acknowledged.
//
//	on disk  ID (16) | unix ms of the last delivery (8) | number of the consumer (4) | deliveries (4)
//
// The number of nobody is 2^32-1, and then the time is a place in the queue (release.go). So many
// deliveries are endless.
//
// A page is as many of these, little endian, in the order of IDs.
type record struct {
	id         ID
	time       int64
	consumer   uint32
	deliveries uint32
}

const (
	recordSize = 32
	// pageRecords fill a page of 4 KiB.
	pageRecords = 128
	// fewRecords is how many two pages have together that become one.
	fewRecords = pageRecords / 2
)

// pendingPage holds records of a group, at least one.
type pendingPage struct {
	leaf
	records []record
	oldest  int64 // what since returned; 0: unknown
}

const pendingPageSize = int(unsafe.Sizeof(pendingPage{})) + 8

func (p *pendingPage) memory() int { return pendingPageSize + cap(p.records)*recordSize }
func (p *pendingPage) first() ID   { return p.records[0].id }
func (p *pendingPage) last() ID    { return p.records[len(p.records)-1].id }

// since returns the time of the delivery that is the longest ago.
func (p *pendingPage) since() int64 {
	if p.oldest == 0 {
		p.oldest = p.records[0].time
		for i := range p.records {
			p.oldest = min(p.oldest, p.records[i].time)
		}
	}
	return p.oldest
}

// find returns where the record of an entry is, or would be. It is written out, as a
// call for each step is most of what an acknowledgement costs.
func (p *pendingPage) find(id ID) (at int, ok bool) {
	lo, hi := 0, len(p.records)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if p.records[mid].id.Less(id) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(p.records) && p.records[lo].id == id
}

// count counts up to limit records of a consumer.
func (p *pendingPage) count(consumer uint32, limit int) (n int) {
	for i := range p.records {
		if p.records[i].consumer == consumer {
			if n++; n == limit {
				break
			}
		}
	}
	return n
}

func (p *pendingPage) appendPage(dst []byte) []byte {
	for _, r := range p.records {
		dst = binary.LittleEndian.AppendUint64(dst, r.id.Ms)
		dst = binary.LittleEndian.AppendUint64(dst, r.id.Seq)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(r.time))
		dst = binary.LittleEndian.AppendUint32(dst, r.consumer)
		dst = binary.LittleEndian.AppendUint32(dst, r.deliveries)
	}
	return dst
}

func loadPending(id uint64, b []byte) (*pendingPage, error) {
	n := len(b) / recordSize
	if n == 0 || n > pageRecords || len(b)%recordSize != 0 {
		return nil, fmt.Errorf("%d bytes of pending entries: %w", len(b), structures.ErrCorrupt)
	}
	p := &pendingPage{leaf: leaf{id: id, State: paged.State{Stored: true}}, records: make([]record, n)}
	for i := range p.records {
		p.records[i] = record{
			id:         ID{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])},
			time:       int64(binary.LittleEndian.Uint64(b[16:])),
			consumer:   binary.LittleEndian.Uint32(b[24:]),
			deliveries: binary.LittleEndian.Uint32(b[28:]),
		}
		if b = b[recordSize:]; i > 0 && !p.records[i-1].id.Less(p.records[i].id) {
			return nil, fmt.Errorf("pending entries out of order: %w", structures.ErrCorrupt)
		}
	}
	return p, nil
}

// seek returns the index of the page that has the record of an entry, if any has,
// and else of the first page behind it.
func seek(pages []*pendingPage, id ID) int {
	lo, hi := 0, len(pages)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if pages[mid].last().Less(id) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// find returns the record of an entry, nil if it has none.
func (g *Group) find(id ID) (*pendingPage, *record) {
	i := seek(g.pending, id)
	if i == len(g.pending) {
		return nil, nil
	}
	at, ok := g.pending[i].find(id)
	if !ok {
		return nil, nil
	}
	return g.pending[i], &g.pending[i].records[at]
}

// put makes or replaces the record of an entry.
func (g *Group) put(id ID, c *Consumer, time int64, deliveries uint32) {
	r := record{id, time, c.number, deliveries}
	i := seek(g.pending, id)
	if i == len(g.pending) {
		// As IDs grow, mostly behind the last record.
		if i == 0 || len(g.pending[i-1].records) == pageRecords {
			g.insertPage(i)
		} else {
			i--
		}
	}
	p := g.pending[i]
	at, ok := p.find(id)
	if ok {
		g.disown(p, p.records[at].consumer)
		p.records[at] = r
		g.own(p, c)
		return
	}
	if len(p.records) == pageRecords {
		if p = g.split(i); at > len(g.pending[i].records) {
			at -= len(g.pending[i].records)
		} else {
			p = g.pending[i]
		}
	}
	g.s.memory -= p.memory()
	p.records = slices.Insert(p.records, at, r)
	g.s.memory += p.memory()
	g.count++
	g.own(p, c)
}

// insertPage puts a page without records at index i.
func (g *Group) insertPage(i int) *pendingPage {
	g.nextPage++
	p := &pendingPage{leaf: leaf{id: g.pageID(g.nextPage)}}
	g.pending = slices.Insert(g.pending, i, p)
	g.s.memory += p.memory()
	return p
}

// split moves the second half of page i into a page behind it, which it returns.
func (g *Group) split(i int) *pendingPage {
	p := g.pending[i]
	g.unlist(p)
	q := g.insertPage(i + 1)
	g.s.memory -= p.memory() + q.memory()
	half := len(p.records) / 2
	q.records = slices.Clone(p.records[half:])
	p.records = slices.Clone(p.records[:half])
	p.oldest = 0
	g.s.memory += p.memory() + q.memory()
	g.list(p)
	g.list(q)
	g.s.markDirty(p)
	g.s.markDirty(q)
	return q
}

// take removes the record of an entry. It returns false if it has none.
func (g *Group) take(id ID) bool {
	if len(g.pending) == 0 || id.Less(g.pending[0].first()) {
		return false // acknowledged before, most likely: entries are delivered in their order
	}
	i := seek(g.pending, id)
	if i == len(g.pending) {
		return false
	}
	p := g.pending[i]
	at, ok := p.find(id)
	if !ok {
		return false
	}
	g.disown(p, p.records[at].consumer)
	g.count--
	if len(p.records) == 1 {
		g.removePage(i)
		return true
	}
	p.records = slices.Delete(p.records, at, at+1)
	g.s.markDirty(p)
	g.tighten(i)
	return true
}

// removePage removes page i, which no consumer lists.
func (g *Group) removePage(i int) {
	p := g.pending[i]
	g.s.memory -= p.memory()
	g.s.drop(p)
	g.pending = slices.Delete(g.pending, i, i+1)
}

// tighten joins page i with a neighbour, or gives it a smaller buffer, if it has
// few records left.
func (g *Group) tighten(i int) {
	p := g.pending[i]
	if len(p.records) > fewRecords/2 {
		return
	}
	for _, k := range []int{i, i - 1} {
		if k < 0 || k+1 >= len(g.pending) {
			continue
		}
		if a, b := g.pending[k], g.pending[k+1]; len(a.records)+len(b.records) <= fewRecords {
			g.unlist(a)
			g.unlist(b)
			g.s.memory -= a.memory()
			a.records = append(a.records, b.records...)
			a.oldest = 0
			g.s.memory += a.memory()
			g.removePage(k + 1)
			g.list(a)
			g.s.markDirty(a)
			return
		}
	}
	if cap(p.records) > 16 && len(p.records) <= cap(p.records)/4 {
		g.s.memory -= p.memory()
		p.records = append(make([]record, 0, cap(p.records)/2), p.records...)
		g.s.memory += p.memory()
	}
}

// own notes that a consumer has one more record in a page.
func (g *Group) own(p *pendingPage, c *Consumer) {
	c.pending++
	p.oldest = 0
	g.enter(p, c)
	g.s.markDirty(p)
}

// enter puts a page into the list of a consumer.
func (g *Group) enter(p *pendingPage, c *Consumer) {
	n := len(c.pages)
	if n > 0 && c.pages[n-1] == p {
		return
	}
	i := n
	if n > 0 && p.first().Less(c.pages[n-1].last()) {
		if i = seek(c.pages, p.first()); c.pages[i] == p {
			return
		}
	}
	before := cap(c.pages)
	c.pages = slices.Insert(c.pages, i, p)
	g.s.memory += 8 * (cap(c.pages) - before)
}

// leave takes a page from the list of a consumer, if it is there.
func (g *Group) leave(p *pendingPage, c *Consumer) {
	if i := seek(c.pages, p.first()); i < len(c.pages) && c.pages[i] == p {
		before := cap(c.pages)
		if c.pages = slices.Delete(c.pages, i, i+1); len(c.pages) == 0 {
			c.pages = nil
		}
		g.s.memory += 8 * (cap(c.pages) - before)
	}
}

// disown notes that a consumer loses a record of a page, before it is removed.
func (g *Group) disown(p *pendingPage, number uint32) {
	c := g.byNumber[number]
	c.pending--
	p.oldest = 0
	if p.count(number, 2) == 1 {
		g.leave(p, c)
	}
	g.s.markDirty(p)
}

// unlist takes a page from the lists of all consumers that have records in it.
func (g *Group) unlist(p *pendingPage) {
	for i := range p.records {
		g.leave(p, g.byNumber[p.records[i].consumer])
	}
}

// list puts a page into the lists of all consumers that have records in it.
func (g *Group) list(p *pendingPage) {
	for i := range p.records {
		g.enter(p, g.byNumber[p.records[i].consumer])
	}
}
