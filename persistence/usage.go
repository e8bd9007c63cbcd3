package persistence

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
)

// Idle returns the seconds since key was last used. ok: it exists. It does not
// count as a use. Under an LFU policy the result is meaningless.
func (tx *Tx) Idle(key []byte) (seconds int64, ok bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return slots.IdleSeconds(t.Meta(i)>>keyspace.TouchShift, tx.placer.Clock), true
}

// Frequency returns the logarithmic counter of uses of key, 0 to 255. ok: it
// exists. It is meaningful under an LFU policy only.
func (tx *Tx) Frequency(key []byte) (int, bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return int(slots.Counter(t.Meta(i)>>keyspace.TouchShift, tx.placer.Clock)), true
}

// SetIdle makes key look as if it was last used seconds ago (RESTORE IDLETIME).
// It reports whether the key exists.
func (tx *Tx) SetIdle(key []byte, seconds int64) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok {
		t.SetTouch(i, (tx.placer.Clock-uint64(seconds))&keyspace.TouchMask)
	}
	return ok
}

// SetFrequency sets the counter of uses, 0 to 255 (RESTORE FREQ). It reports
// whether the key exists.
func (tx *Tx) SetFrequency(key []byte, counter int) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok {
		t.SetTouch(i, tx.placer.Clock|uint64(counter)&0xff)
	}
	return ok
}

// Touch counts as a use of key even under NoTouch, unless only changes count. It reports whether the key
// exists.
func (tx *Tx) Touch(key []byte) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if ok && !tx.s.uses.LRM.Load() {
		tx.placer.Touch(t, i)
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
