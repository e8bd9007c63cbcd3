package cluster

import "context"

// turn is a lock that is held while a group agrees on something. A caller waits for it no longer than its context. It has
// room for one.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return retryable{context.Cause(ctx)}
	}
}

func (t turn) leave() { <-t }
