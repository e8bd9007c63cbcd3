package topk

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// ErrMemory is returned when a list would exceed the bytes allowed.
var ErrMemory = errors.New("structures: top list too large")

const (
	bucketBytes = 8    // fingerprint and count
	printSeed   = 1919 // of the fingerprint
)

// MaxIncrement is the most that an item may be counted at once.
const MaxIncrement = 100_000

// Shape is what TOPK.RESERVE asks for.
type Shape struct {
	K, Width, Depth uint64 // 1 to 2^32 - 1
	Decay           float64
}

// DefaultDecay is the decay of a list that is made without one.
const DefaultDecay = 0.9

// DefaultShape is the shape of a list of k items that is made without one.
func DefaultShape(k uint64) Shape { return Shape{K: k, Width: 8, Depth: 7, Decay: DefaultDecay} }

// ModuleBytes are those that RedisBloom counts: its structures, the buckets and the heap.
func (s *Shape) ModuleBytes() uint64 { return 2088 + bucketBytes*s.Width*s.Depth + heapBytes*s.K }

// heapBytes is what RedisBloom takes for an entry of the heap.
const heapBytes = 24

// List is a top list, whose buckets are the one array of its stack. A new one has none, and must be given its
// shape by Init before anything else.
type List struct {
	cells.Stack
	shape   Shape
	chances *chances // of the decay; made when it is first needed
	heap    heap
}

// New returns a list without buckets.
func New() *List { return &List{} }

// Shape returns the shape.
func (l *List) Shape() Shape { return l.shape }

// Init gives a new list its shape. limit bounds the bytes of buckets and heap. The error is ErrMemory; the list
// is then as new.
func (l *List) Init(ch *structures.Change, s Shape, limit uint64) error {
	if !s.fits(min(limit, cells.MaxBytes)) {
		return ErrMemory
	}
	l.shape = s
	l.heap.reset(s.K)
	l.Push(s.Width * s.Depth * bucketBytes)
	ch.Op(opInit, 4)
	for _, v := range [...]uint64{s.K, s.Width, s.Depth, math.Float64bits(s.Decay)} {
		ch.Uint(v)
	}
	return nil
}

func (s *Shape) fits(limit uint64) bool {
	high, buckets := bits.Mul64(s.Width, s.Depth)
	return s.K > 0 && s.K <= math.MaxUint32 && s.Width <= math.MaxUint32 && s.Depth <= math.MaxUint32 && high == 0 && buckets > 0 &&
		s.Decay > 0 && s.Decay <= 1 && buckets <= limit/bucketBytes && s.K <= (limit-buckets*bucketBytes)/heapBytes
}

func printOf(item []byte) uint32 { return structures.Murmur32(item, printSeed) }

// bucket returns where the bucket of an item in a row is.
func (l *List) bucket(item []byte, row uint64) uint64 {
	return (row*l.shape.Width + uint64(structures.Murmur32(item, uint32(row)))%l.shape.Width) * bucketBytes
}

// Pair is an item and how often it is to be counted.
type Pair struct {
	Item []byte
	N    uint32
}

// Add counts items, with numbers drawn from a seed, and visits for each the one that fell out of the list, if ok.
// The bytes are valid during the call. It reports false if a page cannot be read, and does nothing then.
func (l *List) Add(ch *structures.Change, seed uint64, pairs []Pair, visit func(dropped []byte, ok bool)) bool {
	if !l.ready(pairs) {
		return false
	}
	if l.chances == nil {
		l.chances = newChances(l.shape.Decay)
	}
	src := source{seed}
	for _, p := range pairs {
		visit(l.add(&src, p.Item, p.N))
	}
	if len(pairs) > 0 {
		ch.Op(opAdd, 1+2*len(pairs))
		ch.Uint(seed)
		for _, p := range pairs {
			ch.Bytes(p.Item)
			ch.Uint(uint64(p.N))
		}
	}
	return true
}

// ready fetches the buckets of items.
func (l *List) ready(pairs []Pair) bool {
	if evicted, _ := l.Evicted(); evicted == 0 {
		return !l.Unread()
	}
	for _, p := range pairs {
		for row := range l.shape.Depth {
			if !l.Array(0).Fetch(l.bucket(p.Item, row), bucketBytes) {
				return false
			}
		}
	}
	return true
}

func (l *List) add(src *source, item []byte, n uint32) (dropped []byte, ok bool) {
	print, most, a := printOf(item), uint32(0), l.Array(0)
	for row := range l.shape.Depth {
		at := l.bucket(item, row)
		was := a.Uint64(at)
		now := l.contend(src, was, print, n)
		if now != was {
			a.PutUint64(at, now)
		}
		if uint32(now) == print {
			most = max(most, uint32(now>>32))
		}
	}
	return l.heap.offer(item, print, most)
}

// contend returns what a bucket is after an item was counted n times in it: the fingerprint in its low 32 bits,
// the count in the high ones.
func (l *List) contend(src *source, bucket uint64, print, n uint32) uint64 {
	holder, count := uint32(bucket), uint32(bucket>>32)
	switch {
	case count == 0:
		return uint64(n)<<32 | uint64(print)
	case holder == print:
		return uint64(count+n)<<32 | uint64(print)
	}
	for ; n > 0; n-- {
		chance := l.chances.of(count)
		if chance < never {
			break
		}
		if src.draw() >= chance {
			continue
		}
		if count--; count == 0 {
			return uint64(n)<<32 | uint64(print)
		}
	}
	return uint64(count)<<32 | uint64(holder)
}

// never is a chance that is not drawn for any more.
const never = 0x1p-60

// Has reports whether an item is in the list now.
func (l *List) Has(item []byte) bool { return l.heap.find(item, printOf(item)) >= 0 }

// Count estimates how often an item was counted: often too low, and 0 for most items that are not in the list.
func (l *List) Count(item []byte) (count uint32) {
	print, least := printOf(item), uint32(0)
	if l.heap.find(item, print) >= 0 {
		least = l.heap.at(0).count
	}
	for row := range l.shape.Depth {
		b := l.Array(0).Uint64(l.bucket(item, row))
		if c := uint32(b >> 32); uint32(b) == print && c >= least {
			count = max(count, c)
		}
	}
	return count
}

// Entry is an item of the list.
type Entry struct {
	Item  []byte
	Count uint32
}

// Entries returns the items of the list, the greatest count first, without those of count 0. Items of equal counts
// are in their own order. The bytes must not be changed.
func (l *List) Entries() (entries []Entry) {
	l.heap.each(func(_ uint64, e *entry) {
		if e.used && e.count > 0 {
			entries = append(entries, Entry{e.item, e.count})
		}
	})
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Count != b.Count {
			return int(int64(b.Count) - int64(a.Count))
		}
		return bytes.Compare(a.Item, b.Item)
	})
	return entries
}
