package cluster

import (
	"context"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// BeginMove has another group expect slots. It is that of the node, as are the methods below.
func (s *Seat) BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
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

// AskServer has another server of the cluster respond.
func (s *Seat) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	return s.Node().AskServer(ctx, address, request)
}

// HoldStill has no move of slots begin for a while.
func (s *Seat) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	return s.Node().HoldStill(d)
}
