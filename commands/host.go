package commands

import (
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/types"
)

// Host is what the handlers of every family ask of the server. What only one
// family needs is an interface beside its handlers, which the host of a server
// implements too: they get it by a type assertion, as in c.Host.(pubsub.Broker).
type Host interface {
	Limits() *Limits
	// Random draws a number from 0 to n-1.
	Random(n int) int
	// MayCompute reports whether there is room for one more computation, which
	// holds so many bytes (see Ctx.Compute).
	MayCompute(holds int) bool
	// NotifyClasses are the classes of keyspace events that are to be published.
	NotifyClasses() EventClass
	// Notify publishes a keyspace event when the command has succeeded.
	Notify(class EventClass, event string, db int, key []byte)
}

// PartEvents is a host that publishes what has become of parts of keys.
type PartEvents interface {
	// NotifyParts publishes which parts of a key an event was about.
	NotifyParts(class EventClass, event string, db int, key []byte, parts [][]byte)
}

// Limits are the configuration values that handlers look at, as one snapshot.
type Limits struct {
	types.Thresholds
	RedisVersion      string            // that is reported: reported-version
	ImportMode        bool              // a tool copies data here
	AvailabilityZone  string            // where the server is, "" if that is not said
	Databases         int               // that clients see
	OneDatabase       bool              // with Slots: calls that name a database are refused as such, whatever the number
	Slots             bool              // clients see the server as a node of a Redis Cluster
	AllSlots          bool              // which serves none while it does not serve all
	Endpoint          Endpoint          // which clients are told of its nodes
	MaxBulk           int64             // proto-max-bulk-len
	HLLSparseMax      int               // hll-sparse-max-bytes
	LFU               bool              // the eviction policy counts frequencies
	SharesInts        bool              // Redis would share small integers between keys
	ModuleMemoryLimit int64             // most bytes that one filter or sketch may ask for
	StreamNode        stream.PageLimits // stream-node-max-bytes and -entries
	StreamWindow      stream.Window     // stream-idmp-duration and -maxsize
	Filters           FilterDefaults
	Modules           []Module // that clients are told of
}

// ModuleMemory is the most bytes that one filter or sketch may ask for.
func (l *Limits) ModuleMemory() uint64 { return uint64(max(l.ModuleMemoryLimit, 0)) }

// FilterDefaults is the shape of filters that commands make without being told it: bf-* and cf-*.
type FilterDefaults struct {
	BloomError       float64
	BloomCapacity    int64
	BloomExpansion   int64 // 0: it does not grow
	CuckooBucketSize int64
	CuckooCapacity   int64
	CuckooIterations int64
	CuckooExpansion  int64
	CuckooMaxFilters int64 // sub-filters from which on a cuckoo filter takes no more items
}

// StandardFilters are the defaults of the directives.
func StandardFilters() FilterDefaults {
	return FilterDefaults{BloomError: 0.01, BloomCapacity: 100, BloomExpansion: 2,
		CuckooBucketSize: 2, CuckooCapacity: 1024, CuckooIterations: 20, CuckooExpansion: 1, CuckooMaxFilters: 32}
}
