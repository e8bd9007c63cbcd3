package persistence

import "github.com/vigildb/vigil/persistence/keyspace"

// How long a key was not used, or how often it was, is 24 bits of its slot:
// seconds, or as in Redis's LFU 16 bits of minutes at which the counter was last
// looked at and 8 bits of a counter that grows logarithmically.
const (
	lfuStart     = 5  // counter of a new key, so that it is not the first to go
	lfuLogFactor = 10 // hits for a step grow with counter*lfuLogFactor
	lfuDecay     = 1  // minutes without use that cost a step
)

// clockAt is the touch of a key used at now (unix ms) under the policy in force.
func (s *Store) clockAt(now int64) uint64 {
	if s.lfu.Load() {
		return uint64(now/60000) & 0xffff << 8
	}
	return uint64(now/1000) & keyspace.TouchMask
}

// fresh is the touch of a key that is just made.
func (tx *Tx) fresh() uint64 {
	if tx.s.lfu.Load() {
		return (tx.clock | lfuStart) << keyspace.TouchShift
	}
	return tx.clock << keyspace.TouchShift
}

func (tx *Tx) touch(t *keyspace.Table, i int) {
	if !tx.s.lfu.Load() {
		t.SetTouch(i, tx.clock)
		return
	}
	counter := lfuCounter(t.Meta(i)>>keyspace.TouchShift, tx.clock)
	if counter < 255 {
		base := max(int(counter)-lfuStart, 0)
		if tx.draw()%uint64(base*lfuLogFactor+1) == 0 {
			counter++
		}
	}
	t.SetTouch(i, tx.clock|counter)
}

// lfuCounter is the counter of a touch after it decayed until clock.
func lfuCounter(touch, clock uint64) uint64 {
	counter, minutes := touch&0xff, (clock>>8-touch>>8)&0xffff
	return counter - min(counter, minutes/lfuDecay)
}

// idleSeconds is the time since a touch under an LRU policy.
func idleSeconds(touch, clock uint64) int64 {
	return int64((clock - touch) & keyspace.TouchMask)
}

// draw is xorshift64*: chance good enough to count hits by.
func (tx *Tx) draw() uint64 {
	tx.random = xorshift(tx.random)
	return tx.random * 0x2545f4914f6cdd1d >> 16
}

func xorshift(x uint64) uint64 {
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	return x
}

// Idle returns the seconds since key was last used. ok: it exists. It does not
// count as a use. Under an LFU policy the result is meaningless.
func (tx *Tx) Idle(key []byte) (seconds int64, ok bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return idleSeconds(t.Meta(i)>>keyspace.TouchShift, tx.clock), true
}

// Frequency returns the logarithmic counter of uses of key, 0 to 255. ok: it
// exists. It is meaningful under an LFU policy only.
func (tx *Tx) Frequency(key []byte) (int, bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return int(lfuCounter(t.Meta(i)>>keyspace.TouchShift, tx.clock)), true
}

// SetIdle makes key look as if it was last used seconds ago (RESTORE IDLETIME).
// It reports whether the key exists.
func (tx *Tx) SetIdle(key []byte, seconds int64) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok {
		t.SetTouch(i, (tx.clock-uint64(seconds))&keyspace.TouchMask)
	}
	return ok
}

// SetFrequency sets the counter of uses, 0 to 255 (RESTORE FREQ). It reports
// whether the key exists.
func (tx *Tx) SetFrequency(key []byte, counter int) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok {
		t.SetTouch(i, tx.clock|uint64(counter)&0xff)
	}
	return ok
}

// Touch counts as a use of key even under NoTouch, unless only changes count. It reports whether the key
// exists.
func (tx *Tx) Touch(key []byte) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok && !tx.s.lrm.Load() {
		tx.touch(t, i)
	}
	return ok
}

// MemoryUsage estimates the bytes that key and value take. ok: the key exists.
func (tx *Tx) MemoryUsage(key []byte) (int64, bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return t.Memory(t.Meta(i)), true
}
