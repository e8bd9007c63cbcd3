package stream

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"sort"
	"unsafe"
)

// An addition under a new name touches few places in memory: names lie in a list in the order in which they were given, and a
// table finds them by a hash. The one that it makes too old stays in the list until some are, which then go together.

// names is what a stream remembers of named entries. What each addition reads comes first.
type names struct {
	stream *Stream     // whose memory they take and whose pages they change
	last   *producer   // that was looked for last, nil for none
	pages  []*namePage // in the order in which names were given
	absent uint64      // the hash of a name that was looked for in vain since the last one was put, and a bit that is set
	// slots find names: the hash, 31 bits of the place in the list and a bit that is set. A name is at the place of its hash
	// or behind it with no free slot between. A slot may be that of a name that was forgotten. Some are always free.
	slots  []uint64
	list   []name // in the order in which they were given; those that were forgotten are empty
	first  int    // all before are empty
	count  int    // that are not empty
	kept   int    // of these that are not too old
	due    int64  // no name is forgotten for its time before
	added  uint64 // names ever
	window Window

	duplicates uint64 // how often a known name was given again
	producers  map[string]*producer
	next       uint64 // number of the next page
	promised   uint64 // names that the head declares
}

// name is one in the list, with producer nil an empty place.
type name struct {
	producer *producer
	text     string
	id       ID
	time     int64  // when it was given, unix ms
	number   uint32 // among those of the producer, in the order in which they were given; it wraps around
	hash     uint32
}

// producer is one that has names in the list.
type producer struct {
	name  string
	end   uint32 // number of the next name
	count int    // names in the list
}

// namePage is a run of names in the list.
type namePage struct {
	leaf
	of        *names
	from, end int32   // places in the list
	left      int32   // of these that are not empty, at least one
	given     []given // names that were read, and are not in the list yet
}

const (
	pageNames  = 64
	sweepNames = 16 // that are too old when they are forgotten

	namesSize    = int(unsafe.Sizeof(names{})) + 48
	producerSize = int(unsafe.Sizeof(producer{})) + 64                                  // with its place in a map
	nameSize     = int(unsafe.Sizeof(name{}))*3/2 + 3*int(unsafe.Sizeof(uint64(0))) + 3 // with room for others, and its part of the page
)

// nameSeed makes the places of names in the table unpredictable.
var nameSeed = maphash.MakeSeed()

func hashName(pid, text []byte) uint32 {
	return uint32((maphash.Bytes(nameSeed, pid)*3 + maphash.Bytes(nameSeed, text)) >> 32)
}

// producer returns a producer that has names in the list, nil for another one.
func (n *names) producer(pid []byte) *producer {
	if n.last == nil || n.last.name != string(pid) {
		n.last = n.producers[string(pid)]
	}
	return n.last
}

// find returns the place of a name with a hash in the list, also of one that is to be forgotten, or -1.
func (n *names) find(p *producer, hash uint32, text []byte) int {
	none := uint64(hash)<<1 | 1
	if len(n.slots) == 0 || n.absent == none {
		return -1
	}
	mask := uint32(len(n.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := n.slots[i]
		if s == 0 {
			n.absent = none
			return -1
		}
		if uint32(s>>32) == hash {
			if at := int(uint32(s) >> 1); n.list[at].producer == p && n.list[at].text == string(text) {
				return at
			}
		}
	}
}

// old reports whether the producer of a name has given too many since.
func (n *names) old(e *name) bool { return e.producer.end-e.number > uint32(n.window.Most) }

// late reports whether the time of a name is over.
func (n *names) late(e *name, now int64) bool { return now-e.time >= n.window.Seconds*1000 }

// remembers reports whether a place in the list has a name that is remembered.
func (n *names) remembers(e *name, now int64) bool {
	return e.producer != nil && !n.old(e) && !n.late(e, now)
}

func (n *names) index(hash uint32, at int) {
	mask := uint32(len(n.slots) - 1)
	i := hash & mask
	for n.slots[i] != 0 {
		i = (i + 1) & mask
	}
	n.slots[i] = uint64(hash)<<32 | uint64(at)<<1 | 1
}

// put adds a name to the list and to the last page.
func (n *names) put(page *namePage, pid, text []byte, hash uint32, id ID, now int64) {
	n.absent = 0
	p := n.producer(pid)
	if p == nil {
		p = &producer{name: string(pid)}
		n.producers[p.name], n.last = p, p
		n.stream.memory += producerSize + len(p.name)
	}
	e := name{producer: p, text: string(text), id: id, time: now, number: p.end, hash: hash}
	if page.left == 0 {
		page.from = int32(len(n.list))
	}
	n.index(e.hash, len(n.list))
	n.list = append(n.list, e)
	page.left++
	page.end = int32(len(n.list))
	p.end++
	n.count++
	if p.count++; p.count <= n.window.Most {
		n.kept++
	}
	n.due = min(n.due, now+n.window.Seconds*1000)
	n.stream.memory += nameSize + len(text)
}

// forget empties a place in the list.
func (n *names) forget(at int) {
	s, e := n.stream, &n.list[at]
	p := e.producer
	s.memory -= nameSize + len(e.text)
	*e = name{}
	n.count--
	if p.count <= n.window.Most {
		n.kept--
	}
	if p.count--; p.count == 0 {
		delete(n.producers, p.name)
		n.last = nil
		s.memory -= producerSize + len(p.name)
	}
	i := sort.Search(len(n.pages), func(i int) bool { return at < int(n.pages[i].end) })
	page := n.pages[i]
	if page.left--; page.left > 0 {
		s.markDirty(page)
		return
	}
	s.drop(page)
	if n.pages = slices.Delete(n.pages, i, i+1); len(n.pages) == 0 {
		n.next = 1
	}
}

// forgetAll forgets the names that are some.
func (n *names) forgetAll(are func(e *name) bool) {
	for at := n.first; at < len(n.list); at++ {
		if e := &n.list[at]; e.producer != nil && are(e) {
			n.forget(at)
		}
	}
}

// sweep forgets those at the front of the list that are to be forgotten at now.
func (n *names) sweep(now int64) {
	for ; n.first < len(n.list); n.first++ {
		if e := &n.list[n.first]; e.producer == nil {
			continue
		} else if !n.old(e) && !n.late(e, now) {
			n.due = e.time + n.window.Seconds*1000
			break
		}
		n.forget(n.first)
	}
	if n.count == 0 {
		n.due = math.MaxInt64
	}
	if n.count-n.kept > n.kept+sweepNames || cap(n.list) > 4*n.count+sweepNames {
		n.pack()
	}
}

// makeRoom empties the list and the table, which get room for some names if they have not about as much.
func (n *names) makeRoom(size int) {
	if c := cap(n.list); c < size || c > 2*size {
		n.list, n.slots = make([]name, 0, size), make([]uint64, 1<<bits.Len(uint(size+size/3)))
	}
	clear(n.slots)
	n.list, n.first = n.list[:0], 0
}

// pack forgets all names that are too old, and leaves no empty places between the others but some behind them.
func (n *names) pack() {
	n.forgetAll(n.old)
	old := n.list
	n.makeRoom(n.count + n.count/2 + 4)
	for _, page := range n.pages {
		from := int32(len(n.list))
		for _, e := range old[page.from:page.end] {
			if e.producer != nil {
				n.index(e.hash, len(n.list))
				n.list = append(n.list, e)
			}
		}
		page.from, page.end = from, int32(len(n.list))
	}
	clear(n.list[len(n.list):min(len(old), cap(n.list))])
}

func (p *namePage) appendPage(dst []byte) []byte {
	for _, e := range p.of.list[p.from:p.end] {
		if e.producer != nil {
			dst = appendString(appendString(dst, []byte(e.producer.name)), []byte(e.text))
			dst = binary.AppendUvarint(appendID(dst, e.id), uint64(e.time))
		}
	}
	return dst
}
