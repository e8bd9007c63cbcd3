package tdigest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

var (
	// ErrMemory is returned when the centroids would exceed the bytes allowed.
	ErrMemory = errors.New("structures: t-digest too large")
	// ErrOverflow is returned when the weights would exceed 2^63 - 1.
	ErrOverflow = errors.New("structures: t-digest overflows")
	// ErrUnread is returned when a page cannot be read.
	ErrUnread = errors.New("structures: page of a t-digest cannot be read")
)

// DefaultCompression is that of TDIGEST.CREATE.
const DefaultCompression = 100

// centroidBytes is the length of a centroid: mean and weight.
const centroidBytes = 16

// centroid is the mean of values, and how many they are.
type centroid struct {
	mean   float64
	weight int64
}

// Digest is a t-digest, whose centroids are the one array of its stack: first those that were merged, in order,
// then new ones. A new digest has no array, and must be given its compression by Init before anything else.
type Digest struct {
	cells.Stack
	state
	scratch []centroid
	// seen is what answers are read from, nil if it is to be computed again.
	seen *Snapshot
}

// state is what a digest is besides its centroids.
type state struct {
	compression      float64
	min, max         float64
	merged, unmerged uint64 // centroids
	mergedWeight     int64
	unmergedWeight   int64
	compressions     uint64
}

// New returns a digest without compression.
func New() *Digest { return &Digest{} }

// capacityOf returns how many centroids a digest has room for.
func capacityOf(compression float64) float64 { return 6*math.Floor(compression) + 10 }

// Init gives a new digest its compression, at least 1. limit bounds the bytes of its centroids. The error is
// ErrMemory; the digest is then as new.
func (d *Digest) Init(ch *structures.Change, compression float64, limit uint64) error {
	capacity := capacityOf(compression)
	if !(compression >= 1) || capacity > math.MaxInt32 || capacity*centroidBytes > float64(min(limit, cells.MaxBytes)) {
		return ErrMemory
	}
	d.clear(compression)
	d.Push(uint64(capacity) * centroidBytes)
	ch.Op(opInit, 1)
	ch.Uint(math.Float64bits(compression))
	return nil
}

func (d *Digest) clear(compression float64) {
	d.state = state{compression: compression, min: math.MaxFloat64, max: -math.MaxFloat64}
	d.seen = nil
}

// Compression is the one that the digest was made with.
func (d *Digest) Compression() float64 { return d.compression }

func (d *Digest) capacity() uint64 { return d.Bytes() / centroidBytes }

// total is the number of values.
func (d *Digest) total() int64 { return d.mergedWeight + d.unmergedWeight }

// Clear takes all values away. It reports false if a page cannot be read.
func (d *Digest) Clear(ch *structures.Change) bool {
	if !d.LoadAll() {
		return false
	}
	d.clear(d.compression)
	d.Array(0).Truncate(0)
	ch.Op(opReset, 0)
	return true
}

// Add adds finite values. The errors are ErrOverflow and ErrUnread; nothing is added then.
func (d *Digest) Add(ch *structures.Change, values []float64) error {
	if d.total() > math.MaxInt64-int64(len(values)) {
		return ErrOverflow
	}
	if !d.ready(uint64(len(values))) {
		return ErrUnread
	}
	for _, x := range values {
		d.add(centroid{x, 1})
	}
	ch.Op(opAdd, len(values))
	for _, x := range values {
		ch.Uint(math.Float64bits(x))
	}
	return nil
}

// ready fetches the pages that n new centroids need.
func (d *Digest) ready(n uint64) bool {
	used := d.merged + d.unmerged
	if used+n >= d.capacity() {
		return d.LoadAll() && !d.Unread()
	}
	return d.Array(0).Fetch(used*centroidBytes, n*centroidBytes) && !d.Unread()
}

// add adds a centroid to the buffer.
func (d *Digest) add(c centroid) {
	if d.merged+d.unmerged >= d.capacity()-1 {
		d.compress()
	}
	d.min, d.max = min(d.min, c.mean), max(d.max, c.mean)
	d.set(d.merged+d.unmerged, c)
	d.unmerged++
	d.unmergedWeight += c.weight
	d.seen = nil
}

func (d *Digest) set(i uint64, c centroid) {
	d.Array(0).PutUint64(i*centroidBytes, math.Float64bits(c.mean))
	d.Array(0).PutUint64(i*centroidBytes+8, uint64(c.weight))
}

// compress merges the buffer into the centroids before it. All pages are in memory.
func (d *Digest) compress() {
	if d.unmerged == 0 {
		return
	}
	d.scratch, _ = d.centroids(d.scratch[:0])
	all, compressed := merge(d.scratch, int(d.merged), d.compression, d.total())
	if compressed {
		d.compressions++
	}
	for i, c := range all {
		d.set(uint64(i), c)
	}
	d.Array(0).Truncate(uint64(len(all)) * centroidBytes)
	d.mergedWeight += d.unmergedWeight
	d.merged, d.unmerged, d.unmergedWeight = uint64(len(all)), 0, 0
	if cap(d.scratch) > keptScratch {
		d.scratch = nil
	}
}

// centroids appends all centroids, and reports whether they could be read.
func (d *Digest) centroids(dst []centroid) ([]centroid, bool) {
	const part = 256
	var room [part * centroidBytes]byte
	for i, n := uint64(0), d.merged+d.unmerged; i < n; i += part {
		b, ok := d.Array(0).Append(room[:0], i*centroidBytes, min(n-i, part)*centroidBytes)
		if !ok {
			return dst, false
		}
		for ; len(b) > 0; b = b[centroidBytes:] {
			dst = append(dst, centroid{math.Float64frombits(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))})
		}
	}
	return dst, true
}

// merge sorts centroids of a total weight, the first of which are sorted, and makes one of neighbours that together are light
// enough for their place. One value stays as it is, and that counts for no compression.
//
// norm is the compression over 2 pi W ln W: a centroid from quantile q0 to q2 may have a weight of up to q(1-q)/norm
// at both of them.
func merge(all []centroid, sorted int, compression float64, total int64) (_ []centroid, compressed bool) {
	if !slices.IsSortedFunc(all[:sorted], func(a, b centroid) int { return cmp.Compare(a.mean, b.mean) }) {
		sorted = 0 // a mean may be rounded past the one behind it
	}
	spare := make([]centroid, len(all)-sorted)
	sortStable(all[sorted:], spare)
	join(all, sorted, spare)
	if total <= 1 {
		return all, false
	}
	weight := float64(total)
	norm := compression / float64(float64(2*math.Pi*weight)*structures.LogRounded(weight))
	cur, before := 0, 0.0
	for i := 1; i < len(all); i++ {
		proposed := float64(all[cur].weight) + float64(all[i].weight)
		z := float64(proposed * norm)
		q0, q2 := before/weight, (before+proposed)/weight
		if z <= float64(q0*(1-q0)) && z <= float64(q2*(1-q2)) {
			all[cur].weight += all[i].weight
			delta := all[i].mean - all[cur].mean
			all[cur].mean += float64(delta*float64(all[i].weight)) / float64(all[cur].weight)
			continue
		}
		before += float64(all[cur].weight)
		cur++
		all[cur] = all[i]
	}
	return all[:min(cur+1, len(all))], true
}

// sortStable sorts centroids by their means, with as much room.
func sortStable(all, spare []centroid) {
	const block = 8
	for from := 0; from < len(all); from += block {
		for i := from + 1; i < min(from+block, len(all)); i++ {
			c, k := all[i], i
			for ; k > from && all[k-1].mean > c.mean; k-- {
				all[k] = all[k-1]
			}
			all[k] = c
		}
	}
	for width := block; width < len(all); width *= 2 {
		for from := 0; from+width < len(all); from += 2 * width {
			join(all[from:min(from+2*width, len(all))], width, spare)
		}
	}
}

// join makes one run of two that are sorted, side by side. Of equal means those of the first run come first. spare has
// room for the second one.
func join(all []centroid, first int, spare []centroid) {
	if first == 0 || first == len(all) || all[first-1].mean <= all[first].mean {
		return
	}
	second := spare[:copy(spare, all[first:])]
	for i, k := first-1, len(all)-1; len(second) > 0; k-- {
		last := second[len(second)-1]
		if i >= 0 && all[i].mean > last.mean {
			all[k] = all[i]
			i--
			continue
		}
		all[k] = last
		second = second[:len(second)-1]
	}
}

// Join returns a new digest of a compression with the centroids of others, each compressed and then added
// one by one. The errors are ErrMemory, ErrOverflow and ErrUnread.
func Join(compression float64, digests []*Digest, limit uint64) (*Digest, error) {
	into := New()
	if err := into.Init(nil, compression, limit); err != nil {
		return nil, err
	}
	for _, from := range digests {
		s, ok := from.Look()
		if !ok {
			return nil, ErrUnread
		}
		into.compress()
		for _, c := range s.centroids {
			if into.total() > math.MaxInt64-c.weight {
				return nil, ErrOverflow
			}
			into.add(c)
		}
	}
	return into, nil
}

// Look returns what answers are read from: the digest with its buffer merged. It reports false if a page cannot
// be read.
func (d *Digest) Look() (*Snapshot, bool) {
	if d.seen != nil {
		return d.seen, true
	}
	all, ok := d.centroids(make([]centroid, 0, d.merged+d.unmerged))
	if !ok || d.Unread() {
		return nil, false
	}
	if d.unmerged > 0 {
		all, _ = merge(all, int(d.merged), d.compression, d.total())
	}
	d.seen = &Snapshot{centroids: all, min: d.min, max: d.max, total: d.total()}
	return d.seen, true
}

// Info is what TDIGEST.INFO tells.
type Info struct {
	Compression, Capacity        int64
	Merged, Unmerged             int64 // centroids
	MergedWeight, UnmergedWeight int64
	Observations, Compressions   int64
	Bytes                        int64 // as RedisBloom counts them
}

// Info describes the digest as it is stored.
func (d *Digest) Info() Info {
	const own = 80 // bytes of RedisBloom's structure
	return Info{
		Compression: int64(d.compression), Capacity: int64(d.capacity()), Merged: int64(d.merged), Unmerged: int64(d.unmerged),
		MergedWeight: d.mergedWeight, UnmergedWeight: d.unmergedWeight, Observations: d.total(), Compressions: int64(d.compressions),
		Bytes: own + int64(d.Bytes()),
	}
}

// keptScratch is how many centroids there is room for between commands.
const keptScratch = 4096
