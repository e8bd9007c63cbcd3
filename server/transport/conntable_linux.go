package transport

// connTable has the clients of a loop by descriptor. The kernel gives the lowest
// one that is free, so that a slice is not longer than the most sockets there were.
type connTable struct {
	at []*loopConn // nil: none
	n  int         // clients
}

func (t *connTable) add(c *loopConn) {
	if c.fd >= len(t.at) {
		at := make([]*loopConn, max(2*len(t.at), c.fd+1))
		copy(at, t.at)
		t.at = at
	}
	t.at[c.fd] = c
	t.n++
}

// get returns the client of a descriptor, or nil.
func (t *connTable) get(fd int) *loopConn {
	if fd < len(t.at) {
		return t.at[fd]
	}
	return nil
}

func (t *connTable) has(c *loopConn) bool { return t.get(c.fd) == c }

func (t *connTable) remove(c *loopConn) {
	if t.has(c) {
		t.at[c.fd] = nil
		t.n--
	}
}
