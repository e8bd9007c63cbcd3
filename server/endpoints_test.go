package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// Clients are told of the address of a node, of its name, or of neither, as cluster-preferred-endpoint-type says.
func TestClientsAreToldTheEndpointThatIsPreferred(t *testing.T) {
	id := strings.Repeat("c", 40)
	for _, x := range []struct {
		preferred, host, announced string
		named                      bool
		moved, slots, rest         string // the host of -MOVED and of CLUSTER SLOTS, and what that adds
		ip, endpoint, name         string // of CLUSTER SHARDS
	}{
		{"ip", "10.0.1.2", "", false, "10.0.1.2", `"10.0.1.2"`, `[]`, "10.0.1.2", "10.0.1.2", ""},
		{"ip", "10.0.1.2", "a.example", false, "10.0.1.2", `"10.0.1.2"`, `["hostname" "a.example"]`, "10.0.1.2", "10.0.1.2", "a.example"},
		{"ip", "node.example", "", true, "node.example", `"node.example"`, `[]`, "", "node.example", "node.example"},
		{"ip", "node.example", "a.example", true, "node.example", `"node.example"`, `["hostname" "a.example"]`, "", "node.example", "a.example"},
		{"hostname", "10.0.1.2", "", false, "?", `"?"`, `["ip" "10.0.1.2"]`, "10.0.1.2", "?", ""},
		{"hostname", "10.0.1.2", "a.example", false, "a.example", `"a.example"`, `["ip" "10.0.1.2"]`, "10.0.1.2", "a.example", "a.example"},
		{"hostname", "node.example", "", true, "node.example", `"node.example"`, `[]`, "", "node.example", "node.example"},
		{"hostname", "node.example", "a.example", true, "a.example", `"a.example"`, `[]`, "", "a.example", "a.example"},
		{"unknown-endpoint", "10.0.1.2", "", false, "", `(nil)`, `["ip" "10.0.1.2"]`, "10.0.1.2", "", ""},
		{"unknown-endpoint", "10.0.1.2", "a.example", false, "", `(nil)`, `["ip" "10.0.1.2" "hostname" "a.example"]`, "10.0.1.2", "", "a.example"},
		{"unknown-endpoint", "node.example", "", true, "", `(nil)`, `["hostname" "node.example"]`, "", "", "node.example"},
	} {
		t.Run(x.preferred+" "+x.host+" "+x.announced, func(t *testing.T) {
			r := newShardsRig(t)
			r.know(func(m *commands.Membership) {
				m.OtherShards = append([]commands.Shard(nil), m.OtherShards...)
				for i, s := range m.OtherShards {
					if s.Leader >= 0 && s.Members[s.Leader].ID == id {
						s.Members = append([]commands.Member(nil), s.Members...)
						s.Members[s.Leader].Host, s.Members[s.Leader].Named, s.Members[s.Leader].Hostname = x.host, x.named, x.announced
						m.OtherShards[i] = s
					}
				}
			})
			c := r.dial()
			c.want("CONFIG SET cluster-preferred-endpoint-type "+x.preferred, "OK")
			c.want("GET a", fmt.Sprintf("(error) MOVED 15495 %s:7000", x.moved))
			if got, want := c.do("CLUSTER", "SLOTS"), fmt.Sprintf("[(int) 8001 (int) 16000 [%s (int) 7000 %q %s]", x.slots, id, x.rest); !strings.Contains(got, want) {
				t.Errorf("CLUSTER SLOTS: %s lacks %s", got, want)
			}
			name, line := "", id+" "+x.host+":7000@17000 "
			if x.name != "" {
				name, line = fmt.Sprintf(` "hostname" %q`, x.name), id+" "+x.host+":7000@17000,"+x.name+" "
			}
			if got, want := c.do("CLUSTER", "SHARDS"), fmt.Sprintf(`["id" %q "port" (int) 7000 "ip" %q "endpoint" %q%s "role"`, id, x.ip, x.endpoint, name); !strings.Contains(got, want) {
				t.Errorf("CLUSTER SHARDS: %s lacks %s", got, want)
			}
			if got := c.do("CLUSTER", "NODES"); !strings.Contains(got, line) {
				t.Errorf("CLUSTER NODES: %s lacks %s", got, line)
			}
		})
	}
}

// The zone that a node has announced stands behind its names in CLUSTER SLOTS, and at the end of it in CLUSTER SHARDS.
func TestClientsAreToldTheZones(t *testing.T) {
	r := newShardsRig(t)
	r.know(func(m *commands.Membership) {
		m.OtherShards = append([]commands.Shard(nil), m.OtherShards...)
		for i, s := range m.OtherShards {
			s.Members = append([]commands.Member(nil), s.Members...)
			for j := range s.Members {
				s.Members[j].Zone = fmt.Sprint("zone", i)
			}
			m.OtherShards[i] = s
		}
	})
	c := r.dial()
	for _, subcommand := range []string{"SLOTS", "SHARDS"} {
		if got := c.do("CLUSTER", subcommand); !strings.Contains(got, `"availability-zone" "zone0"]`) {
			t.Errorf("CLUSTER %s: %s", subcommand, got)
		}
	}
	for _, line := range strings.Split(c.do("CLUSTER", "NODES"), "\n") {
		if strings.Contains(line, "zone0") {
			t.Errorf("CLUSTER NODES: %s", line)
		}
	}
}
