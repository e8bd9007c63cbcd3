package server

import (
	"runtime/metrics"
	"sync"

	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
)

// memoryFigures are what INFO memory and MEMORY STATS show.
type memoryFigures struct {
	data, peak, process, clients int64
	heap                         heapFigures
}

// heapFigures are the Go runtime's. They are read without stopping other goroutines.
type heapFigures struct {
	objects int64   // bytes of objects, with those that are yet to be collected
	inUse   int64   // bytes of the pages with objects
	held    int64   // bytes obtained from the system and not given back
	all     int64   // of everything in the runtime, as obtained from the system
	cycles  uint64  // of the collector
	seconds float64 // of processors that it took, as the runtime estimates it
}

// heapSamples are the requests of readHeap, which are kept since the runtime writes into them.
var heapSamples = sync.Pool{New: func() any {
	return &[...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		// What it takes while processors have nothing else to do is left out.
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/pause:cpu-seconds"}}
}}

func readHeap() heapFigures {
	s := heapSamples.Get().(*[8]metrics.Sample)
	defer heapSamples.Put(s)
	metrics.Read(s[:])
	f := heapFigures{objects: int64(s[0].Value.Uint64()), all: int64(s[3].Value.Uint64()), cycles: s[4].Value.Uint64()}
	f.inUse = f.objects + int64(s[1].Value.Uint64())
	f.held = f.inUse + int64(s[2].Value.Uint64())
	for _, part := range s[5:] {
		f.seconds += part.Value.Float64()
	}
	return f
}

func (srv *Server) memoryFigures(st *persistence.Stats) memoryFigures {
	m := memoryFigures{data: st.Memory, process: srv.admin.resident.Load()}
	if m.process == 0 {
		m.process = ResidentBytes()
	}
	m.clients = srv.memory.total.Load()
	m.heap = srv.slowly().heap
	if m.process == 0 {
		m.process = m.heap.all
	}
	m.peak = max(srv.admin.peakMemory.Load(), m.data)
	return m
}

// ratio is a/b, and 0 if there is no b.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// infoMemory shows as used_memory what maxmemory bounds: the bytes of keys and
// values. What the process takes in all is used_memory_rss. Where values spill it
// shows the policy as noeviction, since no key is ever evicted: libraries that
// keep jobs refuse any other.
func infoMemory(t *infoText) {
	m, set := t.srv.memoryFigures(t.store()), t.srv.settings()
	t.bytes("used_memory", m.data)
	t.bytes("used_memory_rss", m.process)
	t.bytes("used_memory_peak", m.peak)
	field(t, "used_memory_peak_time", t.srv.admin.peakTime.Load())
	t.decimal("used_memory_peak_perc", 100*ratio(m.data, m.peak), 2, "%")
	field(t, "used_memory_overhead", m.clients)
	field(t, "used_memory_startup", 0)
	field(t, "used_memory_dataset", m.data)
	field(t, "used_memory_dataset_perc", "100.00%")
	field(t, "allocator_allocated", m.heap.objects)
	field(t, "allocator_active", m.heap.inUse)
	field(t, "allocator_resident", m.heap.held)
	field(t, "allocator_muzzy", 0)
	t.bytes("total_system_memory", systemBytes())
	infoScriptMemory(t)
	t.bytes("maxmemory", set.conf.MaxMemory)
	derived := t.srv.opts.DerivedMaxMemory
	if set.conf.MaxMemory > 0 {
		derived = 0
	}
	t.bytes("maxmemory_derived", derived)
	name := set.conf.MaxMemoryPolicy.String()
	field(t, "vigil_maxmemory_policy", name)
	if set.policy == persistence.PolicySpill {
		name = "noeviction"
	}
	field(t, "maxmemory_policy", name)
	t.decimal("allocator_frag_ratio", ratio(m.heap.inUse, m.heap.objects), 2, "")
	field(t, "allocator_frag_bytes", max(0, m.heap.inUse-m.heap.objects))
	held := m.heap.held
	t.decimal("allocator_rss_ratio", ratio(held, m.heap.inUse), 2, "")
	field(t, "allocator_rss_bytes", max(0, held-m.heap.inUse))
	t.decimal("rss_overhead_ratio", ratio(m.process, held), 2, "")
	field(t, "rss_overhead_bytes", max(0, m.process-held))
	t.decimal("mem_fragmentation_ratio", ratio(m.process, m.data), 2, "")
	field(t, "mem_fragmentation_bytes", max(0, m.process-m.data))
	field(t, "mem_not_counted_for_evict", 0)
	field(t, "mem_replication_backlog", 0)
	field(t, "mem_total_replication_buffers", 0)
	field(t, "mem_replica_full_sync_buffer", 0)
	field(t, "mem_clients_slaves", 0)
	field(t, "mem_clients_normal", m.clients)
	field(t, "mem_cluster_links", 0)
	field(t, "mem_aof_buffer", t.store().PendingBytes)
	field(t, "mem_allocator", "go")
	field(t, "mem_overhead_db_hashtable_rehashing", 0)
	field(t, "active_defrag_running", 0)
	field(t, "lazyfree_pending_objects", 0)
	field(t, "lazyfreed_objects", t.srv.stats.leftBehind.since(t.srv.store.Counters().LeftBehind))
	field(t, "vigil_memtable_bytes", t.srv.slowly().disk.MemTableBytes)
	field(t, "vigil_gc_cycles", m.heap.cycles)
	t.decimal("vigil_gc_cpu_seconds", m.heap.seconds, 6, "")
}

// infoScriptMemory shows the sources that are kept. The interpreter has no memory of its own.
func infoScriptMemory(t *infoText) {
	scripts, scriptBytes := t.srv.scripts.engine.Cached()
	libraries, functions := t.srv.scripts.engine.Libraries().Len()
	libraryBytes := t.srv.scripts.engine.Libraries().Bytes()
	t.bytes("used_memory_lua", 0)
	field(t, "used_memory_vm_eval", 0)
	field(t, "used_memory_scripts_eval", scriptBytes)
	field(t, "number_of_cached_scripts", scripts)
	field(t, "number_of_functions", functions)
	field(t, "number_of_libraries", libraries)
	field(t, "used_memory_vm_functions", 0)
	t.bytes("used_memory_vm_total", 0)
	field(t, "used_memory_functions", libraryBytes)
	t.bytes("used_memory_scripts", int64(scriptBytes+libraryBytes))
}

// Memory is MEMORY STATS.
func (s *session) Memory() []admin.MemoryFigure {
	f := s.figures()
	m := s.srv.memoryFigures(&f)
	keys := f.Keys()
	perKey := int64(0)
	if keys > 0 {
		perKey = m.data / keys
	}
	return []admin.MemoryFigure{
		{Name: "peak.allocated", Value: m.peak},
		{Name: "total.allocated", Value: m.data},
		{Name: "startup.allocated"},
		{Name: "replication.backlog"},
		{Name: "clients.slaves"},
		{Name: "clients.normal", Value: m.clients},
		{Name: "aof.buffer", Value: f.PendingBytes},
		{Name: "overhead.total", Value: m.clients},
		{Name: "keys.count", Value: keys},
		{Name: "keys.bytes-per-key", Value: perKey},
		{Name: "dataset.bytes", Value: m.data},
		{Name: "dataset.percentage", Ratio: 100},
		{Name: "peak.percentage", Ratio: 100 * ratio(m.data, m.peak)},
		{Name: "allocator.allocated", Value: m.heap.objects},
		{Name: "allocator.active", Value: m.heap.inUse},
		{Name: "allocator.resident", Value: m.heap.held},
		{Name: "allocator-fragmentation.ratio", Ratio: ratio(m.heap.inUse, m.heap.objects)},
		{Name: "fragmentation", Ratio: ratio(m.process, m.data)},
		{Name: "fragmentation.bytes", Value: max(0, m.process-m.data)},
	}
}
