package server

import (
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/server/info"
)

// infoMemory shows as used_memory what maxmemory bounds: the bytes of keys and
// values. What the process takes in all is used_memory_rss. Where values spill it
// shows the policy as noeviction, since no key is ever evicted: libraries that
// keep jobs refuse any other.
func infoMemory(t *info.Text, s *session) {
	st, clients, set := t.Stats(&s.srv.figures, s.locked), s.srv.memory.total.Load(), s.srv.settings()
	m := s.srv.figures.Memory(st)
	t.Bytes("used_memory", m.Data)
	t.Bytes("used_memory_rss", m.Process)
	t.Bytes("used_memory_peak", m.Peak)
	info.Field(t, "used_memory_peak_time", s.srv.figures.PeakTime())
	t.Decimal("used_memory_peak_perc", 100*info.Ratio(m.Data, m.Peak), 2, "%")
	info.Field(t, "used_memory_overhead", clients)
	info.Field(t, "used_memory_startup", 0)
	info.Field(t, "used_memory_dataset", m.Data)
	info.Field(t, "used_memory_dataset_perc", "100.00%")
	info.Field(t, "allocator_allocated", m.Heap.Objects)
	info.Field(t, "allocator_active", m.Heap.InUse)
	info.Field(t, "allocator_resident", m.Heap.Held)
	info.Field(t, "allocator_muzzy", 0)
	t.Bytes("total_system_memory", systemBytes())
	infoScriptMemory(t, s)
	t.Bytes("maxmemory", set.conf.MaxMemory)
	derived := s.srv.opts.DerivedMaxMemory
	if set.conf.MaxMemory > 0 {
		derived = 0
	}
	t.Bytes("maxmemory_derived", derived)
	name := set.conf.MaxMemoryPolicy.String()
	info.Field(t, "vigil_maxmemory_policy", name)
	if set.policy == eviction.Spill {
		name = "noeviction"
	}
	info.Field(t, "maxmemory_policy", name)
	t.Decimal("allocator_frag_ratio", info.Ratio(m.Heap.InUse, m.Heap.Objects), 2, "")
	info.Field(t, "allocator_frag_bytes", max(0, m.Heap.InUse-m.Heap.Objects))
	held := m.Heap.Held
	t.Decimal("allocator_rss_ratio", info.Ratio(held, m.Heap.InUse), 2, "")
	info.Field(t, "allocator_rss_bytes", max(0, held-m.Heap.InUse))
	t.Decimal("rss_overhead_ratio", info.Ratio(m.Process, held), 2, "")
	info.Field(t, "rss_overhead_bytes", max(0, m.Process-held))
	t.Decimal("mem_fragmentation_ratio", info.Ratio(m.Process, m.Data), 2, "")
	info.Field(t, "mem_fragmentation_bytes", max(0, m.Process-m.Data))
	info.Field(t, "mem_not_counted_for_evict", 0)
	info.Field(t, "mem_replication_backlog", 0)
	info.Field(t, "mem_total_replication_buffers", 0)
	info.Field(t, "mem_replica_full_sync_buffer", 0)
	info.Field(t, "mem_clients_slaves", 0)
	info.Field(t, "mem_clients_normal", clients)
	info.Field(t, "mem_cluster_links", 0)
	info.Field(t, "mem_aof_buffer", st.PendingBytes)
	info.Field(t, "mem_allocator", "go")
	info.Field(t, "mem_overhead_db_hashtable_rehashing", 0)
	info.Field(t, "active_defrag_running", 0)
	info.Field(t, "lazyfree_pending_objects", 0)
	info.Field(t, "lazyfreed_objects", s.srv.stats.leftBehind.since(s.srv.store.Counters().LeftBehind))
	info.Field(t, "vigil_memtable_bytes", s.srv.figures.Slowly().Disk.MemTableBytes)
	info.Field(t, "vigil_gc_cycles", m.Heap.Cycles)
	t.Decimal("vigil_gc_cpu_seconds", m.Heap.Seconds, 6, "")
}

// infoScriptMemory shows the sources that are kept. The interpreter has no memory of its own.
func infoScriptMemory(t *info.Text, s *session) {
	scripts, scriptBytes := s.srv.scripts.engine.Cached()
	libraries, functions := s.srv.scripts.engine.Libraries().Len()
	libraryBytes := s.srv.scripts.engine.Libraries().Bytes()
	t.Bytes("used_memory_lua", 0)
	info.Field(t, "used_memory_vm_eval", 0)
	info.Field(t, "used_memory_scripts_eval", scriptBytes)
	info.Field(t, "number_of_cached_scripts", scripts)
	info.Field(t, "number_of_functions", functions)
	info.Field(t, "number_of_libraries", libraries)
	info.Field(t, "used_memory_vm_functions", 0)
	t.Bytes("used_memory_vm_total", 0)
	info.Field(t, "used_memory_functions", libraryBytes)
	t.Bytes("used_memory_scripts", int64(scriptBytes+libraryBytes))
}

// Memory is MEMORY STATS.
func (s *session) Memory() []admin.MemoryFigure {
	f := s.srv.figures.Stats(s.locked)
	m, clients := s.srv.figures.Memory(&f), s.srv.memory.total.Load()
	keys := f.Keys()
	perKey := int64(0)
	if keys > 0 {
		perKey = m.Data / keys
	}
	return []admin.MemoryFigure{
		{Name: "peak.allocated", Value: m.Peak},
		{Name: "total.allocated", Value: m.Data},
		{Name: "startup.allocated"},
		{Name: "replication.backlog"},
		{Name: "clients.slaves"},
		{Name: "clients.normal", Value: clients},
		{Name: "aof.buffer", Value: f.PendingBytes},
		{Name: "overhead.total", Value: clients},
		{Name: "keys.count", Value: keys},
		{Name: "keys.bytes-per-key", Value: perKey},
		{Name: "dataset.bytes", Value: m.Data},
		{Name: "dataset.percentage", Ratio: 100},
		{Name: "peak.percentage", Ratio: 100 * info.Ratio(m.Data, m.Peak)},
		{Name: "allocator.allocated", Value: m.Heap.Objects},
		{Name: "allocator.active", Value: m.Heap.InUse},
		{Name: "allocator.resident", Value: m.Heap.Held},
		{Name: "allocator-fragmentation.ratio", Ratio: info.Ratio(m.Heap.InUse, m.Heap.Objects)},
		{Name: "fragmentation", Ratio: info.Ratio(m.Process, m.Data)},
		{Name: "fragmentation.bytes", Value: max(0, m.Process-m.Data)},
	}
}
