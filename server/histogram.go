package server

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands/admin"
)

// histogram counts the times that calls of a command took. It has 32 buckets for each
// power of two of nanoseconds, so that a percentile is off by 3 % at most. Counting
// takes one atomic addition and no lock.
type histogram struct{ counts [histogramSize]atomic.Int64 }

const (
	bucketBits = 5
	// longest is where the last bucket ends: what takes longer is counted there.
	longest       = time.Duration(1<<30 - 1)
	histogramSize = (30-bucketBits-1)<<bucketBits + 2<<bucketBits
)

// bucketOf returns the bucket of a time.
func bucketOf(took time.Duration) int {
	n := uint64(max(0, min(took, longest)))
	shift := max(0, bits.Len64(n)-bucketBits-1)
	return shift<<bucketBits + int(n>>shift)
}

// bucketEnd returns the longest time in a bucket.
func bucketEnd(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	return time.Duration((bucket-shift<<bucketBits+1)<<shift - 1)
}

func (h *histogram) add(took time.Duration) { h.counts[bucketOf(took)].Add(1) }

// snapshot returns the counts and their sum.
func (h *histogram) snapshot() (counts []int64, total int64) {
	counts = make([]int64, histogramSize)
	for i := range counts {
		counts[i] = h.counts[i].Load()
		total += counts[i]
	}
	return counts, total
}

// percentiles returns the times within which the given percentages of total calls,
// in ascending order, ended.
func percentiles(counts []int64, total int64, wanted []float64) []time.Duration {
	out := make([]time.Duration, len(wanted))
	bucket, seen := 0, counts[0]
	for i, p := range wanted {
		for need := max(1, int64(p/100*float64(total)+0.5)); seen < need && bucket < len(counts)-1; {
			bucket++
			seen += counts[bucket]
		}
		out[i] = bucketEnd(bucket)
	}
	return out
}

// steps returns how many calls took up to 1, 2, 4 ... us, in which a us is 1024 ns.
// Steps without a call of their own are left out. The names of the steps are
// Redis's, whose buckets from 32 us on end later than a power of two.
func steps(counts []int64) (list []admin.LatencyStep) {
	bucket, seen, shown := 0, int64(0), int64(0)
	for end := int64(1024); bucket < len(counts); end *= 2 {
		for bucket < len(counts) && int64(bucketEnd(bucket)) < end {
			seen += counts[bucket]
			bucket++
		}
		if seen > shown {
			shown = seen
			list = append(list, admin.LatencyStep{Micros: (end + end/128 - 1) / 1000, Calls: seen})
		}
	}
	return list
}
