package server

import (
	"cmp"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/source"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/types"
)

// settings is the configuration in the terms of this package: an immutable
// snapshot that every command reads, replaced as a whole when the configuration
// changes.
type settings struct {
	conf   *conf.Settings
	limits commands.Limits

	dir string

	sync       persistence.SyncPolicy
	syncAlways bool // replies wait for the device, in a group for the commit
	policy     eviction.Policy
	maxMemory  int64 // from which on the policy acts; 0: never

	maxClients   int
	queryBuffer  int64 // most bytes of input that one client may have unread
	outputNormal outputLimit
	outputPubSub outputLimit
	idleTimeout  time.Duration // 0: never
	keepAlive    time.Duration // 0: off
	events       commands.EventClass
	savePoints   []conf.SavePoint
	source       source.Settings
}

// minQueryBuffer is the lowest limit of unread input: one pipeline.
const minQueryBuffer = 1 << 20

// policies and syncs translate the configuration's names to the store's.
var (
	policies = map[conf.Policy]eviction.Policy{
		conf.Spill: eviction.Spill, conf.NoEviction: eviction.None,
		conf.AllKeysLRU: eviction.AllKeysLRU, conf.AllKeysLFU: eviction.AllKeysLFU,
		conf.AllKeysRandom: eviction.AllKeysRandom, conf.VolatileLRU: eviction.VolatileLRU,
		conf.VolatileLFU: eviction.VolatileLFU, conf.VolatileRandom: eviction.VolatileRandom,
		conf.VolatileTTL: eviction.VolatileTTL, conf.AllKeysLRM: eviction.AllKeysLRM, conf.VolatileLRM: eviction.VolatileLRM,
	}
	syncs = map[conf.Fsync]persistence.SyncPolicy{
		conf.FsyncEverySecond: persistence.SyncEverySecond, conf.FsyncAlways: persistence.SyncAlways,
		conf.FsyncNo: persistence.SyncNever,
	}
)

// newSettings derives the snapshot from the configuration.
func newSettings(c *conf.Settings, o *Options) *settings {
	maxMemory := cmp.Or(c.MaxMemory, o.DerivedMaxMemory)
	set := &settings{
		conf: c, dir: c.Dir,
		sync: syncs[c.AppendFsync], syncAlways: c.AppendFsync == conf.FsyncAlways || o.Group != nil,
		policy: policies[c.MaxMemoryPolicy], maxClients: c.MaxClients,
		queryBuffer:  max(c.ClientQueryBufferLimit, minQueryBuffer),
		outputNormal: outputLimit(c.OutputLimits[conf.NormalClient]),
		outputPubSub: outputLimit(c.OutputLimits[conf.PubSubClient]),
		idleTimeout:  c.Timeout, keepAlive: c.TCPKeepAlive,
		events: c.NotifyKeyspaceEvents, savePoints: c.Save, maxMemory: maxMemory,
	}
	if set.policy != eviction.Spill {
		set.maxMemory = c.MaxMemory
		if c.ImportMode {
			set.policy = eviction.None
		}
	}
	if o.Dir != "" {
		set.dir = o.Dir
	}
	set.source = sourceSettings(c, set.dir)
	if o.InMemory {
		set.source.Dir = "" // that of the system for temporary files
	}
	set.limits = commands.Limits{
		RedisVersion:     c.ReportedVersion,
		AvailabilityZone: c.AvailabilityZone,
		ImportMode:       c.ImportMode,
		Slots:            o.Group != nil && c.Slotted(),
		AllSlots:         c.ClusterFullCoverage,
		Endpoint:         c.ClusterEndpoint,
		Databases:        c.Databases, MaxBulk: min(c.ProtoMaxBulkLen, cmp.Or(o.mostBulk, c.ProtoMaxBulkLen)),
		HLLSparseMax: int(c.HLLSparseMaxBytes),
		Thresholds: types.Thresholds{
			HashMaxEntries: int(c.HashMaxListpackEntries), HashMaxValue: int(c.HashMaxListpackValue),
			SetMaxInts:     int(c.SetMaxIntsetEntries),
			ZSetMaxEntries: int(c.ZSetMaxListpackEntries), ZSetMaxValue: int(c.ZSetMaxListpackValue)},
		SharesInts:        c.MaxMemory == 0 || !agedPolicy(set.policy),
		LFU:               set.policy == eviction.AllKeysLFU || set.policy == eviction.VolatileLFU,
		ModuleMemoryLimit: moduleMemory(maxMemory),
		StreamNode:        stream.PageLimits{Bytes: int(c.StreamNodeMaxBytes), Entries: int(c.StreamNodeMaxEntries)},
		StreamWindow:      stream.Window{Seconds: c.StreamIdmpDuration, Most: int(c.StreamIdmpMaxSize)},
		Filters: commands.FilterDefaults{
			BloomError: c.BloomErrorRate, BloomCapacity: c.BloomInitialSize, BloomExpansion: c.BloomExpansionFactor,
			CuckooBucketSize: c.CuckooBucketSize, CuckooCapacity: c.CuckooInitialSize, CuckooIterations: c.CuckooMaxIterations,
			CuckooExpansion: c.CuckooExpansionFactor, CuckooMaxFilters: c.CuckooMaxExpansions},
	}
	if set.limits.Slots {
		if set.limits.OneDatabase = c.ClusterDatabases == 1; !set.limits.OneDatabase {
			set.limits.Databases = c.ClusterDatabases
		}
	}
	if c.ModuleListBF {
		set.limits.Modules = append(set.limits.Modules, commands.RedisBloom)
	}
	if c.ModuleListJSON {
		set.limits.Modules = append(set.limits.Modules, commands.ReJSON)
	}
	return set
}

// defaultModuleMemory limits the allocation of a Bloom filter by one command if
// there is no memory limit.
const defaultModuleMemory = 1 << 30

func moduleMemory(maxMemory int64) int64 {
	if maxMemory > 0 && maxMemory < defaultModuleMemory {
		return maxMemory
	}
	return defaultModuleMemory
}

func (srv *Server) settings() *settings { return srv.current.Load() }

// Limits are the values that handlers look at.
func (h host) Limits() *commands.Limits { return &h.srv.settings().limits }

// Random draws a number from 0 to n-1.
func (h host) Random(n int) int {
	h.srv.randMu.Lock()
	defer h.srv.randMu.Unlock()
	return h.srv.rand.IntN(n)
}

// agedPolicy reports whether a policy of eviction asks when keys were used.
func agedPolicy(p eviction.Policy) bool {
	switch p {
	case eviction.AllKeysLRU, eviction.VolatileLRU, eviction.AllKeysLFU, eviction.VolatileLFU,
		eviction.AllKeysLRM, eviction.VolatileLRM:
		return true
	}
	return false
}
