package structures

// Filter says of a hash that it is surely not among some others (Bloom, 1970). Ten bits
// for each of these, four of which are looked at, leave one of a hundred in doubt.
type Filter []byte

const (
	filterBits  = 10
	filterLooks = 4
)

// NewFilter returns a filter with room for n hashes. With more of them it is in doubt more often.
func NewFilter(n int) Filter { return make(Filter, (n*filterBits+7)/8+1) }

// Add adds a hash, whose 32 bits are all to be evenly spread.
func (f Filter) Add(hash uint32) {
	f.looks(hash, func(at, bit uint32) bool {
		f[at] |= 1 << bit
		return true
	})
}

// May reports that a hash may be among those that were added.
func (f Filter) May(hash uint32) bool {
	return f.looks(hash, func(at, bit uint32) bool { return f[at]>>bit&1 != 0 })
}

// looks visits the bits of a hash until visit returns false, which it reports by false.
func (f Filter) looks(hash uint32, visit func(at, bit uint32) bool) bool {
	// Kirsch and Mitzenmacher, Less Hashing, Same Performance, 2006: two hashes make all.
	step := (hash>>17 | hash<<15) * 0x9e3779b1
	for range filterLooks {
		place := uint32(uint64(hash) * uint64(len(f)*8) >> 32)
		if !visit(place>>3, place&7) {
			return false
		}
		hash += step
	}
	return true
}
