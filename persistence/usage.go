package persistence

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
)

// Usage is what is known of the use of keys, and of the memory that they take.
type Usage struct{ tx *Tx }

// Usage returns what is known of the use of keys.
func (tx *Tx) Usage() Usage { return Usage{tx} }

// Idle returns the seconds since key was last used. ok: it exists. It does not
// count as a use. Under an LFU policy the result is meaningless.
func (u Usage) Idle(key []byte) (seconds int64, ok bool) {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return slots.IdleSeconds(t.Meta(i)>>keyspace.TouchShift, u.tx.placer.Clock), true
}

// Frequency returns the logarithmic counter of uses of key, 0 to 255. ok: it
// exists. It is meaningful under an LFU policy only.
func (u Usage) Frequency(key []byte) (int, bool) {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return int(slots.Counter(t.Meta(i)>>keyspace.TouchShift, u.tx.placer.Clock)), true
}

// SetIdle makes key look as if it was last used seconds ago (RESTORE IDLETIME).
// It reports whether the key exists.
func (u Usage) SetIdle(key []byte, seconds int64) bool {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if ok {
		t.SetTouch(i, (u.tx.placer.Clock-uint64(seconds))&keyspace.TouchMask)
	}
	return ok
}

// SetFrequency sets the counter of uses, 0 to 255 (RESTORE FREQ). It reports
// whether the key exists.
func (u Usage) SetFrequency(key []byte, counter int) bool {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if ok {
		t.SetTouch(i, u.tx.placer.Clock|uint64(counter)&0xff)
	}
	return ok
}

// Touch counts as a use of key even under NoTouch, unless only changes count. It reports whether the key
// exists.
func (u Usage) Touch(key []byte) bool {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if ok && !u.tx.s.uses.LRM.Load() {
		u.tx.placer.Touch(t, i)
	}
	return ok
}

// Bytes estimates the bytes that key and value take. ok: the key exists.
func (u Usage) Bytes(key []byte) (int64, bool) {
	t, i, ok := u.tx.find(u.tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return t.Memory(t.Meta(i)), true
}
