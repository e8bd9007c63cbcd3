package structures

import (
	"errors"
	"fmt"
	"math"
)

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

var (
	// ErrBloomFull is returned by Add for an item that is new to a filter that
	// is full and does not grow.
	ErrBloomFull = errors.New("structures: non scaling Bloom filter is full")
	// ErrBloomMemory is returned when a layer would exceed the bytes allowed,
	// or when it cannot be made at all.
	ErrBloomMemory = errors.New("structures: Bloom filter too large")
	// ErrBloomParams is returned by Reserve for an error, a capacity or an
	// expansion outside their ranges.
	ErrBloomParams = errors.New("structures: Bloom filter parameters out of range")
	// ErrBloomBadData is returned for a dump header that a filter cannot have,
	// and for an iterator that does not fit its chunk.
	ErrBloomBadData = errors.New("structures: bad Bloom filter dump")
	// ErrBloomNoLayer is returned for a chunk that begins before or behind the
	// bits of the filter.
	ErrBloomNoLayer = errors.New("structures: no Bloom filter layer at offset")
	// ErrBloomChunkTooBig is returned for a chunk that reaches beyond the layer
	// that it begins in.
	ErrBloomChunkTooBig = errors.New("structures: chunk too big for Bloom filter layer")
)

// Ranges and defaults of BF.RESERVE.
const (
	BloomDefaultError     = 0.01
	BloomDefaultCapacity  = 100
	BloomDefaultExpansion = 2
	BloomMaxCapacity      = 1 << 30
	BloomMaxExpansion     = 32768
)

// Options of a chain, as they stand in a dump.
const (
	bloomNoRound     = 1 // bits are not rounded up to a power of two
	bloomEntriesBits = 2 // entries was given as the logarithm of bits
	bloomForce64     = 4 // 64-bit hashes
	bloomNoScaling   = 8
	bloomOptions     = bloomNoRound | bloomEntriesBits | bloomForce64 | bloomNoScaling
)

const (
	bloomSeed64 = 0xc6a4a7935bd1e995
	bloomSeed32 = 0x9747b28c
	// bloomTighten is the error of a layer over that of the one before, and of
	// the first layer of a filter that grows over that of the filter: the sum
	// over all layers stays below what was asked for.
	bloomTighten = 0.5
	// bloomErrorCap is the largest error that a filter is made with; a larger
	// one that was asked for is lowered to it.
	bloomErrorCap = 0.25
	// ln(2)^2 and ln(2) with the digits that RedisBloom has: the sizes depend
	// on them.
	bloomLn2Squared = 0.480453013918201
	bloomLn2        = 0.693147180559945
	// bloomMaxBytes bounds a filter whatever limit the caller gives, and so
	// what a damaged record or head can ask for. Pages are allocated when they
	// are first written, so that only their table is at stake.
	bloomMaxBytes = 1 << 35
	// bloomMaxHashes is above what the least positive float64 as error gives.
	bloomMaxHashes = 1100
	// bloomMaxLayers keeps page ids apart and bounds the work of an Exists.
	bloomMaxLayers = 1 << 16
)

// Operations of a Bloom. These numbers are on disk and never change.
const (
	opBloomReserve = 16 // error (bits of the float64), capacity, options, expansion
	opBloomAdd     = 17 // item
	opBloomHeader  = 18 // dump header
	opBloomChunk   = 19 // position, bytes
)

// Bloom is a Bloom filter of one or more layers. A new one has none and must
// be given its shape by Reserve or LoadHeader before anything else.
type Bloom struct {
	layers  []bloomLayer // oldest first
	items   uint64
	options uint32
	growth  uint32
	// bytes is the sum over layers; held counts the bytes of pages that exist.
	bytes uint64
	held  int
}

// NewBloom returns a filter without layers, which has nothing and takes
// nothing.
func NewBloom() *Bloom { return &Bloom{} }

// BloomShape is what BF.RESERVE and BF.INSERT ask for.
type BloomShape struct {
	Error    float64 // the rate of false positives, above 0 and below 1; above 0.25 counts as 0.25
	Capacity uint64  // items of the first layer, 1 to 2^30
	// Expansion is the capacity of a layer over that of the one before. With
	// 0, or with Fixed, the filter does not grow.
	Expansion uint32
	Fixed     bool
}

// Reserve makes the first layer of a new filter. limit bounds the bytes of its
// bits. The errors are ErrBloomParams and ErrBloomMemory; the filter is then
// as new.
func (f *Bloom) Reserve(ch *Change, s BloomShape, limit uint64) error {
	if !(s.Error > 0 && s.Error < 1) || s.Capacity < 1 || s.Capacity > BloomMaxCapacity || s.Expansion > BloomMaxExpansion {
		return ErrBloomParams
	}
	options := uint32(bloomNoRound | bloomForce64)
	if s.Fixed || s.Expansion == 0 {
		options |= bloomNoScaling
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

func (f *Bloom) reserve(rate float64, capacity uint64, options, growth uint32, limit uint64) error {
	rate = min(rate, bloomErrorCap)
	if options&bloomNoScaling == 0 {
		rate *= bloomTighten
	}
	l, err := newBloomLayer(capacity, rate, options)
	if err != nil {
		return err
	}
	if l.bytes > min(limit, bloomMaxBytes) {
		return ErrBloomMemory
	}
	*f = Bloom{options: options, growth: growth}
	f.push(l)
	return nil
}

// push puts a layer on top.
func (f *Bloom) push(l bloomLayer) {
	inline := f.inline()
	f.layers = append(f.layers, l)
	f.bytes += l.bytes
	if inline && !f.inline() {
		// The bits leave the head, and every page is new on disk.
		for i := range f.layers {
			f.layers[i].touchAll()
		}
	}
}

// bloomHash is the pair that the positions of an item are made of.
type bloomHash struct{ a, b uint64 }

func (f *Bloom) hash(item []byte) bloomHash {
	if f.options&bloomForce64 == 0 {
		a := murmur32(item, bloomSeed32)
		return bloomHash{uint64(a), uint64(murmur32(item, a))}
	}
	a := murmur64A(item, bloomSeed64)
	return bloomHash{a, murmur64A(item, a)}
}

// Exists reports whether item may have been added: false is certain, true is
// wrong at about the rate that the filter was made for.
func (f *Bloom) Exists(item []byte) bool { return f.has(f.hash(item)) }

func (f *Bloom) has(h bloomHash) bool {
	for i := len(f.layers) - 1; i >= 0; i-- {
		if f.layers[i].has(h) {
			return true
		}
	}
	return false
}

// Add adds item and reports true, or reports false if the filter seemed to have
// it already. A full filter grows, while its bits stay within limit bytes. The
// errors are ErrBloomFull and ErrBloomMemory; the filter is then as before.
func (f *Bloom) Add(ch *Change, item []byte, limit uint64) (added bool, err error) {
	added, err = f.add(item, limit)
	if added {
		ch.Op(opBloomAdd, 1)
		ch.Bytes(item)
	}
	return added, err
}

func (f *Bloom) add(item []byte, limit uint64) (bool, error) {
	h := f.hash(item)
	if f.has(h) {
		return false, nil
	}
	if len(f.layers) == 0 {
		return false, ErrBloomMemory
	}
	if top := f.top(); top.items >= top.entries {
		if err := f.grow(limit); err != nil {
			return false, err
		}
	}
	top := f.top()
	f.held += top.set(h)
	top.items++
	f.items++
	return true, nil
}

func (f *Bloom) top() *bloomLayer { return &f.layers[len(f.layers)-1] }

func (f *Bloom) grow(limit uint64) error {
	if f.options&bloomNoScaling != 0 {
		return ErrBloomFull
	}
	top := f.top()
	if f.growth == 0 || top.entries > math.MaxUint64/uint64(f.growth) || len(f.layers) == bloomMaxLayers {
		return ErrBloomMemory
	}
	l, err := newBloomLayer(top.entries*uint64(f.growth), top.rate*bloomTighten, f.options)
	if err != nil {
		return err
	}
	if l.bytes > min(limit, bloomMaxBytes) || f.bytes > min(limit, bloomMaxBytes)-l.bytes {
		return ErrBloomMemory
	}
	f.push(l)
	return nil
}

// Card returns the number of items added.
func (f *Bloom) Card() uint64 { return f.items }

// BloomInfo is what BF.INFO tells.
type BloomInfo struct {
	Capacity  uint64 // items that the layers are made for
	Bytes     uint64 // as RedisBloom counts them: its structures and the bits
	Layers    int
	Items     uint64
	Expansion uint32
	Fixed     bool // it does not grow, and BF.INFO tells no expansion
}

// Info describes the filter.
func (f *Bloom) Info() BloomInfo {
	info := BloomInfo{
		// 32 bytes are the C structure of a chain, 64 that of a layer.
		Bytes:     32 + 64*uint64(len(f.layers)) + f.bytes,
		Layers:    len(f.layers),
		Items:     f.items,
		Expansion: f.growth,
		Fixed:     f.options&bloomNoScaling != 0,
	}
	for i := range f.layers {
		info.Capacity += f.layers[i].entries
	}
	return info
}

// Apply replays a Reserve, an Add, a LoadHeader or a LoadChunk. The limits that
// these were given do not hold here: what was done once must be done again.
func (f *Bloom) Apply(op byte, args *Args) error {
	switch op {
	case opBloomReserve:
		rate, capacity := math.Float64frombits(args.Uint()), args.Uint()
		options, growth := args.Uint(), args.Uint()
		if err := args.Done(); err != nil {
			return fmt.Errorf("reserve Bloom filter: %w", err)
		}
		if options > bloomOptions || growth > math.MaxUint32 {
			return fmt.Errorf("reserve Bloom filter: %w", ErrCorrupt)
		}
		return bloomReplay("reserve", f.reserve(rate, capacity, uint32(options), uint32(growth), bloomMaxBytes))
	case opBloomAdd:
		item := args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("add to Bloom filter: %w", err)
		}
		_, err := f.add(item, bloomMaxBytes)
		return bloomReplay("add to", err)
	case opBloomHeader:
		header := args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("load Bloom filter: %w", err)
		}
		return bloomReplay("load", f.LoadHeader(nil, header, bloomMaxBytes))
	case opBloomChunk:
		pos, data := args.Uint(), args.Bytes()
		if err := args.Done(); err != nil {
			return fmt.Errorf("load chunk of Bloom filter: %w", err)
		}
		if pos > math.MaxInt64 {
			return fmt.Errorf("load chunk of Bloom filter at %d: %w", pos, ErrCorrupt)
		}
		return bloomReplay("load chunk of", f.load(int64(pos), data))
	}
	return fmt.Errorf("Bloom filter operation %d: %w", op, ErrUnknownChange)
}

// bloomReplay makes an error that only a damaged record can give into one.
func bloomReplay(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s Bloom filter: %w: %w", what, err, ErrCorrupt)
}
