package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

// Group is what a member knows of the machines that hold the same data, and of the other groups of its cluster.
type Group struct {
	Name, ID string
	State    string // how this member takes part: leads, follows, no-leader and others, as VIGIL.CLUSTER STATUS says it
	Self     float64
	Leader   float64 // 0: none is known
	// Term is the number of the leadership, and Last and Committed are entries of the log.
	Term, Level, Last, Committed, Voters, Quorum float64
	Members                                      []Member
	Cluster                                      map[string]string // CLUSTER INFO, nil if slots are not divided
	Shards                                       []Shard           // in which view this group is the first
	Moves                                        []Move            // the last one first
}

// Member is one machine of the group.
type Member struct {
	Number                        float64
	ID, Address, Name, Role, Link string
	Known                         bool    // what it has: only the leader knows that of the others
	Entry, Lag                    float64 // its last entry, and how many it lacks
	Sent                          float64 // bytes of data that it gets anew
}

// Shard is one of the groups among which slots are divided.
type Shard struct {
	Ranges string // of slots, as 0-5460
	Slots  int
	Nodes  []Node
}

// Node is a server of a shard.
type Node struct {
	ID, Address, Name string
	Leads, Up         bool
}

// Move is slots on their way to another group.
type Move struct {
	Name, Ranges, State, Message string
	Source, Target               string // IDs of nodes
	Slots, Moved, Keys, Bytes    float64
	Pause                        time.Duration // the longest in which writes of these slots waited
	Created, Updated             time.Time
}

// Group is the group of the server, nil if it is alone.
func (s *Source) Group() (*Group, error) {
	if s.inside.Role() == door.RoleAlone {
		return nil, nil
	}
	return s.group.Get(s.now(), func() (*Group, error) {
		f, err := s.Current()
		if err != nil {
			return nil, err
		}
		return s.askGroup(f.Number("cluster_enabled") == 1)
	})
}

// askGroup asks for what Group returns, with the other groups if slots are divided.
func (s *Source) askGroup(divided bool) (*Group, error) {
	calls := []Call{{"VIGIL.CLUSTER", "STATUS"}}
	if divided {
		calls = append(calls, Call{"CLUSTER", "INFO"}, Call{"CLUSTER", "SHARDS"}, Call{"CLUSTER", "GETSLOTMIGRATIONS"})
	}
	answers, err := s.Observer.Ask(AnswerTime, 0, calls...)
	if err != nil {
		return nil, err
	}
	if err := answers[0].Err(); err != nil {
		return nil, err
	}
	g := readGroup(answers[0].Pairs())
	if divided {
		g.Cluster = readFields(answers[1].String())
		for _, e := range answers[2].List() {
			g.Shards = append(g.Shards, readShard(e.Pairs()))
		}
		for _, e := range answers[3].List() {
			g.Moves = append(g.Moves, readMove(e.Pairs()))
		}
	}
	return g, nil
}

func readFields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			all[name] = value
		}
	}
	return all
}

func readGroup(v map[string]Answer) *Group {
	n := func(name string) float64 { return Number(v[name].String()) }
	g := &Group{Name: v["name"].String(), ID: v["group"].String(), State: v["state"].String(), Self: n("self"), Leader: n("leader"), Term: n("term"),
		Level: n("level"), Last: n("last-entry"), Committed: n("committed-entry"), Voters: n("voters"), Quorum: n("quorum")}
	for _, e := range v["members"].List() {
		f := e.Pairs()
		m := Member{Number: Number(f["member"].String()), ID: f["id"].String(), Address: f["address"].String(), Name: f["nodename"].String(),
			Role: f["role"].String(), Link: f["link"].String(), Entry: Number(f["entry"].String()), Lag: Number(f["lag"].String()),
			Sent: Number(f["state-bytes-sent"].String())}
		_, m.Known = f["lag"]
		if m.Number == g.Self { // which knows what it has itself, and hears from its leader what is committed
			m.Known, m.Entry, m.Lag = true, g.Last, max(0, g.Committed-g.Last)
		}
		g.Members = append(g.Members, m)
	}
	return g
}

func readShard(v map[string]Answer) (s Shard) {
	var ranges []string
	for list := v["slots"].List(); len(list) > 1; list = list[2:] {
		first, last := list[0].Int(), list[1].Int()
		s.Slots += int(last - first + 1)
		text := strconv.FormatInt(first, 10)
		if last > first {
			text += "-" + strconv.FormatInt(last, 10)
		}
		ranges = append(ranges, text)
	}
	s.Ranges = strings.Join(ranges, " ")
	for _, e := range v["nodes"].List() {
		f := e.Pairs()
		host := f["ip"].String()
		if host == "" {
			host = f["hostname"].String()
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		s.Nodes = append(s.Nodes, Node{ID: f["id"].String(), Address: host + ":" + f["port"].String(), Name: f["hostname"].String(),
			Leads: f["role"].String() == "master", Up: f["health"].String() == "online"})
	}
	return s
}

func readMove(v map[string]Answer) Move {
	n := func(name string) float64 { return Number(v[name].String()) }
	return Move{Name: v["name"].String(), Ranges: v["slot_ranges"].String(), State: v["state"].String(), Message: v["message"].String(),
		Source: v["source_node"].String(), Target: v["target_node"].String(), Slots: n("slots"), Moved: n("slots_moved"), Keys: n("keys_sent"),
		Bytes: n("bytes_sent"), Pause: time.Duration(n("longest_pause_ms")) * time.Millisecond,
		Created: time.Unix(v["create_time"].Int(), 0), Updated: time.Unix(v["last_update_time"].Int(), 0)}
}
