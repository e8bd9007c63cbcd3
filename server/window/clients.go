package window

import (
	"net/http"
	"strings"

	"github.com/vigildb/vigil/server/internal/report"
)

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
