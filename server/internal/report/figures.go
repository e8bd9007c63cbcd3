package report

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

const (
	// FiguresAge is for how long requests share the same figures.
	FiguresAge = time.Second
	// snapshotsAge is longer, as snapshots are found by looking at files.
	snapshotsAge = 30 * time.Second
	// SlowShown is how many entries of the slow log are asked for.
	SlowShown = 64
)

// Figures are what the server reported about itself at one moment.
type Figures struct {
	At        time.Time
	Info      map[string]string
	Commands  []Command // those that were called, the most time first
	Errors    map[string]float64
	Databases []Database
	Levels    []Level
	Replicas  []map[string]string // the fields of each, as INFO has them
	SlowLen   int64
	Slow      []SlowEntry // the newest first
	History   []door.Sample
	Sampled   time.Time // the last of the history
}

// Command is what is known of the calls of a command.
type Command struct {
	Name                            string
	Calls, Micros, Rejected, Failed float64
	Percentiles                     map[float64]float64 // of the times in us, by the percentage; nil: not measured
}

// Database is what is known of a database that has keys.
type Database struct {
	Number        int
	Keys, Expires float64
}

// Level is what is known of a level of Pebble.
type Level struct{ Number, Tables, Bytes float64 }

// SlowEntry is an entry of the slow log.
type SlowEntry struct {
	ID     int64
	At     time.Time
	Micros float64
	Args   []string
	Addr   string
	Name   string
}

// Snapshot is a snapshot that is kept.
type Snapshot struct {
	Name      string
	Made      time.Time
	Bytes     float64
	Automatic bool
}

// Current are the figures, a second old at most.
func (s *Source) Current() (*Figures, error) {
	return s.figures.Get(s.now(), func() (*Figures, error) {
		f := &Figures{At: s.now()}
		answers, err := s.Observer.Ask(AnswerTime, 0, Call{"INFO", "everything"},
			Call{"SLOWLOG", "LEN"}, Call{"SLOWLOG", "GET", strconv.Itoa(SlowShown)})
		if err != nil {
			return nil, err
		}
		if err := answers[0].Err(); err != nil {
			return nil, err // INFO was renamed away
		}
		f.readInfo(answers[0].String())
		f.SlowLen = answers[1].Int()
		for _, e := range answers[2].List() {
			f.Slow = append(f.Slow, readSlow(e))
		}
		f.History, f.Sampled = s.inside.History()
		return f, nil
	})
}

// readInfo takes INFO apart.
func (f *Figures) readInfo(text string) {
	f.Info, f.Errors = map[string]string{}, map[string]float64{}
	percentiles := map[string]map[float64]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok {
			continue
		}
		switch kind, rest, _ := strings.Cut(name, "_"); {
		case kind == "cmdstat":
			v := parts(value)
			f.Commands = append(f.Commands, Command{Name: rest, Calls: v["calls"], Micros: v["usec"],
				Rejected: v["rejected_calls"], Failed: v["failed_calls"]})
		case kind == "errorstat":
			f.Errors[rest] = parts(value)["count"]
		case strings.HasPrefix(name, "vigil_level_"):
			v := parts(value)
			f.Levels = append(f.Levels, Level{Number(strings.TrimPrefix(name, "vigil_level_")), v["tables"], v["bytes"]})
		case strings.HasPrefix(name, percentilesPrefix):
			percentiles[strings.TrimPrefix(name, percentilesPrefix)] = readPercentiles(value)
		case strings.HasPrefix(name, "slave") && strings.HasPrefix(value, "ip="):
			f.Replicas = append(f.Replicas, fields(value))
		case strings.HasPrefix(value, "keys="):
			n, err := strconv.Atoi(strings.TrimPrefix(name, "db"))
			if err == nil {
				v := parts(value)
				f.Databases = append(f.Databases, Database{n, v["keys"], v["expires"]})
			}
		default:
			f.Info[name] = value
		}
	}
	for i := range f.Commands {
		f.Commands[i].Percentiles = percentiles[f.Commands[i].Name]
	}
	sort.SliceStable(f.Commands, func(i, j int) bool { return f.Commands[i].Micros > f.Commands[j].Micros })
}

// percentilesPrefix begins a field of INFO latencystats, and the name of a command ends it.
const percentilesPrefix = "latency_percentiles_usec_"

// readPercentiles reads "p50=1.003,p99.9=5.023".
func readPercentiles(s string) map[float64]float64 {
	all := map[float64]float64{}
	for name, value := range parts(s) {
		all[Number(strings.TrimPrefix(name, "p"))] = value
	}
	return all
}

// parts reads "calls=3,usec=4".
func parts(s string) map[string]float64 {
	m := map[string]float64{}
	for name, value := range fields(s) {
		m[name] = Number(value)
	}
	return m
}

// fields reads "ip=10.0.0.1,port=6379".
func fields(s string) map[string]string {
	m := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = value
	}
	return m
}

// Number reads a figure; words of success and failure are 1 and 0, as for
// redis_exporter.
func Number(s string) float64 {
	switch s {
	case "ok":
		return 1
	case "err":
		return 0
	}
	v, _ := strconv.ParseFloat(s, 64) // 0 for what is none
	return v
}

func (f *Figures) Number(name string) float64 { return Number(f.Info[name]) }

// Keys is the number of keys in all databases.
func (f *Figures) Keys() (n float64) {
	for _, d := range f.Databases {
		n += d.Keys
	}
	return n
}

// Loading reports that there are no keys to look at yet.
func (f *Figures) Loading() bool { return f.Number("loading") == 1 }

// SlowLog returns entries of the slow log, the newest first. It may return more than Figures has.
func (s *Source) SlowLog(most int) (all []SlowEntry, err error) {
	answers, err := s.Observer.Ask(AnswerTime, 0, Call{"SLOWLOG", "GET", strconv.Itoa(most)})
	if err != nil {
		return nil, err
	}
	for _, e := range answers[0].List() {
		all = append(all, readSlow(e))
	}
	return all, answers[0].Err()
}

func readSlow(e Answer) SlowEntry {
	parts := e.List()
	if len(parts) < 6 {
		return SlowEntry{}
	}
	s := SlowEntry{ID: parts[0].Int(), At: time.Unix(parts[1].Int(), 0), Micros: float64(parts[2].Int()),
		Addr: parts[4].String(), Name: parts[5].String()}
	for _, a := range parts[3].List() {
		s.Args = append(s.Args, a.String())
	}
	return s
}

// Snapshots are the snapshots, the newest first.
func (s *Source) Snapshots() ([]Snapshot, error) {
	return s.snapshots.Get(s.now(), func() ([]Snapshot, error) {
		answers, err := s.Observer.Ask(AnswerTime, 0, Call{"VIGIL.SNAPSHOT", "LIST"})
		if err != nil {
			return nil, err
		}
		if err := answers[0].Err(); err != nil {
			return nil, err
		}
		var all []Snapshot
		for _, e := range answers[0].List() {
			v := e.Pairs()
			all = append(all, Snapshot{Name: v["name"].String(), Made: time.Unix(v["time"].Int(), 0),
				Bytes: float64(v["bytes"].Int()), Automatic: v["automatic"].Int() == 1})
		}
		sort.SliceStable(all, func(i, j int) bool { return all[i].Made.After(all[j].Made) })
		return all, nil
	})
}
