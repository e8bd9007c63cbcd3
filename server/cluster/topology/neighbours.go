package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/snapshot"
)

// Servers of a cluster ask each other, of whatever groups they are, for what is no matter of groups: snapshots
// (server/backup). A request begins with a byte that no gossip (AppendGossip) begins with:
//
//	'A' | what the server that asks wants, which the server that is asked understands
//	'O' | nothing: of which snapshot is the group made? The reply is a snapshot.Origin in JSON, {} for none
//	'N' | announcements (nameBook.encode), which the reply has too
const (
	serverRequest = 'A'
	originRequest = 'O'
	namesRequest  = 'N'
)

// ErrSilent is returned for a server that does not understand what it is asked.
var ErrSilent = errors.New("cluster: the server does not reply to that: it is starting, or of an earlier version")

// AskServer sends a request to another server, at its address of clients, and returns the reply.
func (c *Cluster) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	return c.askServer(ctx, address, 0, append([]byte{serverRequest}, request...))
}

// askServer asks the server at an address of clients whose mesh has an ID, 0 for whoever is there.
func (c *Cluster) askServer(ctx context.Context, address string, id uint64, request []byte) ([]byte, error) {
	bus, err := BusOf(address)
	if err != nil {
		return nil, err
	}
	reply, err := c.opts.Network.Ask(ctx, bus, id, request)
	if err == nil && len(reply) == 0 {
		err = ErrSilent
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return reply, nil
}

// respondToServer returns the reply to a request of another server, nil for what is none.
func (c *Cluster) respondToServer(ctx context.Context, b []byte) []byte {
	switch {
	case len(b) == 0 || c.opts.Own.Group() == nil || c.opts.Own.Gone():
	case b[0] == serverRequest && c.opts.Asked != nil:
		return c.opts.Asked(ctx, b[1:])
	case b[0] == originRequest:
		origin := c.opts.Self.Restored
		if origin == nil {
			origin = new(snapshot.Origin)
		}
		if out, err := json.Marshal(origin); err == nil {
			return out
		}
	case b[0] == namesRequest:
		if err := c.names.take(b[1:], c.servers()); err == nil {
			return c.names.encode()
		}
	}
	return nil
}
