package stream

import (
	"hash/maphash"
	"unsafe"
)

// A producer of names and what is remembered of it, so that an addition under a new name, which forgets the oldest one, touches
// few places in memory: the names lie in a ring, and a table of numbers finds them by a hash of their texts.

// producer is what is remembered of one producer, at least one name. Names have numbers, in the order in which they were given, which
// wrap around.
type producer struct {
	name       string
	ring       []name // of a power of two; number n is at n modulo that
	first, end uint32 // numbers: all from first on that are still remembered are before end
	count      int    // of these that are remembered
	// slots find numbers: the hash of the text, 31 bits of the number and a bit that is set. A text is at the place of its hash
	// or behind it with no free slot between. There are at least twice as many as names.
	slots []uint64
}

// name is one that is remembered, or with page nil one that is forgotten amid others.
type name struct {
	text string
	page *namePage
	id   ID
	time int64
	hash uint32
}

// nameRef is a name of a producer.
type nameRef struct {
	producer *producer
	number   uint32
}

const (
	leastRing = 4

	producerSize = int(unsafe.Sizeof(producer{})) + 64                                                                  // its place in a map
	nameSize     = int(unsafe.Sizeof(name{}))*3/2 + int(unsafe.Sizeof(nameRef{}))*5/4 + 3*int(unsafe.Sizeof(uint64(0))) // with its places in lists, which have room to grow
)

// nameSeed makes the places of names in tables unpredictable.
var nameSeed = maphash.MakeSeed()

func hashName(text []byte) uint32 { return uint32(maphash.Bytes(nameSeed, text) >> 32) }

// at returns the name with a number.
func (p *producer) at(number uint32) *name { return &p.ring[number&uint32(len(p.ring)-1)] }

// find returns the name with a text, nil if it is not remembered.
func (p *producer) find(hash uint32, text []byte) *name {
	if i := p.slotOf(hash, func(n *name) bool { return n.text == string(text) }); i >= 0 {
		return p.at(uint32(p.slots[i]) >> 1)
	}
	return nil
}

// slotOf returns the slot of the name with a hash that is the one looked for, or -1.
func (p *producer) slotOf(hash uint32, is func(*name) bool) int {
	if len(p.slots) == 0 {
		return -1
	}
	mask := uint32(len(p.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := p.slots[i]
		if s == 0 {
			return -1
		}
		if uint32(s>>32) == hash && is(p.at(uint32(s)>>1)) {
			return int(i)
		}
	}
}

// put adds a name and returns its number.
func (p *producer) put(n name) uint32 {
	if int(p.end-p.first) == len(p.ring) {
		p.grow()
	}
	number := p.end
	p.end++
	p.count++
	*p.at(number) = n
	p.index(n.hash, number)
	return number
}

func (p *producer) index(hash, number uint32) {
	mask := uint32(len(p.slots) - 1)
	i := hash & mask
	for p.slots[i] != 0 {
		i = (i + 1) & mask
	}
	p.slots[i] = uint64(hash)<<32 | uint64(number<<1) | 1
}

// grow makes room for as many numbers more.
func (p *producer) grow() {
	old, first, end := p.ring, p.first, p.end
	size := max(2*len(old), leastRing)
	p.ring, p.slots = make([]name, size), make([]uint64, 2*size)
	for number := first; number != end; number++ {
		if n := old[number&uint32(len(old)-1)]; n.page != nil {
			*p.at(number) = n
			p.index(n.hash, number)
		}
	}
}

// take forgets a name.
func (p *producer) take(n *name) {
	i := uint32(p.slotOf(n.hash, func(o *name) bool { return o == n }))
	mask := uint32(len(p.slots) - 1)
	for j := (i + 1) & mask; p.slots[j] != 0; j = (j + 1) & mask {
		if home := uint32(p.slots[j]>>32) & mask; (j-home)&mask >= (j-i)&mask {
			p.slots[i] = p.slots[j]
			i = j
		}
	}
	p.slots[i] = 0
	*n = name{}
	p.count--
	for p.first != p.end && p.at(p.first).page == nil {
		p.first++
	}
}
