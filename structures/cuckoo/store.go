package cuckoo

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// On disk a filter is
//
//	head: the header of a dump (38 bytes) | the arrays of slots, as package cells has them
//
// A filter that was never given a shape has 38 zeros, and no arrays. These numbers are on disk and
// never change.

// Decode makes a filter from its head. SetPage must be called for every stored page before the filter
// is used, or SetPager.
func Decode(head []byte) (*Filter, error) {
	f := New()
	if err := f.decode(head); err != nil {
		return nil, fmt.Errorf("head of cuckoo filter: %w", err)
	}
	return f, nil
}

func (f *Filter) decode(head []byte) error {
	if len(head) < HeaderLen {
		return fmt.Errorf("%d bytes: %w", len(head), structures.ErrCorrupt)
	}
	if !structures.Zeros(head[:HeaderLen]) {
		h, err := parseHeader(head[:HeaderLen])
		if err == nil {
			err = f.Load(h, cells.MaxBytes)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", err, structures.ErrCorrupt)
		}
	}
	return f.LoadArrays(head[HeaderLen:])
}

// Kind is KindCuckoo.
func (f *Filter) Kind() structures.Kind { return structures.KindCuckoo }

// Fork returns a copy.
func (f *Filter) Fork() (structures.Value, bool) {
	g := &Filter{buckets: f.buckets, items: f.items, deletes: f.deletes, bucketSize: f.bucketSize, iterations: f.iterations, expansion: f.expansion}
	return g, f.ForkTo(&g.Stack)
}

// Empty returns false: a filter without items is still a filter.
func (f *Filter) Empty() bool { return false }

// Size estimates the memory held.
func (f *Filter) Size() int {
	const own = 320
	return own + f.Memory() + 8*cap(f.path) + cap(f.added)
}

// AppendHead appends the head.
func (f *Filter) AppendHead(dst []byte) []byte { return f.AppendArrays(f.appendHeader(dst)) }

// IsCompact reports whether the filter has few bytes.
func (f *Filter) IsCompact(limit int) bool {
	bytes, ok := f.IsInline()
	return ok && HeaderLen+1+bytes+4*f.Arrays() <= limit
}

// AppendCompact appends a filter of few bytes as its head.
func (f *Filter) AppendCompact(dst []byte) []byte { return f.AppendHead(dst) }

// LoadCompact makes f the filter that AppendCompact appended.
func (f *Filter) LoadCompact(b []byte) {
	f.Recycle()
	f.buckets, f.items, f.deletes, f.bucketSize, f.iterations, f.expansion = 0, 0, 0, 0, 0, 0
	_ = f.decode(b) // it is what AppendCompact appended
}
