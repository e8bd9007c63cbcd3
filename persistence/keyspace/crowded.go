package keyspace

import (
	"bytes"
	"slices"

	"github.com/vigildb/vigil/persistence/slab"
)

// A table whose hashes crowd is laid out another way. With hashes by chance a slot
// lies some dozens of places behind its home at the most; nobody can choose keys
// that collide without the key of the hash, but seeing the order of very many keys
// would tell which are neighbours, and a bound that rests on the secret alone is
// none. So once a slot would have to lie maxRun places behind its home, the array
// is cut into blocks. A block holds its slots at its front, in the order of their
// hashes and, where these are equal, of their keys. Whatever
// the hashes are, a look takes two binary searches, a change moves the slots of
// one block, and once in as many changes as half a block has slots all of them
// are spread evenly again. Such an array is half full on average.
//
// What walks over a table by hash or by place sees no difference.
const (
	// maxRun is far beyond chance: at 7/8 full the probability of a run this long
	// is about exp(-maxRun/128) for each home.
	maxRun     = 8192
	blockSlots = 512
)

// crowded reports that the table is laid out in blocks.
func (t *Table) crowded() bool { return t.fill != nil }

// crowd divides the table into blocks.
func (t *Table) crowd() {
	all := t.gather()
	slices.SortStableFunc(all, func(a, b slot) int { return t.compare(a, b.hash, t.Key(b.meta)) })
	t.spread(all)
}

// compare orders a slot and a key.
func (t *Table) compare(s slot, hash uint64, key []byte) int {
	switch {
	case s.hash < hash:
		return -1
	case s.hash > hash:
		return 1
	}
	return bytes.Compare(t.Key(s.meta), key)
}

// spread lays slots, in order, out in blocks that are half full.
func (t *Table) spread(all []slot) {
	blocks := max(1, (len(all)+blockSlots/2-1)/(blockSlots/2))
	old := t.mapped
	*t.mem += int64(blocks*blockSlots-len(t.slots)) * SlotBytes
	t.allocate(blocks * blockSlots)
	t.capacity, t.fill = len(t.slots), make([]uint16, blocks)
	for b := range blocks {
		n := (len(all) + blocks - b - 1) / (blocks - b)
		t.fill[b] = uint16(copy(t.slots[b*blockSlots:], all[:n]))
		all = all[n:]
	}
	if old != nil {
		slab.Unmap(old)
	}
}

// gather returns a copy of the slots that are not empty.
func (t *Table) gather() []slot {
	all := make([]slot, 0, t.Used)
	for _, s := range t.slots {
		if s.meta != 0 {
			all = append(all, s)
		}
	}
	return all
}

// block returns the last block that does not begin behind a hash and, if it is
// not nil, a key: where they are, or belong. Without a key it is the last that
// begins before all slots of the hash.
func (t *Table) block(hash uint64, key []byte) int {
	low, high := 0, len(t.fill)
	for low < high {
		mid := (low + high) / 2
		at := mid
		for at < high && t.fill[at] == 0 { // some are, after many removals
			at++
		}
		switch {
		case at == high:
			high = mid
		case t.before(t.slots[at*blockSlots], hash, key):
			low = at + 1
		default:
			high = mid
		}
	}
	return max(0, low-1)
}

// before reports that a slot is of a lower hash, or of the same and not of a key
// behind key.
func (t *Table) before(s slot, hash uint64, key []byte) bool {
	if key == nil {
		return s.hash < hash
	}
	return t.compare(s, hash, key) <= 0
}

// placeIn returns the first place in a block that is not before a hash and key.
func (t *Table) placeIn(b int, hash uint64, key []byte) (at int, found bool) {
	base := b * blockSlots
	n, found := slices.BinarySearchFunc(t.slots[base:base+int(t.fill[b])], key,
		func(s slot, key []byte) int { return t.compare(s, hash, key) })
	return base + n, found
}

func (t *Table) findCrowded(hash uint64, key []byte) int {
	if i, found := t.placeIn(t.block(hash, notNil(key)), hash, key); found {
		return i
	}
	return -1
}

// notNil distinguishes the empty key from no key.
func notNil(key []byte) []byte {
	if key == nil {
		return []byte{}
	}
	return key
}

func (t *Table) seekCrowded(hash uint64) int {
	b := t.block(hash, nil)
	i, _ := t.placeIn(b, hash, nil)
	for i < len(t.slots) && t.slots[i].meta == 0 {
		if b++; b < len(t.fill) {
			i = b * blockSlots
			continue
		}
		return len(t.slots)
	}
	return i
}

func (t *Table) insertCrowded(hash, meta uint64) int {
	key := notNil(t.Key(meta))
	b := t.block(hash, key)
	if int(t.fill[b]) == blockSlots || len(t.fill) > 8 && t.Used < len(t.fill)*blockSlots/16 {
		t.spread(t.gather())
		b = t.block(hash, key)
	}
	i, _ := t.placeIn(b, hash, key)
	end := b*blockSlots + int(t.fill[b])
	copy(t.slots[i+1:end+1], t.slots[i:end])
	t.slots[i] = slot{hash, meta}
	t.fill[b]++
	t.Used++
	t.count(meta, 1)
	return i
}

// removeCrowded leaves all slots but those behind i in its block where they are,
// as walks that remove rely on.
func (t *Table) removeCrowded(i int) {
	b := i / blockSlots
	end := b*blockSlots + int(t.fill[b])
	copy(t.slots[i:end-1], t.slots[i+1:end])
	t.slots[end-1] = slot{}
	t.fill[b]--
	if t.Used == 0 {
		// Chance decides again.
		t.fill, t.capacity = nil, len(t.slots)-8
	}
}
