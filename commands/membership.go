package commands

import (
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// Membership is what a member of a group of machines that hold the same data knows of the
// group at a moment. One member leads and takes changes; the others follow. It is not
// changed any more.
type Membership struct {
	Name    string        // by which Sentinel clients ask for the leader
	ID      string        // of the group, 40 hexadecimal digits
	Self    int           // index of this member in Members
	Leader  int           // index of the leader, or of the last one that was known; -1 for none
	Led     bool          // the leader is known
	Leads   bool          // this member leads
	Syncing bool          // this member may lack what it has acknowledged, and has no vote meanwhile
	Synced  bool          // members acknowledge what is on the device, not what is written
	Term    uint64        // number of the leadership
	Heard   time.Duration // how long ago a follower has heard the leader
	Last    uint64        // last entry of this member's log
	Commits uint64        // last entry that is known to be committed
	Gone    bool          // this member has left the group
	Level   uint64        // of the group, see persistence.NewestLevel
	// Received is how many bytes have come of the data that this member gets anew; 0: it gets none.
	Received int64
	Members  []Member // in the order of their numbers
	// Slots are those of the group, nil for all, and OtherShards the other groups of the cluster. Covered says that
	// all slots can be used, by what this member knows.
	Slots       *slots.Set
	OtherShards []Shard
	Covered     bool
}

// Shard is one of the groups among which the slots of a cluster are divided.
type Shard struct {
	ID      string // of the group, 40 hexadecimal digits
	Slots   *slots.Set
	Members []Member
	Leader  int  // index of the leader, or of the last one that was known; -1 for none
	Up      bool // the group was heard lately
	Term    uint64
}

// Shards returns all groups of the cluster, that of this member first.
func (m *Membership) Shards() []Shard {
	own := Shard{ID: m.ID, Slots: m.Slots, Members: m.Members, Leader: m.Leader, Up: m.Led && (m.Leads || m.Leader != m.Self), Term: m.Term}
	if own.Slots == nil {
		own.Slots = slots.All()
	}
	return append([]Shard{own}, m.OtherShards...)
}

// Other returns another group by its ID, nil if there is none.
func (m *Membership) Other(id string) *Shard {
	for i := range m.OtherShards {
		if m.OtherShards[i].ID == id {
			return &m.OtherShards[i]
		}
	}
	return nil
}

// Owner returns the other group that has a slot, nil if none has.
func (m *Membership) Owner(slot int) *Shard {
	for i := range m.OtherShards {
		if m.OtherShards[i].Slots.Has(slot) {
			return &m.OtherShards[i]
		}
	}
	return nil
}

// Member is one machine of a group. What others have is known to the leader alone.
type Member struct {
	Number uint64 // by which the group knows it, never used again
	ID     string // 40 hexadecimal digits
	Host   string
	Named  bool // Host is a name, not an address of IP
	Port   int
	Bus    int    // the port for other servers, 0 for the usual one
	Entry  uint64 // last entry that it has
	Record uint64 // last record of the leader's journal that it has
	Active bool   // it has replied lately
	// Learner says that it gets everything and does not vote, and Leaves that it votes only until the change
	// that is under way is made.
	Learner, Leaves bool
	Replica         bool  // a learner that clients are told of: it has what there was when it joined
	Sent            int64 // bytes that the leader has sent it of data that it gets anew; 0: it gets none
	// NewestLevel is the newest level that its version knows; 0: it was not heard.
	NewestLevel uint64
	// Hostname is a name that it announces beside Host, Nodename one for people, and Zone where it is; "" for none.
	Hostname, Nodename, Zone string
}

// Name is a name of its host, "" if it has none.
func (m *Member) Name() string {
	if m.Hostname == "" && m.Named {
		return m.Host
	}
	return m.Hostname
}

// Endpoint is which host clients are told of a member.
type Endpoint uint8

const (
	EndpointIP       Endpoint = iota // the host of its address
	EndpointHostname                 // its Name, "?" if it has none
	EndpointUnknown                  // none: clients use the host by which they have reached the server
)

// Endpoint returns the host that clients are told.
func (m *Member) Endpoint(e Endpoint) string {
	switch {
	case e == EndpointUnknown:
		return ""
	case e == EndpointHostname && m.Name() == "":
		return "?"
	case e == EndpointHostname:
		return m.Name()
	}
	return m.Host
}

// BusOffset is how much higher than that of clients the port for other servers is usually.
const BusOffset = 10000

// BusPort is the port for other servers.
func (m *Member) BusPort() int {
	if m.Bus == 0 {
		return m.Port + BusOffset
	}
	return m.Bus
}

// Address is the host, in brackets if it is one of IPv6, and the port; behind an @ the port for other servers, unless it is the
// usual one.
func (m *Member) Address() string {
	host := m.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	address := host + ":" + strconv.Itoa(m.Port)
	if m.BusPort() != m.Port+BusOffset {
		address += "@" + strconv.Itoa(m.Bus)
	}
	return address
}

// Voters is how many members vote.
func (m *Membership) Voters() (n int) {
	for i := range m.Members {
		if !m.Members[i].Learner {
			n++
		}
	}
	return n
}

// Quorum is how many members have to agree.
func (m *Membership) Quorum() int { return m.Voters()/2 + 1 }

// Master returns the member at Leader, an empty one if there is none.
func (m *Membership) Master() Member {
	if m.Leader < 0 {
		return Member{}
	}
	return m.Members[m.Leader]
}

// Hidden reports that clients are not told of a member: it may have nothing yet.
func (m *Member) Hidden() bool { return m.Learner && !m.Replica }

// Others calls f with every member that clients are told of, but one.
func (m *Membership) Others(than int, f func(i int, o *Member)) {
	for i := range m.Members {
		if i != than && !m.Members[i].Hidden() {
			f(i, &m.Members[i])
		}
	}
}

// Up reports whether this member hears another one: a leader has the
// replies of the others, and a follower hears its leader or not.
func (m *Membership) Up(i int) bool {
	switch {
	case i == m.Self:
		return true
	case m.Leads:
		return m.Members[i].Active
	case i == m.Leader:
		return m.Led
	}
	return true
}

// Grouped is a host that may be a member of a group.
type Grouped interface {
	// Membership is what this server knows of its group, nil if it is alone.
	Membership() *Membership
}

// Membership is what the server knows of its group, nil if it is alone.
func (c *Ctx) Membership() *Membership { return c.Host.(Grouped).Membership() }
