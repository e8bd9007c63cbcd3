package eviction

// Policy says what happens when the keys take more memory than the bound.
type Policy int32

const (
	// Spill drops the least recently used values from memory; they stay on disk and come
	// back when they are asked for. A bound below 1 MiB holds nothing: [Evictor.Over]
	// reports true then.
	Spill Policy = iota
	// None deletes nothing; [Evictor.Over] reports true and the server refuses commands
	// that need memory.
	None
	// The others delete keys, as Redis's policies of these names do.
	AllKeysLRU
	AllKeysLFU
	AllKeysRandom
	AllKeysLRM // least recently modified: reads are no uses
	VolatileLRU
	VolatileLFU
	VolatileRandom
	VolatileTTL
	VolatileLRM
)

// LFU reports that uses are counted.
func (p Policy) LFU() bool { return p == AllKeysLFU || p == VolatileLFU }

// LRM reports that only changes are uses.
func (p Policy) LRM() bool { return p == AllKeysLRM || p == VolatileLRM }

// volatile reports that only keys with an expiry may go.
func (p Policy) volatile() bool { return p >= VolatileLRU }
