package window

import (
	"net/http"
	"strings"

	"github.com/vigildb/vigil/server/internal/report"
)

// The pages of keys, clients and the slow log.

type keysBody struct {
	*sample
	Databases []database
	MoreDB    int
	Total     float64
	Hits      string
	Loading   bool
}

func (w *Window) keysPage(_ *http.Request, p *page) error {
	f := p.figures
	b := &keysBody{Total: f.Keys(), Loading: f.Loading()}
	b.Databases = f.Databases[:min(len(f.Databases), maxDatabases)]
	b.MoreDB = len(f.Databases) - len(b.Databases)
	if !b.Loading {
		s, err := w.sampled(f)
		if err != nil {
			return err
		}
		b.sample = s
	}
	p.Body = b
	return nil
}

type clientsBody struct {
	Facts   []fact
	Clients []clientRow
	All     int
	TooMany bool
}

type clientRow struct {
	ID, Addr, Name, Age, Idle, Flags, DB, Command, Memory, Output string
}

// maxClientRows is how many clients are shown.
const maxClientRows = 50

// clientFlags describes the flag letters of CLIENT LIST.
var clientFlags = map[rune]string{'O': "monitor", 'P': "subscribed", 'x': "in MULTI", 'b': "waiting", 'd': "watched keys changed",
	'c': "closing", 'U': "Unix socket", 'e': "not evicted", 'T': "no touch"}

func (w *Window) clientsPage(_ *http.Request, p *page) error {
	f := p.figures
	n := f.Number
	b := &clientsBody{Facts: []fact{
		{"Connected", count(n("connected_clients")), "of " + count(n("maxclients"))},
		{"Waiting", count(n("blocked_clients")), "in a blocking command or a pause"},
		{"Subscribed", count(n("pubsub_clients")), count(n("pubsub_channels")) + " channels, " + count(n("pubsub_patterns")) + " patterns"},
		{"Memory", size(n("mem_clients_normal")), "of their buffers"},
		{"Refused", count(n("rejected_connections")), count(n("evicted_clients")) + " evicted"},
		{"Accepted so far", count(n("total_connections_received")), ""},
	}}
	clients, err := w.listClients(f)
	if err != nil {
		return err
	}
	b.All, b.TooMany = len(clients), clients == nil
	for _, c := range clients[:min(len(clients), maxClientRows)] {
		var flags []string
		for _, letter := range c["flags"] {
			if word := clientFlags[letter]; word != "" {
				flags = append(flags, word)
			}
		}
		b.Clients = append(b.Clients, clientRow{ID: c["id"], Addr: name(c["addr"]), Name: name(c["name"]), DB: c["db"],
			Age: span(report.Number(c["age"])), Idle: span(report.Number(c["idle"])), Flags: strings.Join(flags, ", "), Command: strings.ReplaceAll(c["cmd"], "|", " "),
			Memory: size(report.Number(c["tot-mem"])), Output: size(report.Number(c["omem"]))})
	}
	p.Body = b
	return nil
}

type slowBody struct {
	Rows      []slowRow
	All       int64
	Threshold string
}

type slowRow struct{ ID, Age, Took, Command, From string }

func (w *Window) slowPage(_ *http.Request, p *page) error {
	b := &slowBody{Rows: slowRows(p.figures, report.SlowShown), All: p.figures.SlowLen}
	switch t := w.config.Settings().SlowlogLogSlowerThan; {
	case t < 0:
		b.Threshold = "It is off: slowlog-log-slower-than is negative."
	case t == 0:
		b.Threshold = "Every command is logged: slowlog-log-slower-than is 0."
	default:
		b.Threshold = "Commands that took " + micros(float64(t)) + " or more (slowlog-log-slower-than)."
	}
	p.Body = b
	return nil
}

// maxSlowCommand bounds a command of the slow log as it is shown.
const maxSlowCommand = 240

func slowRows(f *figures, most int) (rows []slowRow) {
	for _, e := range f.Slow[:min(len(f.Slow), most)] {
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = printable(a, maxName)
		}
		from := e.Addr
		if e.Name != "" {
			from += " " + e.Name
		}
		rows = append(rows, slowRow{ID: count(float64(e.ID)), Age: ago(f.At, e.At), Took: micros(e.Micros),
			Command: printable(strings.Join(args, " "), maxSlowCommand), From: name(from)})
	}
	return rows
}
