package rdb

import (
	"math"

	"github.com/vigildb/vigil/structures/countmin"
)

// A count-min sketch is written as RedisBloom writes it:
//
//	module and version | width, depth, count | cells | 0

// countMinModule is the name CMSk-TYPE and version 0.
const countMinModule = 0x08c4a4f9360f1000

func appendCountMin(dst []byte, s *countmin.Sketch) []byte {
	width, depth := s.Shape()
	dst = appendLength(dst, countMinModule)
	for _, v := range [...]uint64{width, depth, s.Count()} {
		dst = appendUnsigned(dst, v)
	}
	return append(appendArray(dst, s.Array(0)), moduleEnd)
}

func (d *decoder) countMin() *countmin.Sketch {
	width, depth, count := d.unsigned(math.MaxUint64), d.unsigned(math.MaxUint64), d.unsigned(math.MaxUint64)
	s := countmin.New()
	if d.err != nil {
		return s
	}
	if err := s.Init(nil, width, depth, d.options.MaxBloom); err != nil {
		d.fail("%d x %d cells: %v", width, depth, err)
		return s
	}
	s.SetCount(count)
	d.fill(s.Array(0), d.array(s.Array(0).Size()))
	d.tag(moduleEnd)
	return s
}
