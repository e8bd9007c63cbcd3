package window

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

type overviewBody struct {
	Large     []chart
	Small     []chart
	Minutes   string // what the charts show
	Commands  []commandRow
	Errors    []commandRow
	Memory    []fact
	Disk      []fact
	Databases []database
	MoreDB    int
	Snapshots []snapshotRow
	MoreSnaps int
	SnapNote  string
	MaySnaps  bool // the visitor may see snapshots, and the slow log
	MaySlow   bool
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
	may, err := p.visitor.may(0, needSlowLog, needBackups)
	if err != nil {
		return err
	}
	if b.MaySlow = may[0]; b.MaySlow {
		b.Slow = slowRows(f, slowBrief)
	}
	if b.MaySnaps = may[1]; b.MaySnaps {
		w.overviewSnapshots(b, f)
	}
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

// hourLength is how many samples an hour has.
const hourLength = int(time.Hour / door.HistoryStep)

// hour is one figure of each sample of the last hour; none stands for no value.
func hour(f *figures, of func(door.Sample) float32, none float32) []float64 {
	values := make([]float64, len(f.History))
	for i, s := range f.History {
		if v := of(s); v != none {
			values[i] = float64(v)
		} else {
			values[i] = math.NaN()
		}
	}
	return values
}

// always is a value that no figure has.
var always = float32(math.Inf(-1))

// charts draws the last hour.
func (b *overviewBody) charts(f *figures) {
	times := [][]float64{hour(f, func(s door.Sample) float32 { return s.P50 }, 0), hour(f, func(s door.Sample) float32 { return s.P99 }, 0),
		hour(f, func(s door.Sample) float32 { return s.P999 }, 0)}
	b.Large = []chart{
		draw("Commands a second", hour(f, func(s door.Sample) float32 { return s.Ops }, always), hourLength, count),
		drawTimes("Time of a command", []string{"p50", "p99", "p99.9"}, times, hourLength),
	}
	small := func(draw func(string, []float64, int, func(float64) string) chart, title string, values []float64, show func(float64) string) {
		b.Small = append(b.Small, draw(title, coarse(values, hourLength, sparkPoints), sparkPoints, show))
	}
	perSecond := func(v float64) string { return size(v) + "/s" }
	whole := func(v float64) string { return count(math.Round(v)) }
	small(drawSizes, "Keys and values", hour(f, func(s door.Sample) float32 { return s.Memory }, always), size)
	small(draw, "Keys", hour(f, func(s door.Sample) float32 { return s.Keys }, always), whole)
	small(draw, "Clients", hour(f, func(s door.Sample) float32 { return s.Clients }, always), whole)
	small(draw, "Lookups that hit", hour(f, func(s door.Sample) float32 { return s.HitRatio }, -1), percent)
	small(drawSizes, "Received", hour(f, func(s door.Sample) float32 { return s.Input }, always), perSecond)
	small(drawSizes, "Sent", hour(f, func(s door.Sample) float32 { return s.Output }, always), perSecond)
	small(draw, "Errors a second", hour(f, func(s door.Sample) float32 { return s.Errors }, always), count)
	small(draw, "Evicted keys a second", hour(f, func(s door.Sample) float32 { return s.Evicted }, always), count)
	small(draw, "Processor, of a core", hour(f, func(s door.Sample) float32 { return s.Processor }, always), percent)
	if f.Number("vigil_in_memory") != 1 {
		small(drawSizes, "Free on the disk", hour(f, func(s door.Sample) float32 { return s.DiskFree }, always), size)
	}
	for i := range b.Large {
		b.Large[i].Times = axis(f.Sampled, time.Hour, 5)
	}
	for i := range b.Small {
		b.Small[i].Times = axis(f.Sampled, time.Hour, 2)
	}
	b.Minutes = "the last hour"
	if n := len(f.History); n < hourLength {
		b.Minutes = "the last hour, " + span(float64(n)*door.HistoryStep.Seconds()) + " known"
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
	free := ""
	if n("disk_total_bytes") > 0 { // not in memory
		free = size(n("disk_free_bytes")) + " free"
	}
	b.Disk = []fact{
		{"Files", size(n("vigil_disk_bytes")), free},
		{"Not on the device yet", count(max(0, n("vigil_lsn")-n("vigil_lsn_synced"))), "records"},
		{"A restart would replay", size(n("aof_current_size")), ""},
		{"Keys to be written", count(n("vigil_dirty_keys")), "under their own names"},
		{"Keys read from disk", count(n("vigil_faults")), "because commands needed them"},
		{"To be compacted", size(n("vigil_compaction_debt_bytes")), ""},
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
