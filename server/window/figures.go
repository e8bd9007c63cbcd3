package window

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

const (
	// figuresAge is for how long requests share the same figures.
	figuresAge = time.Second
	// snapshotsAge is longer, as snapshots are found by looking at files.
	snapshotsAge = 30 * time.Second
	// slowShown is how many entries of the slow log are shown.
	slowShown = 64
	// maxClientList is up to how many clients CLIENT LIST is asked.
	maxClientList = 2000
)

// figures is what the server reported about itself at one moment.
type figures struct {
	at        time.Time
	info      map[string]string
	commands  []commandFigures // those that were called, the most time first
	errors    map[string]float64
	databases []database
	levels    []level
	slowLen   int64
	slow      []slowEntry // the newest first
	history   []door.Sample
	sampled   time.Time // the last of the history
}

type commandFigures struct {
	Name                            string
	Calls, Micros, Rejected, Failed float64
}

type database struct {
	Number        int
	Keys, Expires float64
}

type level struct{ Number, Tables, Bytes float64 }

type slowEntry struct {
	ID     int64
	At     time.Time
	Micros float64
	Args   []string
	Addr   string
	Name   string
}

type client map[string]string

type snapshot struct {
	Name      string
	Made      time.Time
	Bytes     float64
	Automatic bool
}

// current are the figures, a second old at most.
func (w *Window) current() (*figures, error) {
	return w.figures.get(w.now(), func() (*figures, error) {
		f := &figures{at: w.now()}
		answers, err := w.observer.ask(answerTime, 0, call{"INFO", "everything"},
			call{"SLOWLOG", "LEN"}, call{"SLOWLOG", "GET", strconv.Itoa(slowShown)})
		if err != nil {
			return nil, err
		}
		if err := answers[0].err(); err != nil {
			return nil, err // INFO was renamed away
		}
		f.readInfo(answers[0].String())
		f.slowLen = answers[1].Int()
		for _, e := range answers[2].list() {
			f.slow = append(f.slow, readSlow(e))
		}
		f.history, f.sampled = w.inside.History()
		return f, nil
	})
}

// readInfo takes INFO apart.
func (f *figures) readInfo(text string) {
	f.info, f.errors = map[string]string{}, map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok {
			continue
		}
		switch kind, rest, _ := strings.Cut(name, "_"); {
		case kind == "cmdstat":
			v := parts(value)
			f.commands = append(f.commands, commandFigures{Name: rest, Calls: v["calls"], Micros: v["usec"],
				Rejected: v["rejected_calls"], Failed: v["failed_calls"]})
		case kind == "errorstat":
			f.errors[rest] = parts(value)["count"]
		case strings.HasPrefix(name, "vigil_level_"):
			v := parts(value)
			f.levels = append(f.levels, level{number(strings.TrimPrefix(name, "vigil_level_")), v["tables"], v["bytes"]})
		case strings.HasPrefix(value, "keys="):
			n, err := strconv.Atoi(strings.TrimPrefix(name, "db"))
			if err == nil {
				v := parts(value)
				f.databases = append(f.databases, database{n, v["keys"], v["expires"]})
			}
		default:
			f.info[name] = value
		}
	}
	sort.SliceStable(f.commands, func(i, j int) bool { return f.commands[i].Micros > f.commands[j].Micros })
}

// parts reads "calls=3,usec=4".
func parts(s string) map[string]float64 {
	m := map[string]float64{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = number(value)
	}
	return m
}

// number reads a figure; words of success and failure are 1 and 0, as for
// redis_exporter.
func number(s string) float64 {
	switch s {
	case "ok":
		return 1
	case "err":
		return 0
	}
	v, _ := strconv.ParseFloat(s, 64) // 0 for what is none
	return v
}

func (f *figures) number(name string) float64 { return number(f.info[name]) }

// keys is the number of keys in all databases.
func (f *figures) keys() (n float64) {
	for _, d := range f.databases {
		n += d.Keys
	}
	return n
}

// loading reports that there are no keys to look at yet.
func (f *figures) loading() bool { return f.number("loading") == 1 }

func readSlow(e answer) slowEntry {
	parts := e.list()
	if len(parts) < 6 {
		return slowEntry{}
	}
	s := slowEntry{ID: parts[0].Int(), At: time.Unix(parts[1].Int(), 0), Micros: float64(parts[2].Int()),
		Addr: parts[4].String(), Name: parts[5].String()}
	for _, a := range parts[3].list() {
		s.Args = append(s.Args, a.String())
	}
	return s
}

// listClients asks for the clients, unless there are so many that their list would
// be a burden.
func (w *Window) listClients(f *figures) ([]client, error) {
	if f.number("connected_clients") > maxClientList {
		return nil, nil
	}
	answers, err := w.observer.ask(answerTime, 0, call{"CLIENT", "LIST"})
	if err != nil {
		return nil, err
	}
	if err := answers[0].err(); err != nil {
		return nil, err
	}
	var all []client
	for line := range strings.Lines(answers[0].String()) {
		c := client{}
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			c[name] = value
		}
		all = append(all, c)
	}
	sort.SliceStable(all, func(i, j int) bool { return number(all[i]["tot-mem"]) > number(all[j]["tot-mem"]) })
	return all, nil
}

// listSnapshots are the snapshots, the newest first.
func (w *Window) listSnapshots() ([]snapshot, error) {
	return w.snapshots.get(w.now(), func() ([]snapshot, error) {
		answers, err := w.observer.ask(answerTime, 0, call{"VIGIL.SNAPSHOT", "LIST"})
		if err != nil {
			return nil, err
		}
		if err := answers[0].err(); err != nil {
			return nil, err
		}
		var all []snapshot
		for _, e := range answers[0].list() {
			v := e.pairs()
			all = append(all, snapshot{Name: v["name"].String(), Made: time.Unix(v["time"].Int(), 0),
				Bytes: float64(v["bytes"].Int()), Automatic: v["automatic"].Int() == 1})
		}
		sort.SliceStable(all, func(i, j int) bool { return all[i].Made.After(all[j].Made) })
		return all, nil
	})
}
