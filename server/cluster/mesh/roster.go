package mesh

import "context"

// SetPeers replaces the addresses of the others, none of which is certain.
func (m *Mesh) SetPeers(peers map[uint64]string) { m.SetRoster(Roster{Peers: peers}) }

// Roster is the members of the group, and its former ones.
type Roster struct {
	Peers  map[uint64]string // addresses; this member may be among them
	Fixed  map[uint64]bool   // those whose address the group has agreed on
	Former map[uint64]bool
}

// Told returns what a peer said last of where it is, nothing if it was not heard.
func (m *Mesh) Told(id uint64) Origin {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.origins[id]
}

// SetRoster replaces what is known of the others. Connections with those that are gone end, what
// waits for them is dropped, and they are refused from now on; one with another address is
// looked for there.
func (m *Mesh) SetRoster(r Roster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	peers := r.Peers
	m.fixed, m.former = r.Fixed, r.Former
	for id, p := range m.peers {
		address, known := peers[id]
		if known && address == p.address {
			continue
		}
		p.cancel()
		delete(m.peers, id)
		for c, from := range m.incoming { // which judge sees again
			if from == id {
				c.Close()
			}
		}
	}
	for c, from := range m.incoming { // it was welcome before the group had agreed on its address
		if m.fixed[from] && m.origins[from].Address != peers[from] {
			c.Close()
		}
	}
	for id, address := range peers {
		if id == m.ID || m.peers[id] != nil {
			continue
		}
		p := &peer{id: id, address: address, entries: newLane(), urgent: newLane(), feed: feed{wake: make(chan struct{}, 1)}}
		p.ctx, p.cancel = context.WithCancel(m.ctx)
		m.peers[id] = p
		m.tasks.Go(func() { m.send(p, p.entries) })
		m.tasks.Go(func() { m.send(p, p.urgent) })
		m.tasks.Go(func() { m.feedPeer(p) })
	}
}
