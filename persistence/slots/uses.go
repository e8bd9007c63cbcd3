package slots

import (
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/keyspace"
)

// How long a key was not used, or how often it was, is 24 bits of its slot:
// seconds, or as in Redis's LFU 16 bits of minutes at which the counter was last
// looked at and 8 bits of a counter that grows logarithmically.
const (
	lfuStart     = 5  // counter of a new key, so that it is not the first to go
	lfuLogFactor = 10 // hits for a step grow with counter*lfuLogFactor
	lfuDecay     = 1  // minutes without use that cost a step
)

// Uses says what counts as a use of a key, by the policy in force.
type Uses struct {
	LFU atomic.Bool // uses are counted
	LRM atomic.Bool // only changes count
}

// ClockAt is the touch of a key used at now (unix ms) under the policy in force.
func (u *Uses) ClockAt(now int64) uint64 {
	if u.LFU.Load() {
		return uint64(now/60000) & 0xffff << 8
	}
	return uint64(now/1000) & keyspace.TouchMask
}

// Fresh is the touch of a key that is just made.
func (p *Placer) Fresh() uint64 {
	if p.uses.LFU.Load() {
		return (p.Clock | lfuStart) << keyspace.TouchShift
	}
	return p.Clock << keyspace.TouchShift
}

// Touch notes that the key at slot i is used.
func (p *Placer) Touch(t *keyspace.Table, i int) {
	if !p.uses.LFU.Load() {
		t.SetTouch(i, p.Clock)
		return
	}
	counter := Counter(t.Meta(i)>>keyspace.TouchShift, p.Clock)
	if counter < 255 {
		base := max(int(counter)-lfuStart, 0)
		if p.draw()%uint64(base*lfuLogFactor+1) == 0 {
			counter++
		}
	}
	t.SetTouch(i, p.Clock|counter)
}

// Counter is the counter of a touch after it decayed until clock.
func Counter(touch, clock uint64) uint64 {
	counter, minutes := touch&0xff, (clock>>8-touch>>8)&0xffff
	return counter - min(counter, minutes/lfuDecay)
}

// IdleSeconds is the time since a touch under an LRU policy.
func IdleSeconds(touch, clock uint64) int64 {
	return int64((clock - touch) & keyspace.TouchMask)
}

// draw is xorshift64*: chance good enough to count hits by.
func (p *Placer) draw() uint64 {
	p.random = Xorshift(p.random)
	return p.random * 0x2545f4914f6cdd1d >> 16
}

// Xorshift is the next state of a generator.
func Xorshift(x uint64) uint64 {
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	return x
}
