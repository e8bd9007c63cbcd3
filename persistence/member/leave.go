package member

import "errors"

// Leaver is a Replicator that ends the leadership of a term, when the store cannot keep what it has in
// memory: Follow is called then.
type Leaver interface {
	Leave(term uint64)
}

var errNoLeaver = errors.New("persistence: the engine cannot end its leadership")

// Leave ends the leadership, in which the journal has records that are not committed and may
// not be lost, and waits for Follow, which makes memory anew of what is committed.
func (m *Member) Leave() {
	r := &m.keyspace.Tear
	l, ok := m.replicator.(Leaver)
	if !ok {
		r.Over(errNoLeaver)
		return
	}
	m.mu.Lock()
	term := m.term
	m.mu.Unlock()
	l.Leave(term)
	r.Wait()
}
