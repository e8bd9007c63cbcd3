package hold

import "sync"

// Client is a client whose call is held back.
type Client interface {
	// Kick makes the client try again. It waits for nothing.
	Kick()
}

// gate knows the clients whose calls are held back. Its mutex guards what holds them, too.
type gate struct {
	mu   sync.Mutex
	held map[Client]struct{} // guarded by mu
}

func (g *gate) addLocked(c Client) {
	if g.held == nil {
		g.held = map[Client]struct{}{}
	}
	g.held[c] = struct{}{}
}

// wakeLocked makes all of them try again, after which none is held.
func (g *gate) wakeLocked() {
	for c := range g.held {
		c.Kick()
	}
	g.held = nil
}

// Forget removes a client that leaves.
func (g *gate) Forget(c Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.held, c)
}

// Count is the number of clients whose calls are held back.
func (g *gate) Count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held)
}

// Holds reports whether a call of a client is held back.
func (g *gate) Holds(c Client) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, held := g.held[c]
	return held
}
