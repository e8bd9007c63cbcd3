package placement

import "math/bits"

// bucketIndex finds the arc of a hash among ascending boundaries in constant
// expected time: the hashes are cut into about as many equal buckets as there
// are boundaries, and each bucket knows the first boundary not below it.
type bucketIndex struct {
	shift uint // 64 - log2(number of buckets)
	first []int32
}

// newBucketIndex builds the index of ascending boundaries.
func newBucketIndex(n int, boundary func(int) uint64) bucketIndex {
	b := uint(bits.Len(uint(max(n, 2) - 1)))
	x := bucketIndex{shift: 64 - b, first: make([]int32, 1<<b)}
	i := 0
	for k := range x.first {
		for i < n && boundary(i) < uint64(k)<<x.shift {
			i++
		}
		x.first[k] = int32(i)
	}
	return x
}

// start returns where to begin the search for the first boundary >= hash.
func (x *bucketIndex) start(hash uint64) int { return int(x.first[hash>>x.shift]) }

func (x *bucketIndex) bytes() int { return 4 * cap(x.first) }
