package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// Members ask the leader for what concerns themselves by requests of the mesh. Any member
// takes one, and says who leads if it does not.

// What is asked for.
const (
	asksJoin    = "join"    // a server becomes a member; Address, and Member if it has a wish
	asksMove    = "move"    // a member is at another Address
	asksPromote = "promote" // a learner that has caught up becomes a voter, perhaps in place of another one
	asksLeave   = "leave"   // a member leaves
	asksExpel   = "expel"   // a server of the cluster was told to forget the member that Leaves
	asksLeader  = "lead"    // whether the group has a leader, which says so
	asksCommon  = "begin"   // what a new store has to have in common with those of the group, which any member knows
	asksNews    = "hear"    // a member that hears no leader asks anybody whether it still is a member
)

// request is what a server asks for.
type request struct {
	What     string
	Member   uint64 `json:",omitempty"`
	Address  string `json:",omitempty"`
	Replaces uint64 `json:",omitempty"`
	Leaves   uint64 `json:",omitempty"`
	Unheard  bool   `json:",omitempty"` // the member that Leaves has to be one that has never come up
	// Hashes and Databases are of the store of a server that joins; none are of a version that tells nothing.
	Hashes    []byte `json:",omitempty"`
	Databases int    `json:",omitempty"`
	Level     uint64 `json:",omitempty"` // the newest one that a server knows which joins; 0 for one of a version that tells nothing
}

// reply is what it is told.
type reply struct {
	Error   string            `json:",omitempty"`
	Again   bool              `json:",omitempty"` // the same request may be taken later
	Doubt   bool              `json:",omitempty"` // if it stays so for long there is no use in asking
	Gone    bool              `json:",omitempty"` // the member that asks has left the group
	Leader  string            `json:",omitempty"` // address of the leader, for a request that it alone takes
	Member  uint64            `json:",omitempty"` // the id of a server that has joined
	Members map[uint64]string `json:",omitempty"` // addresses

	Secret    []byte `json:",omitempty"` // of the hashes of all stores of the group
	Databases int    `json:",omitempty"` // that they have
}

// respond implements mesh.Config.Respond.
func (n *Node) respond(ctx context.Context, b []byte) []byte {
	var q request
	a := &reply{Error: "the request does not decode"}
	if json.Unmarshal(b, &q) == nil {
		a = n.serveRequest(ctx, &q)
	}
	out, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return out
}

func (n *Node) serveRequest(ctx context.Context, q *request) *reply {
	r := n.runner.Load()
	if r == nil {
		return &reply{Error: "the member is starting", Again: true}
	}
	if n.gone.Load() {
		return &reply{Error: raftnode.ErrGone.Error()}
	}
	if q.Member != 0 && slices.Contains(n.roster().Left, q.Member) {
		return &reply{Error: fmt.Sprintf("member %d has left the group", q.Member), Gone: true}
	}
	v := r.View()
	switch {
	case q.What == asksNews:
		return &reply{}
	case q.What == asksCommon:
		return &reply{Secret: n.common.secret[:], Databases: n.common.databases}
	case !v.Leads:
		return n.refer(v)
	}
	a := &reply{Member: q.Member}
	var err error
	switch q.What {
	case asksLeader:
	case asksJoin:
		if err = n.common.admits(q, n.config.Secret); err == nil {
			a.Member, err = r.Join(ctx, q.Member, q.Address, max(q.Level, persistence.LevelUntold))
			a.Members = n.addresses()
		}
	case asksMove:
		err = r.Move(ctx, q.Member, q.Address)
	case asksPromote:
		err = r.Promote(ctx, q.Member, q.Replaces)
	case asksLeave:
		err = r.Leave(ctx, q.Member, false)
		a.Gone = err == nil // it may be the last time that it is told: a leader that is alone may leave, too
	case asksExpel:
		switch {
		case slices.Contains(n.roster().Left, q.Leaves):
		case q.Unheard && v.Heard(q.Leaves):
			err = fmt.Errorf("cluster: member %d has come up", q.Leaves)
		default:
			err = r.Leave(ctx, q.Leaves, false)
		}
	default:
		err = fmt.Errorf("cluster: %q cannot be asked for", q.What)
	}
	if err != nil {
		a = &reply{Error: err.Error(), Again: raftnode.Transient(err), Doubt: errors.Is(err, raftnode.ErrStillThere)}
	}
	return a
}

// refer names the leader, if it is known.
func (n *Node) refer(v *raftnode.View) *reply {
	if address := n.address(v.Leader); v.Leader != 0 && address != "" {
		return &reply{Error: fmt.Sprintf("member %d at %s leads", v.Leader, address), Again: true, Leader: address}
	}
	return &reply{Error: "the group has no leader now", Again: true}
}

// refusedRequest is an error that asking again does not mend.
type refusedRequest struct{ text string }

func (e refusedRequest) Error() string { return e.text }

// doubted is one that is final when it stays so for long.
type doubted struct{ text string }

func (e doubted) Error() string { return e.text }

// asker sends requests.
type asker interface {
	Ask(ctx context.Context, address string, to uint64, request []byte) ([]byte, error)
}

// ask finds the leader through some addresses of clients, and sends it a request once. The error is a refusedRequest if
// there is no use in asking again.
func ask(ctx context.Context, m asker, addresses []string, q *request) (a *reply, err error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for todo := slices.Clone(addresses); len(todo) > 0; todo = todo[1:] {
		address := todo[0]
		bus, e := topology.BusOf(address)
		if e != nil || asked[address] {
			err = errors.Join(err, e)
			continue
		}
		asked[address] = true
		out, e := m.Ask(ctx, bus, 0, b)
		a = &reply{}
		if e == nil {
			e = json.Unmarshal(out, a)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case e != nil:
			err = fmt.Errorf("%s: %w", bus, e)
		case a.Error == "", a.Gone:
			return a, nil
		case a.Leader != "" && !asked[a.Leader]:
			todo = append([]string{"", a.Leader}, todo[1:]...)
			err = errors.New(a.Error)
		case !a.Again:
			return nil, refusedRequest{a.Error}
		case a.Doubt:
			return nil, doubted{a.Error}
		default:
			err = errors.New(a.Error)
		}
	}
	if err == nil {
		err = errors.New("there is nobody to ask")
	}
	return nil, err
}

// Between attempts to be heard there are pauses, each twice as long as the one before.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// insist asks as a member of a group, at addresses that it looks up each time, until there is a reply that is final, or ctx
// ends. Why it has to wait is logged when that changes. patience is how long a request may be doubted.
func (n *Node) insist(ctx context.Context, self *topology.Identity, addresses func() []string, q *request, patience time.Duration) (*reply, error) {
	m := n.visitor(self)
	defer m.Close()
	last, since := "", time.Duration(0) // of the doubt; 0 without one
	for delay := firstPause; ; delay = min(2*delay, lastPause) {
		a, err := ask(ctx, m, addresses(), q)
		var refused refusedRequest
		var doubt doubted
		if !errors.As(err, &doubt) {
			since = 0
		} else if since == 0 {
			since = n.monotonic()
		}
		switch {
		case err == nil && a.Gone:
			return nil, fmt.Errorf("cluster: %s: this directory cannot come back, a new one can join", a.Error)
		case err == nil:
			return a, nil
		}
		final := ctx.Err() != nil || errors.As(err, &refused) || fatalToServer(err) || since != 0 && n.monotonic()-since > patience
		if text := err.Error(); !final && text != last {
			last = text
			n.config.Logf(logs.Notice, "waits until it may %s: %v", q.What, err)
		}
		if final || n.rest(ctx, delay) != nil {
			return nil, fmt.Errorf("cluster: the group does not let this server %s: %w", q.What, err)
		}
	}
}

// join asks a group, at addresses that it looks up each time, to take this server in, and notes which member it is then. id is a
// wish, 0 for any.
func (n *Node) join(ctx context.Context, self *topology.Identity, addresses func() []string, id uint64) error {
	a, err := n.insist(ctx, self, addresses, &request{What: asksJoin, Member: id, Address: self.Address, Level: n.newest,
		Hashes: n.common.id(), Databases: n.common.databases}, 0)
	if err == nil && (a.Member == 0 || len(a.Members) == 0) {
		err = errors.New("cluster: the group has taken the server in without an id")
	}
	if err == nil {
		self.Member, self.Known = a.Member, a.Members
	}
	return err
}
