package cluster

import (
	"context"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// OnMoves has functions called for moves of slots, whatever group the server is a member of; see [Node.OnMoves].
// It is called before Start.
func (s *Seat) OnMoves(take func(keys []byte, expected func() bool) error, remove func(ctx context.Context, of *slots.Set, allowed func() bool) error,
	order func(to string, of *slots.Set) error) {
	s.onMoves = func(n *Node) { n.OnMoves(take, remove, order) }
}

// BeginMove has another group expect slots. It is that of the node, as are the methods below.
func (s *Seat) BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, err error) {
	return s.Node().BeginMove(ctx, to, of)
}

// SendKeys has the other group take keys.
func (s *Seat) SendKeys(ctx context.Context, attempt uint64, keys []byte) error {
	return s.Node().SendKeys(ctx, attempt, keys)
}

// GiveSlots gives the slots away.
func (s *Seat) GiveSlots(ctx context.Context, attempt uint64) (decided bool, err error) {
	return s.Node().GiveSlots(ctx, attempt)
}

// EndMove ends an attempt.
func (s *Seat) EndMove(attempt uint64) { s.Node().EndMove(attempt) }

// OrderMove has another group move slots.
func (s *Seat) OrderMove(ctx context.Context, from, to string, of *slots.Set) error {
	return s.Node().OrderMove(ctx, from, to, of)
}

// Passing returns the slots that are on their way.
func (s *Seat) Passing() (arriving, expected, left *slots.Set) { return s.Node().Passing() }

// OnAsked has f called with what other servers ask this one. It is called before Start, and f at any time after it.
func (s *Seat) OnAsked(f func(ctx context.Context, request []byte) []byte) { s.onAsked = f }

// AskServer has another server of the cluster respond.
func (s *Seat) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	return s.Node().AskServer(ctx, address, request)
}

// HoldStill has no move of slots begin for a while.
func (s *Seat) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	return s.Node().HoldStill(d)
}
