package expiry

import "sync"

// Clock knows when the next list of a physical database is due.
type Clock struct {
	mu      sync.Mutex
	next    map[uint32]int64 // guarded by mu; not known where there is none
	changes uint64           // calls of Note; guarded by mu
}

// Due reports whether a list may be due; mark is for Set.
func (c *Clock) Due(phys uint32, now int64) (due bool, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, known := c.next[phys]
	return !known || next <= now, c.changes
}

// Set keeps when the next list is due, unless lists were written since mark.
func (c *Clock) Set(phys uint32, next int64, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != mark {
		return
	}
	if c.next == nil {
		c.next = map[uint32]int64{}
	}
	c.next[phys] = next
}

// Note is called for lists that are now in Pebble.
func (c *Clock) Note(written []List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for _, l := range written {
		if next, known := c.next[l.phys]; known && l.at < next {
			c.next[l.phys] = l.at
		}
	}
}

// Reset forgets all clocks: the disk has other lists.
func (c *Clock) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = nil
	c.changes++
}

// Forget frees the clocks of removed databases.
func (c *Clock) Forget(phys []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range phys {
		delete(c.next, p)
	}
}
