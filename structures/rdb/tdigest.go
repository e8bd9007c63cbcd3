package rdb

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures/tdigest"
)

// A t-digest is written as RedisBloom writes it, its buffer merged:
//
//	module and version | compression, least value, greatest value | capacity, merged, unmerged, compressions
//	| merged weight, unmerged weight | means of the merged | weights of the merged | 0

const tdigestModule = 0x4c3212f9360f1000 // the name TDIS-TYPE and version 0

func appendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, moduleDouble), math.Float64bits(v))
}

func appendTDigest(dst []byte, d *tdigest.Digest) []byte {
	dst = appendLength(dst, tdigestModule)
	d.Dump(func(p tdigest.Payload, mean, weight func(i int) float64) {
		for _, v := range [...]float64{p.Compression, p.Min, p.Max} {
			dst = appendFloat(dst, v)
		}
		for _, v := range [...]uint64{p.Capacity, p.Merged, p.Unmerged, p.Compressions} {
			dst = appendUnsigned(dst, v)
		}
		dst = appendFloat(appendFloat(dst, p.MergedWeight), p.UnmergedWeight)
		for i := range int(p.Merged) {
			dst = appendFloat(dst, mean(i))
		}
		for i := range int(p.Merged) {
			dst = appendFloat(dst, weight(i))
		}
	})
	return append(dst, moduleEnd)
}

// tdigest reads a t-digest, whose buffer the module has merged. Released versions forget to if there is one value,
// which is the least one.
func (d *decoder) tdigest() *tdigest.Digest {
	float := func() float64 { return math.Float64frombits(d.double()) }
	p := tdigest.Payload{Compression: float(), Min: float(), Max: float()}
	for _, field := range []*uint64{&p.Capacity, &p.Merged, &p.Unmerged, &p.Compressions} {
		*field = d.unsigned(math.MaxInt64)
	}
	p.MergedWeight, p.UnmergedWeight = float(), float()
	v := tdigest.New()
	if p.Merged > d.options.MaxBloom/16 {
		d.fail("%d centroids", p.Merged)
	}
	var means, weights []float64
	for _, list := range []*[]float64{&means, &weights} {
		for i := uint64(0); i < p.Merged && d.err == nil; i++ {
			*list = append(*list, float())
		}
	}
	switch {
	case d.err != nil:
		return v
	case p.Unmerged == 0:
	case p.Unmerged == 1 && p.Merged == 0 && p.UnmergedWeight == 1 && p.Min == p.Max:
		means, weights, p.MergedWeight = append(means, p.Min), append(weights, 1), 1
	default:
		d.fail("t-digest with %d values that are not merged", p.Unmerged)
	}
	if d.tag(moduleEnd); d.err == nil {
		d.err = v.Load(p, means, weights, d.options.MaxBloom)
	}
	return v
}
