package server

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/backup"
	"github.com/vigildb/vigil/server/resharding"
	sets "github.com/vigildb/vigil/structures/slots"
)

// wireRequest and wireReply are what travels between servers, with the fields of all kinds.
type (
	wireRequest struct {
		What  string
		Index uint64                  `json:",omitempty"`
		Node  string                  `json:",omitempty"`
		Whole *snapshot.Whole         `json:",omitempty"`
		Task  *resharding.TaskRequest `json:",omitempty"`
	}
	wireReply struct {
		Group   string
		Error   string                `json:",omitempty"`
		Again   bool                  `json:",omitempty"`
		Follows bool                  `json:",omitempty"`
		Leader  string                `json:",omitempty"`
		Index   uint64                `json:",omitempty"`
		Slots   string                `json:",omitempty"`
		Parts   []backup.Part         `json:",omitempty"`
		Removed int                   `json:",omitempty"`
		Task    *resharding.TaskReply `json:",omitempty"`
	}
)

// request asks this server, as another one does, and returns the reply.
func (n *testNeighbours) request(t *testing.T, q *wireRequest) (a wireReply) {
	t.Helper()
	return n.requestBy(t.Context(), t, q)
}

func (n *testNeighbours) requestBy(ctx context.Context, t *testing.T, q *wireRequest) (a wireReply) {
	t.Helper()
	b, err := json.Marshal(q)
	if err == nil {
		err = json.Unmarshal(n.ask(ctx, b), &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// testNeighbours is the part of a testGroup that asks other servers, which are functions.
type testNeighbours struct {
	ask func(ctx context.Context, request []byte) []byte // what other servers ask this one

	near   sync.Mutex
	stands func() (index uint64, own *sets.Set, err error)                      // guarded by near
	others func(ctx context.Context, address string, q *wireRequest) *wireReply // nil: nobody is there; guarded by near
}

func (n *testNeighbours) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	n.near.Lock()
	others := n.others
	n.near.Unlock()
	var q wireRequest
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	a := others(ctx, address, &q)
	if a == nil {
		return nil, context.DeadlineExceeded
	}
	return json.Marshal(a)
}

func (n *testNeighbours) HoldStill(time.Duration) (index uint64, own *sets.Set, err error) {
	n.near.Lock()
	stands := n.stands
	n.near.Unlock()
	return stands()
}
