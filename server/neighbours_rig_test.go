package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/vigildb/vigil/server/backup"
	sets "github.com/vigildb/vigil/structures/slots"
)

// testNeighbours is the part of a testGroup that asks other servers, which are functions.
type testNeighbours struct {
	ask func(ctx context.Context, request []byte) []byte // what other servers ask this one

	near   sync.Mutex
	stands func() (index uint64, own *sets.Set, err error)                            // guarded by near
	others func(ctx context.Context, address string, q *backup.Request) *backup.Reply // nil: nobody is there; guarded by near
}

func (n *testNeighbours) OnAsked(f func(ctx context.Context, request []byte) []byte) { n.ask = f }

func (n *testNeighbours) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	n.near.Lock()
	others := n.others
	n.near.Unlock()
	var q backup.Request
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
