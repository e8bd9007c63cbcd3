package window

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/server/internal/report"
)

// maxGroupRows is how many members, groups and moves are shown of each.
const maxGroupRows = 64

// groupBody is the page about the machines that hold the same data, and those among which slots are divided.
type groupBody struct {
	Alone    bool
	Facts    []fact
	Members  []memberRow
	Replicas []replicaRow // of a server that is in no group
	Shards   []shardRow   // nil if slots are not divided
	Cluster  []fact
	Moves    []moveRow
	More     string // what is not shown
	Lags     bool   // this member knows what the others lack
}

type memberRow struct {
	Number, Address, Name, Role, Link, Lag, Width string
	Here, Ill                                     bool
}

type replicaRow struct{ Address, State, Offset, Lag string }

type shardRow struct {
	Slots, Count, Width string
	Nodes               []nodeState
	Ill                 bool
}

type nodeState struct {
	Address, Name string
	Leads, Up     bool
}

type moveRow struct {
	Slots, State, From, To, Done, Width, Sent, Pause, Message, Updated string
	Ill                                                                bool
}

// refusal is an error of a page that the visitor may not see.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

func (w *Window) groupPage(_ *http.Request, p *page) error {
	b := &groupBody{}
	p.Body = b
	g, err := w.source.Group()
	if err != nil {
		return err
	}
	if b.Alone = g == nil; b.Alone {
		b.replication(p.figures)
		return nil
	}
	calls := []call{needGroup}
	if g.Cluster != nil {
		calls = append(calls, call{"CLUSTER", "INFO"}, call{"CLUSTER", "SHARDS"}, call{"CLUSTER", "GETSLOTMIGRATIONS"})
	}
	if !p.visitor.mayAll(0, calls...) {
		return refusal{"the rules of the user do not allow VIGIL.CLUSTER STATUS, or what is shown beside it"}
	}
	b.group(g)
	if host := p.figures.Info["master_host"]; host != "" && g.State == "leads" {
		b.Facts = append(b.Facts, fact{"Master of the group", name(host + ":" + p.figures.Info["master_port"]), p.figures.Info["master_link_status"]})
	}
	if g.Cluster != nil {
		b.cluster(g, p.figures)
	}
	return nil
}

// replication shows whom a server that is in no group follows, or who follows it.
func (b *groupBody) replication(f *figures) {
	if host := f.Info["master_host"]; host != "" {
		heard := span(f.Number("master_last_io_seconds_ago")) + " ago"
		b.Facts = []fact{{"Role", "replica", "by REPLICAOF"}, {"Master", name(host + ":" + f.Info["master_port"]), f.Info["master_link_status"]}, {"Heard", heard, ""}}
	}
	for i, r := range f.Replicas {
		if i == maxGroupRows {
			b.More = count(float64(len(f.Replicas)-i)) + " more replicas are not shown."
			break
		}
		b.Replicas = append(b.Replicas, replicaRow{Address: name(r["ip"] + ":" + r["port"]), State: name(r["state"]), Offset: count(report.Number(r["offset"])),
			Lag: span(report.Number(r["lag"]))})
	}
}

// states says in words how a member takes part.
var states = map[string]string{"leads": "leads", "follows": "follows", "no-leader": "knows no leader", "left": "has left the group",
	"receives-state": "gets the data anew", "may-lack-writes": "may lack writes, and does not vote"}

func (b *groupBody) group(g *report.Group) {
	leader := "none is known"
	most := 1.0
	for _, m := range g.Members {
		if m.Number == g.Leader {
			leader = m.Address
		}
		if m.Known {
			most = max(most, m.Lag)
		}
	}
	state := states[g.State]
	if state == "" {
		state = g.State
	}
	b.Facts = []fact{
		{"This member", count(g.Self), state},
		{"Leader", name(leader), ""},
		{"Term", count(g.Term), "grows with each election"},
		{"Voters", count(g.Voters), count(g.Quorum) + " have to agree"},
		{"Last entry", count(g.Last), count(max(0, g.Last-g.Committed)) + " not committed yet"},
		{"Level", count(g.Level), ""},
		{"Name", name(g.Name), name(g.ID)},
	}
	for _, m := range g.Members[:min(len(g.Members), maxGroupRows)] {
		row := memberRow{Number: count(m.Number), Address: name(m.Address), Name: name(m.Name), Role: m.Role, Link: m.Link, Lag: "–",
			Here: m.Number == g.Self, Ill: m.Link == "down"}
		if m.Known {
			row.Lag, row.Width = count(m.Lag), width(m.Lag/most)
			b.Lags = b.Lags || m.Number != g.Self
		}
		if m.Sent > 0 {
			row.Lag += ", " + size(m.Sent) + " sent anew"
		}
		b.Members = append(b.Members, row)
	}
}

// allSlots is how many slots there are.
const allSlots = 16384

func (b *groupBody) cluster(g *report.Group, f *figures) {
	n := func(field string) float64 { return report.Number(g.Cluster[field]) }
	b.Cluster = []fact{
		{"State", g.Cluster["cluster_state"], "by what this server knows"},
		{"Slots of a group", trim(n("cluster_slots_assigned"), 0), "of " + trim(allSlots, 0)},
		{"Slots that work", trim(n("cluster_slots_ok"), 0), trim(n("cluster_slots_fail"), 0) + " do not"},
		{"Groups with slots", count(n("cluster_size")), plural(n("cluster_known_nodes"), "server")},
	}
	names := map[string]string{} // addresses by IDs
	for _, s := range g.Shards {
		for _, node := range s.Nodes {
			names[node.ID] = node.Address
		}
	}
	for _, s := range g.Shards[:min(len(g.Shards), maxGroupRows)] {
		row := shardRow{Slots: printable(s.Ranges, 4*maxName), Count: strconv.Itoa(s.Slots), Width: width(float64(s.Slots) / allSlots)}
		for _, node := range s.Nodes[:min(len(s.Nodes), maxGroupRows)] {
			row.Nodes = append(row.Nodes, nodeState{Address: name(node.Address), Name: name(node.Name), Leads: node.Leads, Up: node.Up})
			row.Ill = row.Ill || node.Leads && !node.Up
		}
		b.Shards = append(b.Shards, row)
	}
	for _, m := range g.Moves[:min(len(g.Moves), maxGroupRows)] {
		of := func(id string) string {
			if address := names[id]; address != "" {
				return name(address)
			}
			return name(id)
		}
		b.Moves = append(b.Moves, moveRow{Slots: name(m.Ranges), State: m.State, From: of(m.Source), To: of(m.Target),
			Done: trim(m.Moved, 0) + " of " + trim(m.Slots, 0), Width: width(m.Moved / max(1, m.Slots)), Sent: count(m.Keys) + " keys, " + size(m.Bytes),
			Pause: micros(float64(m.Pause.Microseconds())), Message: printable(m.Message, maxSlowCommand), Updated: ago(f.At, m.Updated), Ill: m.State == "failed"})
	}
	var more []string
	if n := len(g.Shards) - len(b.Shards); n > 0 {
		more = append(more, count(float64(n))+" more groups")
	}
	if n := len(g.Moves) - len(b.Moves); n > 0 {
		more = append(more, count(float64(n))+" earlier moves")
	}
	if len(more) > 0 {
		b.More = strings.Join(more, " and ") + " are not shown."
	}
}
