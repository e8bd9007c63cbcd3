package report

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// leader is a group of three as its first member sees it, which leads: the third one is not heard.
func leader() *commands.Membership {
	m := &commands.Membership{Name: "mymaster", ID: strings.Repeat("f", 40), Term: 7, Led: true, Leads: true, Last: 40, Commits: 39, Level: 3}
	for i, host := range []string{"10.0.0.1", "10.0.0.2", "::1"} {
		m.Members = append(m.Members, commands.Member{Number: uint64(i + 1), ID: strings.Repeat(string(rune('a'+i)), 40), Host: host, Port: 7001 + i})
	}
	m.Members[1].Active, m.Members[1].Entry, m.Members[1].Nodename = true, 38, "second"
	m.Members[2].Learner, m.Members[2].Entry, m.Members[2].Sent = true, 10, 500
	return m
}

func sourceIn(t *testing.T, m *commands.Membership) *Source {
	t.Helper()
	config, err := conf.Load([]string{"--appendfsync", "always"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := server.Options{InMemory: true, Config: config}
	o.Membership = func() *commands.Membership { return m }
	srv, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	return NewSource(srv, "looker", time.Now)
}

func TestLeaderKnowsWhatOthersLack(t *testing.T) {
	g, err := sourceIn(t, leader()).askGroup(false)
	if err != nil {
		t.Fatal(err)
	}
	if g.State != "leads" || g.Term != 7 || g.Leader != 1 || g.Self != 1 || g.Last != 40 || g.Committed != 39 || g.Voters != 2 || g.Quorum != 2 {
		t.Errorf("the group is %+v", g)
	}
	for i, want := range []Member{{Number: 1, Address: "10.0.0.1:7001", Role: "leader", Link: "self", Known: true, Entry: 40},
		{Number: 2, Address: "10.0.0.2:7002", Name: "second", Role: "voter", Link: "up", Known: true, Entry: 38, Lag: 2},
		{Number: 3, Address: "[::1]:7003", Role: "learner", Link: "down", Known: true, Entry: 10, Lag: 30, Sent: 500}} {
		want.ID = strings.Repeat(string(rune('a'+i)), 40)
		if g.Members[i] != want {
			t.Errorf("member %d: got %+v, want %+v", i+1, g.Members[i], want)
		}
	}
}

func TestFollowerDoesNotGuessWhatOthersLack(t *testing.T) {
	m := leader()
	m.Leads, m.Leader, m.Self = false, 1, 0
	g, err := sourceIn(t, m).askGroup(false)
	if err != nil {
		t.Fatal(err)
	}
	if g.State != "follows" || g.Leader != 2 {
		t.Errorf("the group is %+v", g)
	}
	for i, known := range []bool{true, false, false} {
		if g.Members[i].Known != known {
			t.Errorf("member %d: what it has is known: %v", i+1, g.Members[i].Known)
		}
	}
	if got := []string{g.Members[1].Link, g.Members[2].Link}; got[0] != "up" || got[1] != "unknown" {
		t.Errorf("links: got %v", got)
	}
}

// gathered are the values of what a function puts, by name and labels.
func gathered(t *testing.T, puts func(s sink)) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(putter(puts))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			all[name] = m.Gauge.GetValue()
		}
	}
	return all
}

// putter is a collector of what a function puts.
type putter func(s sink)

func (p putter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range groupDescs() {
		ch <- d
	}
}
func (p putter) Collect(ch chan<- prometheus.Metric) { p(ch) }

func TestMetricsOfAGroup(t *testing.T) {
	g, err := sourceIn(t, leader()).askGroup(false)
	if err != nil {
		t.Fatal(err)
	}
	got := gathered(t, func(s sink) { s.group(g) })
	for name, want := range map[string]float64{"vigil_group_term": 7, "vigil_group_leader_known": 1, "vigil_group_last_entry": 40,
		"vigil_group_member_up 10.0.0.2:7002 2": 1, "vigil_group_member_up [::1]:7003 3": 0, "vigil_group_member_lag_entries [::1]:7003 3": 30,
		"vigil_group_member_lag_entries 10.0.0.1:7001 1": 0, "vigil_group_member_state_sent_bytes [::1]:7003 3": 500, "vigil_group_voters 2": 0,
		"vigil_group_member_info 10.0.0.2:7002 up 2 voter": 1} {
		if name == "vigil_group_voters 2" {
			name, want = "vigil_group_voters", 2
		}
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s: got %v (%v), want %v", name, v, ok, want)
		}
	}
	if _, ok := got["vigil_cluster_groups"]; ok {
		t.Error("a group that is no cluster has metrics of one")
	}
	if all := gathered(t, func(s sink) { s.group(nil) }); len(all) != 0 {
		t.Errorf("a server that is alone has metrics of a group: %v", all)
	}
}

func TestMetricsOfACluster(t *testing.T) {
	g := &Group{Cluster: map[string]string{"cluster_state": "ok", "cluster_slots_assigned": "16384", "cluster_size": "2"},
		Shards: []Shard{{Slots: 10000, Nodes: []Node{{ID: "a", Address: "h:1", Leads: true, Up: true}, {ID: "b", Address: "h:2"}}},
			{Slots: 6384, Nodes: []Node{{ID: "c", Address: "h:3", Leads: true}}}},
		Moves: []Move{{State: "moving", Slots: 10, Moved: 4}, {State: "waiting", Slots: 5}, {State: "success", Slots: 3, Moved: 3}}}
	got := gathered(t, func(s sink) { s.group(g) })
	for name, want := range map[string]float64{"redis_cluster_state": 1, "redis_cluster_slots_assigned": 16384, "redis_cluster_size": 2, "vigil_cluster_groups": 2,
		"vigil_cluster_group_up h:1 a": 1, "vigil_cluster_group_up h:3 c": 0, "vigil_cluster_group_slots h:3 c": 6384, "vigil_cluster_moves moving": 1,
		"vigil_cluster_moves failed": 0, "vigil_cluster_moves success": 1, "vigil_cluster_moving_slots": 11} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s: got %v (%v), want %v", name, v, ok, want)
		}
	}
}

// Replicas say themselves where they are: whatever they say, there are metrics.
func TestReplicasThatLieDoNotEndAScrape(t *testing.T) {
	f := &Figures{Info: map[string]string{"master_host": "10.0.0.9", "master_port": "6379", "master_link_status": "up", "master_last_io_seconds_ago": "3"}}
	for _, ip := range []string{"10.0.0.1", "10.0.0.1", "a\xff\"\n"} {
		f.Replicas = append(f.Replicas, map[string]string{"ip": ip, "port": "1", "state": "online", "offset": "5", "lag": "1"})
	}
	got := gathered(t, func(s sink) { s.replication(f) })
	if len(got) != 2*2+3 || got["redis_master_link_up 10.0.0.9 6379"] != 1 || got["redis_connected_slave_offset_bytes 10.0.0.1 1 online"] != 5 {
		t.Errorf("got %v", got)
	}
}
