package schedule

import "github.com/vigildb/vigil/scheduler"

// clock turns milliseconds into steps and keeps time from running backwards.
type clock struct {
	stepMillis int64 // 0: the step clock
	epoch      int64 // millisecond of creation, where step 1 begins
	now        int64 // latest recorded millisecond
	step       int64 // step of the last NEXT

	// seen is the latest millisecond that any call gave, recorded or not. It
	// is not stored: a Peek may end leases, and a NEXT with an earlier time
	// must not find them running again.
	seen int64
}

// clampTime makes a caller's time one that can be recorded.
func clampTime(millis int64) int64 { return min(max(millis, 0), maxTime) }

// at is the time that counts when a caller says it is nowMillis.
func (c *clock) at(nowMillis int64) int64 {
	c.seen = max(c.seen, c.now, clampTime(nowMillis))
	return c.seen
}

// set records a time that at returned, here or on the machine replayed from.
func (c *clock) set(now int64) {
	c.now = max(c.now, now)
	c.seen = max(c.seen, c.now)
}

// next is the step of a NEXT at a time.
func (c *clock) next(now int64) int64 {
	if c.stepMillis == 0 {
		return c.step + 1
	}
	return max(c.step, c.wall(now))
}

// wall is the step that the wall clock shows: 1 in the first StepMillis.
func (c *clock) wall(now int64) int64 { return 1 + max(0, now-c.epoch)/c.stepMillis }

// born is the step from which a node added at a time counts its age: one step
// before the current one, as one step's worth of items exists before step 1.
func (c *clock) born(now int64) int64 {
	if c.stepMillis == 0 {
		return c.step
	}
	return min(max(c.step, c.wall(now)-1), scheduler.MaxStep)
}
