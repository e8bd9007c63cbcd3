package rdb

import (
	"math"

	"github.com/vigildb/vigil/structures/cuckoo"
)

// A cuckoo filter is written as RedisBloom writes it:
//
//	module and version | sub-filters, buckets of the first one, items, deletes, bucket size, iterations, expansion
//	| for each sub-filter, oldest first: buckets, slots
//	| 0

// cuckooModule is the name MBbloomCF and version 4. Earlier versions had hashes of 32 bits, so that items
// could not be found.
const cuckooModule = 0x3016e5a289821404

func appendCuckoo(dst []byte, f *cuckoo.Filter) []byte {
	dst = appendLength(dst, cuckooModule)
	i := f.Info()
	for _, v := range [...]uint64{uint64(i.Filters), i.Buckets, i.Items, i.Deletes, i.BucketSize, i.Iterations, i.Expansion} {
		dst = appendUnsigned(dst, v)
	}
	for k := range f.Arrays() {
		dst = appendUnsigned(dst, f.Array(k).Size()/i.BucketSize)
		dst = appendArray(dst, f.Array(k))
	}
	return append(dst, moduleEnd)
}

// cuckoo reads a cuckoo filter. Its number of items may differ from that of slots in use, as that of one which
// was loaded in chunks does.
func (d *decoder) cuckoo() *cuckoo.Filter {
	var h cuckoo.Header
	for _, field := range []*uint64{&h.Filters, &h.Buckets, &h.Items, &h.Deletes, &h.BucketSize, &h.Iterations, &h.Expansion} {
		*field = d.unsigned(math.MaxUint64)
	}
	f := cuckoo.New()
	if d.err != nil {
		return f
	}
	if !d.has(h.Filters) {
		d.fail("%d sub-filters in fewer bytes", h.Filters)
	} else if err := f.Load(h, d.options.MaxBloom); err != nil {
		d.fail("%v", err)
	}
	for k := 0; k < f.Arrays() && d.err == nil; k++ {
		a := f.Array(k)
		if n := d.unsigned(math.MaxUint64); n != a.Size()/h.BucketSize {
			d.fail("sub-filter of %d buckets in place of %d", n, a.Size()/h.BucketSize)
		}
		d.fill(a, d.array(a.Size()))
	}
	d.tag(moduleEnd)
	return f
}
