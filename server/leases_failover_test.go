package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Schedules and placement maps are values whose changes are in the log of the group: what a client was told
// of them holds at the next leader, whose clock may be another one.

const noNode = "[]"

// field returns a field of SCHED.INFO or SCHED.NODE.
func (r *rig) field(call, name string) string {
	r.t.Helper()
	_, rest, there := strings.Cut(r.dial().do(strings.Fields(call)...), `"`+name+`" `)
	if !there {
		r.t.Fatalf("%s has no %s", call, name)
	}
	return strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == ']' })[1]
}

// A node that the former leader has leased is handed out when its lease is over by the clock of the next one, and a
// lease lasts until then for the worker that has it. A clock that is behind makes it longer by as much, and
// one that is ahead shorter.
func TestLeasesHoldAtTheNextLeader(t *testing.T) {
	for name, x := range map[string]struct{ ahead, lasts time.Duration }{
		"with the same clock":         {0, 100 * time.Second},
		"ten minutes behind":          {-10 * time.Minute, 10*time.Minute + 100*time.Second},
		"a tenth of the lease ahead":  {10 * time.Second, 90 * time.Second},
		"ahead by more than a lease":  {10 * time.Minute, 0},
		"a millisecond behind":        {-time.Millisecond, 100*time.Second + time.Millisecond},
		"behind by much of the lease": {-90 * time.Second, 190 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCouple(t, nil, nil)
			c.follower.clock.stall(x.ahead)
			admin := c.dial()
			admin.want("SCHED.CREATE s POLICY index LEASE 100000 SEED 1", "OK")
			admin.want("SCHED.ADD s a RATE 0.5 b RATE 0.4 c RATE 0.3 d RATE 0.2", "(int) 4")
			admin.want("SCHED.NEXT s COUNT 4", `["a" "b" "c" "d"]`)
			admin.want("SCHED.OBSERVE s a 3", "(int) 1")
			admin.want("SCHED.FAIL s b", "(int) 1")
			admin.want("SCHED.NEXT s LEASE 0", `["a"]`)
			admin.want("SCHED.REM s b a", "(int) 2")
			if got, want := c.follower.dial().do("DUMP", "s"), admin.do("DUMP", "s"); got != want {
				t.Errorf("the follower has %s, the leader %s", got, want)
			}
			c.fail()
			next := c.follower.dial()
			if x.lasts > 0 {
				next.want("SCHED.NEXT s COUNT 4", noNode)
				c.follower.clock.stall(x.lasts - time.Millisecond)
				next.want("SCHED.NEXT s COUNT 4", noNode)
				next.want("SCHED.OBSERVE s c 1", "(int) 1")
				next.want("SCHED.NEXT s COUNT 4", `["c"]`)
				c.follower.clock.stall(time.Millisecond)
			} else {
				next.want("SCHED.NEXT s COUNT 1", `["c"]`)
			}
			next.want("SCHED.OBSERVE s d 1", "(error) ERR node is not leased")
			next.want("SCHED.NEXT s COUNT 4", `["d"]`)
			next.want("SCHED.OBSERVE s d 1", "(int) 1")
		})
	}
}

// A follower that is asked for what is due may have another time. That changes nothing of what it applies then.
func TestReadsOfAScheduleAtAFollowerChangeNothing(t *testing.T) {
	c := newCouple(t, nil, nil)
	c.follower.clock.stall(time.Hour)
	admin, reader := c.dial(), c.follower.dial()
	admin.want("SCHED.CREATE s POLICY memoryless LEASE 1000 SEED 1", "OK")
	for i := range 200 {
		admin.want(fmt.Sprintf("SCHED.ADD s n%d RATE 0.%d", i, i+1), "(int) 1")
	}
	for range 100 {
		got := admin.do("SCHED.NEXT", "s", "COUNT", "3")
		reader.do("SCHED.PEEK", "s", "COUNT", "7")
		reader.do("SCHED.INFO", "s")
		for i, node := range strings.FieldsFunc(got, func(c rune) bool { return strings.ContainsRune(`[" ]`, c) }) {
			if i < 2 {
				admin.want([]string{"SCHED.OBSERVE s " + node + " 2", "SCHED.FAIL s " + node}[i], "(int) 1")
			}
		}
		c.clock.stall(100 * time.Millisecond)
	}
	if got, want := reader.do("DUMP", "s"), admin.do("DUMP", "s"); got != want {
		t.Error("leader and follower have not the same schedule")
	}
}

// The steps of a schedule with the wall clock do not go back with a leader whose clock is behind.
func TestClockOfAScheduleDoesNotGoBackAtTheNextLeader(t *testing.T) {
	c := newCouple(t, nil, nil)
	c.follower.clock.stall(-10 * time.Minute)
	admin := c.dial()
	admin.want("SCHED.CREATE s POLICY index CLOCK WALL 1000 LEASE 0 SEED 1", "OK")
	admin.want("SCHED.ADD s a RATE 0.5", "(int) 1")
	c.clock.stall(41 * time.Second)
	admin.want("SCHED.NEXT s", `["a"]`)
	step := c.field("SCHED.INFO s", "step")
	c.fail()
	next := c.follower.dial()
	next.want("SCHED.NEXT s", noNode) // each node once in a step
	if got := c.follower.field("SCHED.INFO s", "step"); got != step || step != "42" {
		t.Errorf("step %s, was %s", got, step)
	}
	c.follower.clock.stall(10*time.Minute + 42*time.Second)
	next.want("SCHED.NEXT s", `["a"]`)
	if got := c.follower.field("SCHED.INFO s", "step"); got != "43" {
		t.Errorf("step %s after a second more", got)
	}
}

// All members that may be read locate objects on the same units.
func TestPlacementIsTheSameAtAllMembers(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin, reader := c.dial(), c.follower.dial()
	admin.want("PLACE.CREATE m", "OK")
	admin.want("PLACE.SET m s1 1 s2 1 s3 2", "(int) 3")
	locate := []string{"PLACE.LOCATE", "m"}
	for i := range 300 {
		locate = append(locate, fmt.Sprintf("user:%d", i))
	}
	same := func() string {
		t.Helper()
		got, want := reader.do(locate...), admin.do(locate...)
		if got != want || !strings.Contains(got, `"s1"`) {
			t.Errorf("the follower locates at %s, the leader at %s", got, want)
		}
		return want
	}
	before := same()
	admin.want("PLACE.SET m s4 3 s1 0.5", "(int) 1")
	after := same()
	if before == after {
		t.Error("nothing has moved")
	}
	c.fail()
	if got := c.follower.dial().do(locate...); got != after {
		t.Errorf("the next leader locates at %s, the former one at %s", got, after)
	}
}
