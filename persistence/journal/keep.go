package journal

import "github.com/vigildb/vigil/persistence/tail"

// What the death of the process takes with it is what the system was not given yet: the open
// chunk, those that wait for the caller, and what the caller's log has in buffers of its own.
// So a tail has copies of all chunks until they are on the device.
//
// A chunk without a copy is exposed, and so is all that follows it, as a log ends where a chunk
// is missing: a record of it may be acknowledged when it is synced.

// keptBytes is the size of a chunk up to which it is copied to the tail: beyond, its client
// waits for the disk in any case.
const keptBytes = 4 << 20

// SetTail copies chunks to a tail, from the next one on; with nil none. Chunks that are not on the device
// yet are exposed until they are.
func (j *Journal) SetTail(t *tail.Tail) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealLocked()
	j.mu.tail = t
	if t == nil {
		j.exposed.Store(0)
	} else {
		j.exposed.Store(j.newest.Load())
	}
}

// Exposed returns the newest record that the tail should have a copy of, and has not; 0 if there is
// none.
func (j *Journal) Exposed() uint64 { return j.exposed.Load() }

// TailBroken reports that the system could not back the memory of the tail.
func (j *Journal) TailBroken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.tail != nil && j.mu.tail.Broken()
}

// RestTail gives memory of the tail back to the system, when little is to be written for a while.
func (j *Journal) RestTail() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.tail != nil {
		j.mu.tail.Rest()
	}
}

// keepLocked copies a record of a chunk, in parts, to the tail. A chunk takes so many bytes at most.
func (j *Journal) keepLocked(c *Chunk, most int, rec ...[]byte) {
	if c.room == nil && c.First != c.Last {
		j.exposed.Store(c.Last) // it began without a copy
		return
	}
	if c.room == nil && most <= keptBytes {
		c.room = j.mu.tail.Begin(c.Index, c.First, most)
	}
	if c.room == nil || !c.room.Append(c.Flags, rec...) {
		j.exposed.Store(c.Last)
	}
}
