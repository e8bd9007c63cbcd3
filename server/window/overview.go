package window

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/server/internal/door"
)

type overviewBody struct {
	Large     []chart
	Small     []chart
	Minutes   string // what the charts show
	Commands  []commandRow
	Errors    []commandRow
	Memory    []fact
	Journal   []fact
	Pebble    []fact
	Levels    []bar
	Databases []database
	MoreDB    int
	Snapshots []snapshotRow
	MoreSnaps int
	SnapNote  string
	Slow      []slowRow
	SlowLen   int64
	Schedules int
	Maps      int
	Searching string
	Sampled   *sample
}

// fact is a line of a list. Hint says what it means.
type fact struct{ Name, Value, Hint string }

type commandRow struct {
	Name, Calls, Mean, Share, Failed string
	Width                            string
}

type snapshotRow struct{ Name, Age, Size, Kind string }

const (
	maxCommands  = 12
	maxDatabases = 16
	maxSnapshots = 6
	slowBrief    = 5
)

func (w *Window) overview(_ *http.Request, p *page) error {
	f := p.figures
	b := &overviewBody{SlowLen: f.SlowLen}
	b.charts(f)
	b.commands(f)
	b.store(f)
	b.Databases = f.Databases[:min(len(f.Databases), maxDatabases)]
	b.MoreDB = len(f.Databases) - len(b.Databases)
	w.overviewSnapshots(b, f)
	b.Slow = slowRows(f, slowBrief)
	found := w.discover(f)
	b.Schedules, b.Maps, b.Searching = len(found.schedules), len(found.maps), searching(found)
	if !f.Loading() {
		s, err := w.sampled(f)
		if err != nil {
			p.note("Keys could not be sampled: %v.", err)
		}
		b.Sampled = s
	}
	p.Body = b
	return nil
}

// charts draws the last hour.
func (b *overviewBody) charts(f *figures) {
	const length = 360
	hour := func(of func(door.Sample) float32) []float64 {
		values := make([]float64, len(f.History))
		for i, s := range f.History {
			values[i] = float64(of(s))
		}
		return values
	}
	gaps := func(values []float64, none float64) []float64 {
		for i, v := range values {
			if v == none {
				values[i] = math.NaN()
			}
		}
		return values
	}
	b.Large = []chart{
		draw("Commands a second", hour(func(s door.Sample) float32 { return s.Ops }), length, count),
		draw("Mean time of a command", gaps(hour(func(s door.Sample) float32 { return s.Micros }), 0), length, micros),
	}
	small := func(title string, values []float64, show func(float64) string) {
		b.Small = append(b.Small, draw(title, coarse(values, length, sparkPoints), sparkPoints, show))
	}
	bytes := func(title string, values []float64, show func(float64) string) {
		b.Small = append(b.Small, drawSizes(title, coarse(values, length, sparkPoints), sparkPoints, show))
	}
	bytes("Keys and values", hour(func(s door.Sample) float32 { return s.Memory }), size)
	small("Keys", hour(func(s door.Sample) float32 { return s.Keys }), count)
	small("Clients", hour(func(s door.Sample) float32 { return s.Clients }), count)
	small("Lookups that hit", gaps(hour(func(s door.Sample) float32 { return s.HitRatio }), -1), percent)
	perSecond := func(v float64) string { return size(v) + "/s" }
	bytes("Received", hour(func(s door.Sample) float32 { return s.Input }), perSecond)
	bytes("Sent", hour(func(s door.Sample) float32 { return s.Output }), perSecond)
	b.Minutes = "the last hour"
	if n := len(f.History); n < length {
		b.Minutes = "the last hour, of which " + span(float64(n)*door.HistoryStep.Seconds()) + " are known"
	}
}

func (b *overviewBody) commands(f *figures) {
	total, top := 0.0, 1.0
	for _, c := range f.Commands {
		total += c.Micros
		top = max(top, c.Micros)
	}
	for _, c := range f.Commands[:min(len(f.Commands), maxCommands)] {
		b.Commands = append(b.Commands, commandRow{Name: strings.ReplaceAll(c.Name, "|", " "), Calls: count(c.Calls),
			Mean: micros(c.Micros / max(1, c.Calls)), Share: percent(c.Micros / max(1, total)), Width: width(c.Micros / top),
			Failed: count(c.Failed + c.Rejected)})
	}
}

func (b *overviewBody) store(f *figures) {
	n := f.Number
	limit := "no limit"
	if most := max(n("maxmemory"), n("maxmemory_derived")); most > 0 { // one of them is 0
		limit = "of " + size(most) + ", " + percent(n("used_memory")/most)
	}
	b.Memory = []fact{
		{"Keys and values", size(n("used_memory")), limit},
		{"Peak of these", size(n("used_memory_peak")), ""},
		{"Process", size(n("used_memory_rss")), "as the system counts it"},
		{"Clients' buffers", size(n("mem_clients_normal")), ""},
		{"Pebble's tables in memory", size(n("vigil_memtable_bytes")), ""},
		{"Go heap", size(n("allocator_allocated")), plural(n("vigil_gc_cycles"), "collection")},
		{"At the limit", f.Info["vigil_maxmemory_policy"], count(n("vigil_spilled")) + " spilled, " + count(n("evicted_keys")) + " evicted"},
	}
	b.Journal = []fact{
		{"Newest record", count(n("vigil_lsn")), "LSN " + f.Info["vigil_lsn"]},
		{"Not on the device yet", count(max(0, n("vigil_lsn")-n("vigil_lsn_synced"))), "records"},
		{"A restart would replay", size(n("aof_current_size")), ""},
		{"Not handed to Pebble yet", size(n("aof_buffer_length")), ""},
		{"Keys to be written", count(n("vigil_dirty_keys")), "under their own names"},
		{"Keys read from disk", count(n("vigil_faults")), "because commands needed them"},
	}
	cache := n("vigil_block_cache_hits") + n("vigil_block_cache_misses")
	b.Pebble = []fact{
		{"Files", size(n("vigil_disk_bytes")), ""},
		{"To be compacted", size(n("vigil_compaction_debt_bytes")), plural(n("vigil_compactions"), "compaction") + " so far"},
		{"Tables a lookup may ask", count(n("vigil_read_amplification")), ""},
		{"Blocks found in the cache", percent(n("vigil_block_cache_hits") / max(1, cache)), "of " + count(cache)},
		{"Written", size(n("vigil_wal_bytes") + n("vigil_flushed_bytes") + n("vigil_compacted_bytes")), "log, flushes and compactions"},
	}
	top := 1.0
	for _, l := range f.Levels {
		top = max(top, l.Bytes)
	}
	for _, l := range f.Levels {
		if l.Tables == 0 {
			continue
		}
		b.Levels = append(b.Levels, bar{Name: "L" + strconv.Itoa(int(l.Number)), Width: width(l.Bytes / top),
			Value: size(l.Bytes), Note: plural(l.Tables, "table")})
	}
}

func (w *Window) overviewSnapshots(b *overviewBody, f *figures) {
	if f.Number("vigil_in_memory") == 1 {
		b.SnapNote = "The server is in memory only."
		return
	}
	list, err := w.source.Snapshots()
	if err != nil {
		b.SnapNote = "Not known: " + err.Error()
		return
	}
	if f.Number("rdb_last_bgsave_status") == 0 {
		b.SnapNote = "The last one failed; the log says why."
	}
	for _, s := range list[:min(len(list), maxSnapshots)] {
		row := snapshotRow{Name: name(s.Name), Age: ago(w.now(), s.Made), Size: size(s.Bytes), Kind: "by a client"}
		if s.Automatic {
			row.Kind = "by save"
		}
		b.Snapshots = append(b.Snapshots, row)
	}
	b.MoreSnaps = len(list) - len(b.Snapshots)
}

// searching says how far the search for schedules and maps has come.
func searching(f found) string {
	if f.Done {
		return ""
	}
	return "The search for schedules and maps has seen " + percent(f.Share) + " of the keys; each look at this page takes it further."
}
