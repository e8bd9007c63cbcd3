package schedule

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/scheduler"
)

// names holds the names of nodes by slot, beside the table's pages: the names of
// a page lie one after the other in one piece of memory,
//
//	text   "news.examplemail.example" ...
//	ends    12          24            ...   where the name of each slot ends
//
// so a name of 12 bytes takes 15. A free slot has an empty name; which slots are
// free is the table's to know.
//
// A byte of text never changes once written: a page that cannot take a name at
// its end gets new memory. So a name handed out stays what it was.
type names struct {
	pages []*namePage
	bytes int // of pages
}

type namePage struct {
	text []byte
	ends [scheduler.PageSize]uint16
	// wide replaces ends when text is too long for them.
	wide *[scheduler.PageSize]uint32
}

const (
	namePageBytes = int(unsafe.Sizeof(namePage{}))
	wideBytes     = 4 * scheduler.PageSize
)

func (p *namePage) end(i int) int {
	switch {
	case i < 0:
		return 0
	case p.wide != nil:
		return int(p.wide[i])
	}
	return int(p.ends[i])
}

func (p *namePage) bytes() int {
	n := namePageBytes + cap(p.text)
	if p.wide != nil {
		n += wideBytes
	}
	return n
}

// of is the name in a slot whose page exists.
func (n *names) of(slot int) string {
	p, i := n.pages[slot/scheduler.PageSize], slot%scheduler.PageSize
	from, to := p.end(i-1), p.end(i)
	if from == to {
		return ""
	}
	return unsafe.String(&p.text[from], to-from)
}

// put gives a free slot a name.
func (n *names) put(slot int, name []byte) {
	id, i := slot/scheduler.PageSize, slot%scheduler.PageSize
	for len(n.pages) <= id {
		n.pages = append(n.pages, nil)
	}
	p := n.pages[id]
	if p == nil {
		p = new(namePage)
		n.pages[id] = p
	} else {
		n.bytes -= p.bytes()
	}
	at, size := p.end(i), len(p.text)+len(name)
	switch {
	case at == len(p.text) && (i < scheduler.PageSize-1 || size <= cap(p.text)):
		p.text = append(p.text, name...)
	default:
		// In the middle, or the last name of the page: as long as it is.
		text := append(make([]byte, 0, size), p.text[:at]...)
		p.text = append(append(text, name...), p.text[at:]...)
	}
	p.shift(i, len(name))
	n.bytes += p.bytes()
}

// drop takes the name of a slot away.
func (n *names) drop(slot int) {
	p, i := n.pages[slot/scheduler.PageSize], slot%scheduler.PageSize
	from, to := p.end(i-1), p.end(i)
	n.bytes -= p.bytes()
	text := make([]byte, 0, len(p.text)-(to-from))
	p.text = append(append(text, p.text[:from]...), p.text[to:]...)
	p.shift(i, from-to)
	n.bytes += p.bytes()
}

// shift moves the ends of slot i and of the slots after it.
func (p *namePage) shift(i, by int) {
	if p.wide == nil && len(p.text) > math.MaxUint16 {
		p.wide = new([scheduler.PageSize]uint32)
		for k, end := range p.ends {
			p.wide[k] = uint32(end)
		}
	}
	if p.wide != nil {
		for k := i; k < scheduler.PageSize; k++ {
			p.wide[k] = uint32(int(p.wide[k]) + by)
		}
		return
	}
	for k := i; k < scheduler.PageSize; k++ {
		p.ends[k] = uint16(int(p.ends[k]) + by)
	}
}

// release gives a page back that has no names any more.
func (n *names) release(id int) {
	if n.pages[id] != nil {
		n.bytes -= n.pages[id].bytes()
		n.pages[id] = nil
	}
}

// trim forgets the pages from id on, which are released.
func (n *names) trim(id int) {
	if len(n.pages) > id {
		clear(n.pages[id:])
		n.pages = n.pages[:id]
	}
}

// size is the memory held, in bytes.
func (n *names) size() int { return n.bytes + 8*cap(n.pages) }
