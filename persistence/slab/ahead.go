package slab

// The first touch of a big page of the system takes as long as the system needs
// to clear 2 MiB: a tenth of a millisecond, or six where a hypervisor has to
// find the memory first. A client would wait for it, and all others of its event
// loop. So a background task calls TouchNext before pages are handed out. If it
// falls behind, as during a load, the allocation touches them.
const (
	bigPageBytes = 2 << 20
	// aheadBytes is how much is touched before it is needed. It is resident and
	// unused, so it is small.
	aheadBytes = 2 * bigPageBytes
)

// NotifyTouch sets f, which is called with the pool's lock held whenever TouchNext
// has something to do. f must not block or call the pool.
func (p *Pool) NotifyTouch(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.wanted = f
}

// TouchNext touches the next big page ahead of its use, in the time that takes,
// without the pool's lock. It reports whether there was one: false means that
// enough of them are touched.
func (p *Pool) TouchNext() bool {
	b := p.nextAhead()
	if b == nil {
		return false
	}
	touchMemory(b)
	return true
}

// nextAhead returns the next big page to be touched, nil if enough of them are.
func (p *Pool) nextAhead() []byte {
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
