package migrate

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

// The leaders of two groups speak of a move by requests of the mesh of the groups. One begins with a byte that no
// gossip (AppendGossip) begins with: '{' is a moveRequest in JSON; 'K' has keys behind it:
//
//	'K' | name of the group that sends (a text) | attempt (uvarint) | keys, as the servers of both groups know them
//
// The reply to both is a moveReply in JSON.
const keysRequest = 'K'

// MaxKeys is how many bytes of keys a request has at most: a value is in one of them.
const MaxKeys = raftnode.MaxEntry

// What is asked for in a move.
const (
	asksExpect   = "expect"   // the group that has slots: expect keys of Slots, which come as Attempt
	asksComplete = "complete" // the same: all keys have been sent
	asksTake     = "take"     // the same: the slots are given away
	asksHow      = "how"      // the group that gets slots: how is the attempt?
	asksMoveOff  = "move"     // any group: move Slots to the group with the name To
)

// moveRequest is what a leader asks for.
type moveRequest struct {
	What    string
	Group   string // the sender's
	Attempt uint64
	To      string `json:",omitempty"`
	Slots   string `json:",omitempty"`
	Gossip  []byte `json:"Letter,omitempty"` // what the sender knows of all groups
}

// States of an attempt at the group that has the slots, and at the one that gets them.
const (
	attemptRuns    = "runs"
	attemptGiven   = "given"
	attemptUnknown = "unknown" // it has ended, and the slots were not and will not be given away
	attemptTaken   = "taken"   // the other group has the slots
)

// moveReply is what it is told.
type moveReply struct {
	Error  string `json:",omitempty"`
	Again  bool   `json:",omitempty"` // the same request may be taken later
	Leader string `json:",omitempty"` // address of the leader, which alone takes the request
	State  string `json:",omitempty"`
	Gossip []byte `json:"Letter,omitempty"`
	// Databases is how many databases keys may come for, as a reply to asksExpect: none is 1, as servers before several say it.
	Databases int `json:",omitempty"`
}

// retryable is an error of a request that may be taken later.
type retryable struct{ error }

func (e retryable) Unwrap() error { return e.error }

// errBusyHere is returned for what waits for something else that is under way.
var errBusyHere = errors.New("cluster: the group is busy with an earlier move")

// refusal makes a reply of an error.
func refusalOfMove(err error) *moveReply {
	var again retryable
	return &moveReply{Error: err.Error(), Again: raftnode.Transient(err) || errors.As(err, &again)}
}

// Respond returns the reply to a request about a move, nil for what is none.
func (o *Slots) Respond(ctx context.Context, b []byte) []byte {
	var q moveRequest
	a := &moveReply{Error: "the request does not decode"}
	switch {
	case len(b) == 0:
		return nil
	case b[0] == keysRequest:
		d := topology.Decoder{Rest: b[1:]}
		if q.Group, q.Attempt = d.Text(topology.MaxGroupName), d.Number(); d.Err == nil {
			a = o.lead(func() (string, error) { return "", o.keysCome(ctx, q.Group, q.Attempt, d.Rest) })
		}
	case b[0] == '{':
		if json.Unmarshal(b, &q) == nil {
			a = o.lead(func() (string, error) { return o.serveMove(ctx, &q) })
		}
	default:
		return nil
	}
	switch {
	case a.Error != "":
	case q.What == asksHow:
		a.Gossip = o.cluster.Gossip()
	case q.What == asksExpect && o.opts.Databases != nil:
		if n := o.opts.Databases(); n > 1 {
			a.Databases = n
		}
	}
	out, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return out
}

// lead does what the leader of the group does, and names the leader if this server is another member.
func (o *Slots) lead(do func() (string, error)) *moveReply {
	if why, leader := o.opts.Refer(); why != "" {
		return &moveReply{Error: why, Again: true, Leader: leader}
	}
	state, err := do()
	if err != nil {
		return refusalOfMove(err)
	}
	return &moveReply{State: state}
}

func (o *Slots) serveMove(ctx context.Context, q *moveRequest) (state string, err error) {
	if len(q.Gossip) > 0 {
		if err := o.cluster.Take(q.Gossip); err != nil {
			return "", err
		}
	}
	switch q.What {
	case asksExpect:
		of, err := slots.Parse(q.Slots)
		if err != nil || of.Len() == 0 || q.Attempt == 0 {
			return "", topology.ErrDecode
		}
		if o.cluster.Removed(q.Group) {
			return "", topology.ErrRemoved
		}
		return "", o.expect(ctx, topology.Move{Attempt: q.Attempt, Group: q.Group, Slots: of})
	case asksComplete:
		return "", o.complete(ctx, q.Group, q.Attempt)
	case asksTake:
		return o.takeGiven(ctx, q)
	case asksHow:
		return o.attempt(q.Group, q.Attempt)
	case asksMoveOff:
		of, err := slots.Parse(q.Slots)
		if err != nil || of.Len() == 0 {
			return "", topology.ErrDecode
		}
		return "", o.opts.OrderMove(topology.GroupPublicID(o.opts.Secret, q.To), of)
	}
	return "", fmt.Errorf("cluster: %q cannot be asked for", q.What)
}

// askGroup sends a request to the leader of another group. The error is retryable if the same request may be taken later.
// With once it is not sent again when it may have come.
func (o *Slots) askGroup(ctx context.Context, name string, request []byte, once bool) (*moveReply, error) {
	if o.cluster.Removed(name) {
		return nil, fmt.Errorf("%s: %w", o.cluster.Label(name), topology.ErrRemoved)
	}
	err := error(retryable{fmt.Errorf("cluster: %s is not known", o.cluster.Label(name))})
	asked := map[string]bool{}
	for todo := o.cluster.LeadersOf(name); len(todo) > 0; todo = todo[1:] {
		address := todo[0]
		if asked[address] {
			continue
		}
		asked[address] = true
		bus, e := topology.BusOf(address)
		if e != nil {
			continue
		}
		out, e := o.opts.Network.Ask(ctx, bus, 0, request)
		var a moveReply
		if e == nil {
			e = json.Unmarshal(out, &a)
		}
		switch {
		case ctx.Err() != nil:
			return nil, retryable{ctx.Err()}
		case e != nil && once:
			return nil, fmt.Errorf("cluster: %s: %w", bus, e)
		case e != nil:
			err = retryable{fmt.Errorf("cluster: %s: %w", bus, e)}
		case a.Error == "":
			return &a, nil
		case a.Leader != "" && !asked[a.Leader]:
			todo = slices.Insert(todo, 1, a.Leader)
			err = retryable{errors.New(a.Error)}
		case a.Again:
			err = retryable{errors.New(a.Error)}
		default:
			return nil, errors.New(a.Error)
		}
	}
	return nil, err
}

// ask is askGroup for a moveRequest.
func (o *Slots) askMove(ctx context.Context, to string, q *moveRequest) (*moveReply, error) {
	q.Group = o.cluster.Name()
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return o.askGroup(ctx, to, b, false)
}

// insistMove asks again and again while that may help, until ctx ends.
func (o *Slots) insistMove(ctx context.Context, to string, q *moveRequest) (*moveReply, error) {
	for {
		a, err := o.askMove(ctx, to, q)
		var again retryable
		if err == nil || !errors.As(err, &again) {
			return a, err
		}
		if clock.Rest(ctx, o.opts.Clock, movePause) != nil {
			return nil, err
		}
	}
}

// sendKeys sends keys of an attempt once: sent again they could come behind later ones.
func (o *Slots) sendKeys(ctx context.Context, to string, attempt uint64, keys []byte) error {
	b := binary.AppendUvarint(topology.AppendText([]byte{keysRequest}, o.cluster.Name()), attempt)
	_, err := o.askGroup(ctx, to, append(b, keys...), true)
	return err
}
