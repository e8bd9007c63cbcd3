package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// Servers of a cluster ask each other, of whatever groups they are, for what is no matter of groups: snapshots
// (server/clustersnapshots.go). A request begins with a byte that no letter (appendLetter) begins with:
//
//	'A' | what the server that asks wants, which the server that is asked understands
//	'O' | nothing: of which snapshot is the group made? The reply is a snapshot.Origin in JSON, {} for none
//	'N' | announcements (nameBook.encode), which the reply has too
const (
	serverRequest = 'A'
	originRequest = 'O'
	namesRequest  = 'N'
)

// errSilent is returned for a server that does not understand what it is asked.
var errSilent = errors.New("cluster: the server does not reply to that: it is starting, or of an earlier version")

// AskServer has the server at an address of clients, which is not this one, respond to a request, within some 15 seconds.
func (s *Seat) AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error) {
	n := s.Node()
	err = n.inCluster(func(*raftnode.Runner) error {
		reply, err = n.others.askServer(ctx, address, 0, append([]byte{serverRequest}, request...))
		return err
	})
	return reply, err
}

// askServer asks the server at an address of clients whose mesh has an ID, 0 for whoever is there.
func (o *others) askServer(ctx context.Context, address string, id uint64, request []byte) ([]byte, error) {
	bus, err := topology.BusOf(address)
	if err != nil {
		return nil, err
	}
	reply, err := o.mesh.Ask(ctx, bus, id, request)
	if err == nil && len(reply) == 0 {
		err = errSilent
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return reply, nil
}

// respondToServer returns the reply to a request of another server, nil for what is none.
func (o *others) respondToServer(ctx context.Context, b []byte) []byte {
	switch {
	case len(b) == 0 || o.n.runner.Load() == nil || o.n.gone.Load():
	case b[0] == serverRequest && o.n.server.Asked != nil:
		return o.n.server.Asked(ctx, b[1:])
	case b[0] == originRequest:
		origin := o.n.restored()
		if origin == nil {
			origin = new(snapshot.Origin)
		}
		if out, err := json.Marshal(origin); err == nil {
			return out
		}
	case b[0] == namesRequest:
		if err := o.names.Take(b[1:], o.servers()); err == nil {
			return o.names.Encode()
		}
	}
	return nil
}

var errHeldStill = errors.New("cluster: slots are held still for a snapshot of the cluster")

// HoldStill has no move of slots from or to this group begin for a while. It returns which slots the group has and the entry of its
// log that says so, if none is on its way: whoever sees the same two twice knows that none was in between. The error is one of
// this moment, such as that of slots that move; a leader that may have a successor waits until it knows.
func (s *Seat) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	n := s.Node()
	err = n.inCluster(func(r *raftnode.Runner) error {
		index, own, err = n.others.holdStill(r, d)
		return err
	})
	return index, own, err
}

func (o *others) holdStill(r *raftnode.Runner, d time.Duration) (index uint64, own *slots.Set, err error) {
	m := &o.moves
	m.mu.Lock()
	m.still = max(m.still, o.n.monotonic()+d)
	busy := m.leaving != nil
	m.mu.Unlock()
	if err := r.WaitHeld(); err != nil {
		return 0, nil, err
	}
	now, err := r.Settled() // a claim that is proposed may be in a snapshot
	switch {
	case err != nil:
		return 0, nil, err
	case busy, now.Moving():
		return 0, nil, errSlotsMove
	case o.lies(o.name):
		return 0, nil, errSelfLies
	}
	o.look()
	return now.Index, o.division.Load().Slots, nil
}

// heldStill reports whether no move may begin now.
func (o *others) heldStill() bool {
	o.moves.mu.Lock()
	defer o.moves.mu.Unlock()
	return o.n.monotonic() < o.moves.still
}
