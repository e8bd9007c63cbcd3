// Package bloom holds Bloom filters that grow.
//
// A Bloom filter grows by layers, as RedisBloom's does: when the newest layer
// holds as many items as it was made for, a larger one with half the error is
// put on top. An item is in the filter if any layer has all its bits set.
//
// The bits lie where RedisBloom puts them, so that dumps travel both ways:
//
//	a = MurmurHash64A(item, seed 0xc6a4a7935bd1e995), b = MurmurHash64A(item, seed a)
//	position of hash i = (a + i*b) mod 2^64 mod bits
//
// Sizes follow from the error e of a layer and its number of entries n (Bloom
// 1970): e = 2^-k is reached with k = log2(1/e) hashes and n*k/ln 2 bits.
package bloom

import (
	"errors"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

var (
	// ErrFull is returned by Add for an item that is new to a filter that
	// is full and does not grow.
	ErrFull = errors.New("structures: non scaling Bloom filter is full")
	// ErrMemory is returned when a layer would exceed the bytes allowed,
	// or when it cannot be made at all.
	ErrMemory = errors.New("structures: Bloom filter too large")
	// ErrParams is returned by Reserve for an error, a capacity or an
	// expansion outside their ranges.
	ErrParams = errors.New("structures: Bloom filter parameters out of range")
	// ErrBadData is returned for a dump header that a filter cannot have,
	// and for an iterator that does not fit its chunk.
	ErrBadData = errors.New("structures: bad Bloom filter dump")
	// ErrNoLayer is returned for a chunk that begins before or behind the
	// bits of the filter.
	ErrNoLayer = errors.New("structures: no Bloom filter layer at offset")
	// ErrChunkTooBig is returned for a chunk that reaches beyond the layer
	// that it begins in.
	ErrChunkTooBig = errors.New("structures: chunk too big for Bloom filter layer")
	// ErrUnread is returned when a page cannot be read.
	ErrUnread = errors.New("structures: page of a Bloom filter cannot be read")
)

// Ranges and defaults of BF.RESERVE.
const (
	DefaultError     = 0.01
	DefaultCapacity  = 100
	DefaultExpansion = 2
	MaxCapacity      = 1 << 30
	MaxExpansion     = 32768
)

// Options of a chain, as they stand in a dump.
const (
	noRound     = 1 // bits are not rounded up to a power of two
	entriesBits = 2 // entries was given as the logarithm of bits
	force64     = 4 // 64-bit hashes
	noScaling   = 8
	allOptions  = noRound | entriesBits | force64 | noScaling
)

const (
	seed64 = 0xc6a4a7935bd1e995
	seed32 = 0x9747b28c
	// tighten is the error of a layer over that of the one before, and of
	// the first layer of a filter that grows over that of the filter: the sum
	// over all layers stays below what was asked for.
	tighten = 0.5
	// errorCap is the largest error that a filter is made with; a larger
	// one that was asked for is lowered to it.
	errorCap = 0.25
	// ln(2)^2 and ln(2) with the digits that RedisBloom has: the sizes depend
	// on them.
	ln2Squared = 0.480453013918201
	ln2        = 0.693147180559945
	// maxBytes bounds a filter whatever limit the caller gives, and so
	// what a damaged record or head can ask for. Pages are allocated when they
	// are first written, so that only their table is at stake.
	maxBytes = 1 << 35
	// maxHashes is above what the least positive float64 as error gives.
	maxHashes = 1100
	// maxLayers keeps page ids apart and bounds the work of an Exists.
	maxLayers = 1 << 16
)

// Operations of a Bloom. These numbers are on disk and never change.
const (
	opBloomReserve = 16 // error (bits of the float64), capacity, options, expansion
	opBloomAdd     = 17 // item
	opBloomHeader  = 18 // dump header
	opBloomChunk   = 19 // position, bytes
)

// Filter is a Bloom filter of one or more layers. A new one has none and must
// be given its shape by Reserve or LoadHeader before anything else.
type Filter struct {
	layers  []layer // oldest first
	items   uint64
	options uint32
	growth  uint32
	// bytes is the sum over layers; held counts the bytes of pages in memory.
	bytes   uint64
	held    int
	pages   paged.Set[*page]
	indexed bool // the head that it was decoded from says which pages there are
}

// New returns a filter without layers, which has nothing and takes
// nothing.
func New() *Filter { return &Filter{} }

// Shape is what BF.RESERVE and BF.INSERT ask for.
type Shape struct {
	Error    float64 // the rate of false positives, above 0 and below 1; above 0.25 counts as 0.25
	Capacity uint64  // items of the first layer, 1 to 2^30
	// Expansion is the capacity of a layer over that of the one before. With
	// 0, or with Fixed, the filter does not grow.
	Expansion uint32
	Fixed     bool
}

// Reserve makes the first layer of a new filter. limit bounds the bytes of its
// bits. The errors are ErrParams and ErrMemory; the filter is then
// as new.
func (f *Filter) Reserve(ch *structures.Change, s Shape, limit uint64) error {
	if !(s.Error > 0 && s.Error < 1) || s.Capacity < 1 || s.Capacity > MaxCapacity || s.Expansion > MaxExpansion {
		return ErrParams
	}
	options := uint32(noRound | force64)
	if s.Fixed || s.Expansion == 0 {
		options |= noScaling
	}
	if err := f.reserve(s.Error, s.Capacity, options, s.Expansion, limit); err != nil {
		return err
	}
	ch.Op(opBloomReserve, 4)
	ch.Uint(math.Float64bits(s.Error))
	ch.Uint(s.Capacity)
	ch.Uint(uint64(options))
	ch.Uint(uint64(s.Expansion))
	return nil
}

func (f *Filter) reserve(rate float64, capacity uint64, options, growth uint32, limit uint64) error {
	rate = min(rate, errorCap)
	if options&noScaling == 0 {
		rate *= tighten
	}
	l, err := newBloomLayer(capacity, rate, options)
	if err != nil {
		return err
	}
	if l.bytes > min(limit, maxBytes) {
		return ErrMemory
	}
	f.become(&Filter{options: options, growth: growth})
	f.push(l)
	return nil
}

// become makes f, which is new, another filter. It may have a pager already.
func (f *Filter) become(g *Filter) {
	g.pages.Pager = f.pages.Pager
	*f = *g
}

// push puts a layer on top.
func (f *Filter) push(l layer) {
	inline := f.inline()
	l.place = len(f.layers)
	f.layers = append(f.layers, l)
	f.bytes += l.bytes
	if inline && !f.inline() {
		f.MarkAllDirty() // the bits leave the head, and every page is new on disk
	}
}

// hash is the pair that the positions of an item are made of.
type hash struct{ a, b uint64 }

func (f *Filter) hash(item []byte) hash {
	if f.options&force64 == 0 {
		a := structures.Murmur32(item, seed32)
		return hash{uint64(a), uint64(structures.Murmur32(item, a))}
	}
	a := structures.Murmur64A(item, seed64)
	return hash{a, structures.Murmur64A(item, a)}
}

// Exists reports whether item may have been added: false is certain, true is
// wrong at about the rate that the filter was made for.
func (f *Filter) Exists(item []byte) bool { return f.has(f.hash(item)) }

func (f *Filter) has(h hash) bool {
	for i := len(f.layers) - 1; i >= 0; i-- {
		if f.in(&f.layers[i], h) {
			return true
		}
	}
	return false
}

// in reports whether all bits of h are set in a layer.
func (f *Filter) in(l *layer, h hash) bool {
	if l.pages == nil {
		return false
	}
	mod, x := l.modulus(), h.a
	for range l.hashes {
		at := x % mod
		p := &l.pages[at/pageBits]
		words := p.bits.BitSet()
		if words == nil {
			if !f.bring(l, int(at/pageBits)) {
				return false
			}
			words = p.bits.BitSet()
		}
		if !words.Test(uint(at % pageBits)) {
			return false
		}
		if !p.Recent {
			p.Recent = true
		}
		x += h.b
	}
	return true
}

// set sets all bits of h in a layer, whose pages are in memory.
func (f *Filter) set(l *layer, h hash) {
	mod, x := l.modulus(), h.a
	for range l.hashes {
		at := x % mod
		p := f.open(l, int(at/pageBits))
		if bit := uint(at % pageBits); !p.bits.BitSet().Test(bit) {
			p.bits.BitSet().Set(bit)
			f.alter(p)
		}
		x += h.b
	}
}

// Add adds item and reports true, or reports false if the filter seemed to have
// it already. A full filter grows, while its bits stay within limit bytes. The
// errors are ErrFull and ErrMemory; the filter is then as before. It must be Ready for the item.
func (f *Filter) Add(ch *structures.Change, item []byte, limit uint64) (added bool, err error) {
	added, err = f.add(item, limit)
	if added {
		ch.Op(opBloomAdd, 1)
		ch.Bytes(item)
	}
	return added, err
}

func (f *Filter) add(item []byte, limit uint64) (bool, error) {
	h := f.hash(item)
	if f.has(h) {
		return false, nil
	}
	if len(f.layers) == 0 {
		return false, ErrMemory
	}
	if top := f.top(); top.items >= top.entries {
		if err := f.grow(limit); err != nil {
			return false, err
		}
	}
	top := f.top()
	f.set(top, h)
	top.items++
	f.items++
	return true, nil
}

func (f *Filter) top() *layer { return &f.layers[len(f.layers)-1] }

func (f *Filter) grow(limit uint64) error {
	if f.options&noScaling != 0 {
		return ErrFull
	}
	top := f.top()
	if f.growth == 0 || top.entries > math.MaxUint64/uint64(f.growth) || len(f.layers) == maxLayers {
		return ErrMemory
	}
	l, err := newBloomLayer(top.entries*uint64(f.growth), top.rate*tighten, f.options)
	if err != nil {
		return err
	}
	if l.bytes > min(limit, maxBytes) || f.bytes > min(limit, maxBytes)-l.bytes {
		return ErrMemory
	}
	f.push(l)
	return nil
}

// Card returns the number of items added.
func (f *Filter) Card() uint64 { return f.items }

// Info is what BF.INFO tells.
type Info struct {
	Capacity  uint64 // items that the layers are made for
	Bytes     uint64 // as RedisBloom counts them: its structures and the bits
	Layers    int
	Items     uint64
	Expansion uint32
	Fixed     bool // it does not grow, and BF.INFO tells no expansion
}

// Info describes the filter.
func (f *Filter) Info() Info {
	info := Info{
		// 32 bytes are the C structure of a chain, 64 that of a layer.
		Bytes:     32 + 64*uint64(len(f.layers)) + f.bytes,
		Layers:    len(f.layers),
		Items:     f.items,
		Expansion: f.growth,
		Fixed:     f.options&noScaling != 0,
	}
	for i := range f.layers {
		info.Capacity += f.layers[i].entries
	}
	return info
}

// Layer is what BF.DEBUG tells of a layer.
type Layer struct {
	Bytes, Bits, Capacity, Items uint64
	Hashes                       uint32
	HashWidth                    int // bits of a hash
	Error                        float64
}

// Layers describes the layers, oldest first.
func (f *Filter) Layers() []Layer {
	width := 32
	if f.options&force64 != 0 {
		width = 64
	}
	var layers []Layer
	for i := range f.layers {
		l := &f.layers[i]
		layers = append(layers, Layer{Bytes: l.bytes, Bits: l.bits, Capacity: l.entries, Items: l.items, Hashes: l.hashes, HashWidth: width, Error: l.rate})
	}
	return layers
}

// Apply replays a Reserve, an Add, a LoadHeader or a LoadChunk. The limits that
// these were given do not hold here: what was done once must be done again.
func (f *Filter) Apply(op byte, args *structures.Args) error {
	switch op {
	case opBloomReserve:
		rate, capacity := math.Float64frombits(args.Uint()), args.Uint()
		options, growth := args.Uint(), args.Uint()
		if err := args.Done(); err != nil {
			return fmt.Errorf("reserve Bloom filter: %w", err)
		}
		if options > allOptions || growth > math.MaxUint32 {
			return fmt.Errorf("reserve Bloom filter: %w", structures.ErrCorrupt)
		}
		return replay("reserve", f.reserve(rate, capacity, uint32(options), uint32(growth), maxBytes))
	case opBloomAdd:
		item := args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("add to Bloom filter: %w", err)
		}
		if !f.Ready(item) {
			return nil // the pager keeps the reason
		}
		_, err := f.add(item, maxBytes)
		return replay("add to", err)
	case opBloomHeader:
		header := args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("load Bloom filter: %w", err)
		}
		return replay("load", f.LoadHeader(nil, header, maxBytes))
	case opBloomChunk:
		pos, data := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("load chunk of Bloom filter: %w", err)
		}
		if pos > math.MaxInt64 {
			return fmt.Errorf("load chunk of Bloom filter at %d: %w", pos, structures.ErrCorrupt)
		}
		err := f.loadBits(int64(pos), data)
		if err == ErrUnread {
			return nil // the pager keeps the reason
		}
		return replay("load chunk of", err)
	}
	return fmt.Errorf("operation %d of a Bloom filter: %w", op, structures.ErrUnknownChange)
}

// replay makes an error that only a damaged record can give into one.
func replay(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s Bloom filter: %w: %w", what, err, structures.ErrCorrupt)
}
