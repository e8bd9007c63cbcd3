package window

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
	"github.com/vigildb/vigil/server/membership/membershiptest"
)

func TestGroupPageOfAServerThatIsAlone(t *testing.T) {
	r := newRig(t)
	before := r.calls("vigil.cluster|status")
	wants(t, "the page", r.get("/group"), "This server is in no group")
	if r.calls("vigil.cluster|status") != before {
		t.Error("it was asked for a group that it has not: that counts as an error")
	}
}

// render makes the page of what a member knows.
func render(t *testing.T, b *groupBody) string {
	t.Helper()
	var out bytes.Buffer
	if err := pageTemplate("group").ExecuteTemplate(&out, "content", b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGroupPageShowsMembersSlotsAndMoves(t *testing.T) {
	bad := `<script>alert(1)</script>`
	g := &report.Group{Name: bad, ID: "f", State: "leads", Self: 1, Leader: 1, Term: 7, Last: 1000, Committed: 990, Voters: 3, Quorum: 2,
		Members: []report.Member{{Number: 1, Address: "10.0.0.1:7001", Role: "leader", Link: "self", Known: true},
			{Number: 2, Address: "10.0.0.2:7002", Name: bad, Role: "voter", Link: "up", Known: true, Lag: 20},
			{Number: 3, Address: "10.0.0.3:7003", Role: "learner", Link: "down", Known: true, Lag: 900, Sent: 5 << 20}},
		Cluster: map[string]string{"cluster_state": "ok", "cluster_slots_assigned": "16384", "cluster_slots_ok": "10000", "cluster_slots_fail": "6384", "cluster_size": "2"},
		Shards: []report.Shard{{Ranges: "0-9999", Slots: 10000, Nodes: []report.Node{{ID: "a", Address: "10.0.0.1:7001", Leads: true, Up: true}}},
			{Ranges: "10000-16383", Slots: 6384, Nodes: []report.Node{{ID: "b", Address: "10.0.0.9:7009", Leads: true, Name: bad}}}},
		Moves: []report.Move{{Ranges: "5-9", State: "moving", Source: "a", Target: "b", Slots: 5, Moved: 2, Keys: 1234, Bytes: 1 << 20, Pause: 12 * time.Millisecond},
			{Ranges: "1-2", State: "failed", Message: bad, Target: "gone", Slots: 2}}}
	b := &groupBody{}
	b.group(g)
	b.cluster(g, &figures{At: time.Now()})
	page := render(t, b)
	wants(t, "the page", page, "leads", "<dd>7 ", "10 not committed yet", `class="pill ill">down`, ">900, 5 MiB sent anew<", "10.0.0.9:7009", "6384 do not",
		`class="pill ill"><code>10.0.0.9:7009</code>`, "2 of 5", "1.23k keys, 1 MiB", "12 ms", `class="pill ill">failed`, "Entries of the log that a member lacks")
	if strings.Contains(page, bad) {
		t.Error("what others have announced is not escaped")
	}
}

func TestGroupPageIsBounded(t *testing.T) {
	g := &report.Group{Cluster: map[string]string{}}
	for range 1000 {
		g.Members = append(g.Members, report.Member{})
		g.Shards = append(g.Shards, report.Shard{Ranges: strings.Repeat("1 ", 8000)})
		g.Moves = append(g.Moves, report.Move{Message: strings.Repeat("x", 10_000)})
	}
	b := &groupBody{}
	b.group(g)
	b.cluster(g, &figures{At: time.Now()})
	if page := render(t, b); len(page) > 300_000 || !strings.Contains(page, "936 more groups and 936 earlier moves are not shown.") {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// newGroupRig is a rig whose server is a group by itself, on the disk, that has all slots.
func newGroupRig(t *testing.T) *rig {
	t.Helper()
	srv, config := membershiptest.Alone(t, "--slowlog-log-slower-than", "0")
	return rigOf(t, srv, config)
}

func TestGroupOfOneIsShownAndMeasured(t *testing.T) {
	r := newGroupRig(t)
	page := r.get("/group")
	wants(t, "the page", page, "<h2>Members</h2>", "leads", "<h2>Slots</h2>", "0-16383", "of 16384", "This group moves none.")
	families := parse(t, r.get("/metrics"))
	for name, want := range map[string]float64{"vigil_group_leader_known": 1, "vigil_group_voters": 1, "vigil_group_quorum": 1, "vigil_cluster_groups": 1,
		"vigil_cluster_group_slots": 16384, "vigil_cluster_group_up": 1, "redis_cluster_state": 1, "redis_cluster_slots_ok": 16384, "vigil_cluster_moving_slots": 0,
		"vigil_group_member_up": 1, "vigil_group_member_lag_entries": 0} {
		if got := value(families, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got := value(families, "vigil_group_term"); got < 1 {
		t.Errorf("the term is %v", got)
	}
	for _, path := range everything {
		if status, page := r.ask(request(path)); status >= 500 {
			t.Errorf("%s in a group: status %d: %.300s", path, status, page)
		}
	}
	wants(t, "a key in a cluster", r.get("/key?key=k"), "<pre>v</pre>")
	r.must("ACL SETUSER reader on >pw ~* +@read +info +scan")
	r.must("CONFIG SET requirepass pw")
	if status, _ := r.fetch("/group", "reader"); status != 403 {
		t.Errorf("the page for a user who may not see it: status %d, want 403", status)
	}
}
