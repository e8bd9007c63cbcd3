package tdigest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// On disk a digest is
//
//	head: compression | min | max (8 each, bits of float64) | merged centroids | others | weight of the merged ones
//	    | of the others | compressions (uvarints) | the array of centroids, as package cells has it
//	centroid: mean (8, bits of a float64) | weight (8)
//
// A digest that was never given a compression has zeros, and no array. These numbers are on disk and never change.

// Operations of a digest. These numbers are on disk and never change.
const (
	opInit  = 16 // compression (bits of the float64)
	opAdd   = 17 // values (bits of float64s)
	opReset = 18
)

// Kind is KindTDigest.
func (d *Digest) Kind() structures.Kind { return structures.KindTDigest }

// Fork returns a copy.
func (d *Digest) Fork() (structures.Value, bool) {
	e := &Digest{state: d.state}
	return e, d.ForkTo(&e.Stack)
}

// Empty returns false: a digest without values is still a digest.
func (d *Digest) Empty() bool { return false }

// Size estimates the memory held.
func (d *Digest) Size() int {
	const own = 400
	size := own + d.Memory() + centroidBytes*cap(d.scratch)
	if d.seen != nil {
		size += centroidBytes * cap(d.seen.centroids)
	}
	return size
}

// AppendHead appends the head.
func (d *Digest) AppendHead(dst []byte) []byte {
	for _, v := range [...]float64{d.compression, d.min, d.max} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	for _, v := range [...]uint64{d.merged, d.unmerged, uint64(d.mergedWeight), uint64(d.unmergedWeight), d.compressions} {
		dst = binary.AppendUvarint(dst, v)
	}
	return d.AppendArrays(dst)
}

// Decode makes a digest from its head. SetPage must be called for every stored page before the digest is used, or
// SetPager.
func Decode(head []byte) (*Digest, error) {
	d := New()
	if err := d.decode(head); err != nil {
		return nil, fmt.Errorf("head of t-digest: %w", err)
	}
	return d, nil
}

func (d *Digest) decode(head []byte) error {
	r := structures.Reader{B: head}
	float := func() float64 {
		b := r.Bytes(8)
		if b == nil {
			return 0
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	s := state{compression: float(), min: float(), max: float()}
	s.merged, s.unmerged = r.Uint(math.MaxInt32), r.Uint(math.MaxInt32)
	s.mergedWeight, s.unmergedWeight = int64(r.Uint(math.MaxInt64)), int64(r.Uint(math.MaxInt64))
	s.compressions = r.Uint(math.MaxUint64)
	if r.Bad {
		return fmt.Errorf("%d bytes: %w", len(head), structures.ErrCorrupt)
	}
	if s != (state{}) {
		if err := d.Init(nil, s.compression, cells.MaxBytes); err != nil {
			return fmt.Errorf("compression %g: %w: %w", s.compression, err, structures.ErrCorrupt)
		}
	}
	if s.merged+s.unmerged > d.capacity() || s.mergedWeight > math.MaxInt64-s.unmergedWeight {
		return fmt.Errorf("%d centroids of %d, weight %d and %d: %w", s.merged+s.unmerged, d.capacity(), s.mergedWeight, s.unmergedWeight, structures.ErrCorrupt)
	}
	d.state = s
	return d.LoadArrays(r.B)
}

// IsCompact reports whether the digest has few bytes.
func (d *Digest) IsCompact(limit int) bool {
	const header = 72
	bytes, ok := d.IsInline()
	return ok && header+bytes <= limit
}

// AppendCompact appends a digest of few bytes as its head.
func (d *Digest) AppendCompact(dst []byte) []byte { return d.AppendHead(dst) }

// LoadCompact makes d the digest that AppendCompact appended.
func (d *Digest) LoadCompact(b []byte) {
	d.Recycle()
	d.state, d.seen = state{}, nil
	_ = d.decode(b) // it is what AppendCompact appended
}

// Apply replays an operation.
func (d *Digest) Apply(op byte, args *structures.Args) error {
	switch op {
	case opInit:
		compression := math.Float64frombits(args.Uint())
		err := args.Done()
		if err == nil && d.Arrays() > 0 {
			err = structures.ErrCorrupt
		}
		if err == nil {
			err = d.Init(nil, compression, cells.MaxBytes)
		}
		if err != nil {
			return fmt.Errorf("make t-digest: %w: %w", err, structures.ErrCorrupt)
		}
		return nil
	case opAdd, opReset:
		return d.applyChange(op, args)
	}
	return fmt.Errorf("operation %d of a t-digest: %w", op, structures.ErrUnknownChange)
}

func (d *Digest) applyChange(op byte, args *structures.Args) error {
	values := make([]float64, 0, 1)
	for op == opAdd && args.Left() > 0 && args.Err() == nil {
		values = append(values, math.Float64frombits(args.Uint()))
	}
	if err := args.Done(); err != nil {
		return err
	}
	if d.Arrays() == 0 {
		return fmt.Errorf("change of a t-digest without compression: %w", structures.ErrCorrupt)
	}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("value %g of a t-digest: %w", x, structures.ErrCorrupt)
		}
	}
	if op == opReset {
		d.Clear(nil)
		return nil
	}
	if err := d.Add(nil, values); err != nil && !d.Unread() {
		return fmt.Errorf("add to a t-digest: %w: %w", err, structures.ErrCorrupt)
	}
	return nil
}

// Payload is a digest as RedisBloom dumps it, without its centroids.
type Payload struct {
	Compression, Min, Max        float64
	Capacity, Merged, Unmerged   uint64
	Compressions                 uint64
	MergedWeight, UnmergedWeight float64
}

// Dump returns a digest whose buffer is merged, and visits its centroids. All pages are in memory.
func (d *Digest) Dump(visit func(p Payload, mean func(i int) float64, weight func(i int) float64)) {
	s, _ := d.Look()
	p := Payload{Compression: d.compression, Min: d.min, Max: d.max, Capacity: d.capacity(), Merged: uint64(len(s.centroids)),
		Compressions: d.compressions, MergedWeight: float64(s.total)}
	if d.unmerged > 0 && s.total > 1 {
		p.Compressions++
	}
	visit(p, s.mean, s.weight)
}

// Load gives a new digest what a payload has, with centroids that are asked for one by one, means and then weights.
// limit bounds their bytes. The error wraps structures.ErrCorrupt.
func (d *Digest) Load(p Payload, means, weights []float64, limit uint64) error {
	bad := func(what string) error { return fmt.Errorf("t-digest with %s: %w", what, structures.ErrCorrupt) }
	if err := d.Init(nil, p.Compression, limit); err != nil {
		return fmt.Errorf("t-digest of compression %g: %w: %w", p.Compression, err, structures.ErrCorrupt)
	}
	total, before := 0.0, math.Inf(-1)
	for i, mean := range means {
		w := weights[i]
		if math.IsNaN(mean) || math.IsInf(mean, 0) || mean < before || !(w >= 1 && w < 1<<63) || w != math.Floor(w) {
			return bad("centroids out of order or without weight")
		}
		before = mean
		total += w
		d.set(uint64(i), centroid{mean, int64(w)})
	}
	switch {
	case p.Capacity != d.capacity() || uint64(len(means)) > d.capacity():
		return bad("another capacity")
	case total != p.MergedWeight || total >= 1<<63:
		return bad("a sum of weights that is another")
	case len(means) > 0 && !(p.Min <= means[0] && before <= p.Max && !math.IsInf(p.Min, 0) && !math.IsInf(p.Max, 0)):
		return bad("means outside its range")
	}
	d.compressions = p.Compressions
	if d.merged, d.mergedWeight = uint64(len(means)), sumOf(weights); len(means) > 0 {
		d.min, d.max = p.Min, p.Max
	}
	return nil
}

func sumOf(weights []float64) (total int64) {
	for _, w := range weights {
		total += int64(w)
	}
	return total
}
