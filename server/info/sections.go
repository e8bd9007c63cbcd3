package info

import (
	"strconv"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/source"
)

// Engine shows the journal, the file system and Pebble.
func Engine(t *Text, st *persistence.Stats, disk *persistence.DiskStats, inMemory bool, space func() (free, total uint64)) {
	Field(t, "vigil_in_memory", Number(inMemory))
	Field(t, "vigil_lsn", st.LSN)
	Field(t, "vigil_lsn_synced", st.Synced)
	Field(t, "vigil_lsn_trimmed", st.Trimmed)
	Field(t, "vigil_journal_bound", st.JournalBound)
	Field(t, "vigil_shards", persistence.ShardCount)
	Field(t, "vigil_dirty_keys", st.Dirty)
	Field(t, "vigil_materialised", st.Materialised)
	Field(t, "vigil_faults", st.Faults)
	Field(t, "vigil_spilled", st.Spilled)
	Field(t, "vigil_cold_tables", st.ColdTables)
	free, total := space()
	Field(t, "disk_free_bytes", free)
	Field(t, "disk_total_bytes", total)
	Field(t, "vigil_disk_bytes", disk.Bytes)
	Field(t, "vigil_compaction_debt_bytes", disk.CompactionDebt)
	Field(t, "vigil_block_cache_hits", disk.CacheHits)
	Field(t, "vigil_block_cache_misses", disk.CacheMisses)
	Field(t, "vigil_wal_bytes", disk.WALBytes)
	Field(t, "vigil_flushed_bytes", disk.FlushedBytes)
	Field(t, "vigil_compacted_bytes", disk.CompactedBytes)
	Field(t, "vigil_read_amplification", disk.ReadAmplification)
	Field(t, "vigil_compactions", disk.Compactions)
	for i, l := range disk.Levels {
		t.b = append(strconv.AppendInt(append(t.b, "vigil_level_"...), int64(i), 10), ":tables="...)
		t.b = append(strconv.AppendInt(t.b, l.Tables, 10), ",bytes="...)
		t.b = append(strconv.AppendUint(t.b, uint64(l.Bytes), 10), "\r\n"...)
	}
}

// Keyspace shows the databases that have keys.
func Keyspace(t *Text, databases []persistence.DatabaseStats) {
	for i, db := range databases {
		if db.Keys > 0 {
			Field(t, "db"+strconv.Itoa(i), "keys="+strconv.Itoa(db.Keys)+",expires="+strconv.Itoa(db.Expires)+",avg_ttl=0")
		}
	}
}

// Backlog shows what replicas could catch up with.
func Backlog(t *Text, rep *source.Report, size int64) {
	Field(t, "repl_backlog_active", Number(rep.Active))
	Field(t, "repl_backlog_size", size)
	Field(t, "repl_backlog_first_byte_offset", rep.First)
	Field(t, "repl_backlog_histlen", rep.History)
}

// Followers shows the members that reply to this one, which leads. One that clients
// are not told of yet is on its way to what the others have.
func Followers(t *Text, m *commands.Membership) {
	start, n := len(t.b), 0
	for i := range m.Members {
		o, state := &m.Members[i], "online"
		if i == m.Self || !o.Active {
			continue
		}
		if o.Hidden() {
			state = "send_bulk"
		}
		Field(t, "slave"+strconv.Itoa(n), "ip="+o.Host+",port="+strconv.Itoa(o.Port)+
			",state="+state+",offset="+strconv.FormatUint(o.Entry, 10)+",lag=0")
		n++
	}
	list := string(t.b[start:])
	t.b = t.b[:start]
	Field(t, "connected_slaves", n)
	t.b = append(t.b, list...)
}

// Leader shows the member that this one follows, or has followed.
func Leader(t *Text, m *commands.Membership) {
	leader := m.Master()
	Field(t, "role", "slave")
	Field(t, "master_host", leader.Host)
	Field(t, "master_port", leader.Port)
	if m.Led {
		Field(t, "master_link_status", "up")
	} else {
		Field(t, "master_link_status", "down")
	}
	Field(t, "master_last_io_seconds_ago", int64(m.Heard/time.Second))
	Field(t, "master_sync_in_progress", Number(m.Syncing))
	Field(t, "slave_read_repl_offset", m.Last)
	Field(t, "slave_repl_offset", m.Commits)
	if !m.Led {
		Field(t, "master_link_down_since_seconds", int64(m.Heard/time.Second))
	}
	Field(t, "slave_priority", 100)
	Field(t, "slave_read_only", 1)
	Field(t, "replica_announced", 1)
	Field(t, "connected_slaves", 0)
}
