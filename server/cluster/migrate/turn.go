package migrate

import "context"

// Turn is a lock that is held while a group agrees on something. A caller waits for it no longer than its context. It has
// room for one.
type Turn chan struct{}

// NewTurn returns one that nobody holds.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits until nobody else holds the turn. Its error may be another one later.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return retryable{context.Cause(ctx)}
	}
}

// Leave gives the turn to the next one.
func (t Turn) Leave() { <-t }
