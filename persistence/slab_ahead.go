package persistence

// The first touch of a big page of the system takes as long as the system needs
// to clear 2 MiB: a tenth of a millisecond, or six where a hypervisor has to
// find the memory first. A client would wait for it, and all others of its event
// loop. So pages are touched by a task of the background before they are handed
// out. If it falls behind, as during a load, the allocation does it as before.
const (
	bigPageBytes = 2 << 20
	// aheadBytes is how much is touched before it is needed. It is resident, so
	// that it counts against the smallness of the process.
	aheadBytes = 2 * bigPageBytes
)

// touchTask is the task that touches pages ahead of their use.
func (s *Store) touchTask() *task {
	t := &task{name: "touch", wake: make(chan struct{}, 1)}
	t.step = func(bool) {
		if b := s.pool.nextAhead(); b != nil {
			touchMemory(b)
			t.signal() // perhaps there is more
		}
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.pool.mu.wanted = t.signal
	return t
}

// nextAhead returns the next big page that is to be touched, nil if enough of
// them are.
func (p *pool) nextAhead() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.next < regionPages {
		return nil // the first region has small pages
	}
	used := int(p.mu.next) * pageBytes
	from := max(p.mu.touched, used/bigPageBytes*bigPageBytes)
	region := from / regionBytes
	if from >= used+aheadBytes || region >= maxRegions {
		return nil
	}
	if p.regions[region] == nil {
		p.growLocked(region)
	}
	p.mu.touched = from + bigPageBytes
	at := from % regionBytes
	return p.mu.maps[region][at : at+bigPageBytes]
}
