// Package schedule is the value of the SCHED commands: nodes with their
// parameters, what probes found, running leases, and the clock of steps.
//
// The one idea: chance and time are settled before they are recorded. NEXT
// draws with a generator seeded by the schedule's seed and the number of NEXT
// calls so far, and records the slots it picked; OBSERVE records what was
// found and when. Replay applies picks and observations and draws nothing, so
// every replica has the same bytes. The policy itself (package scheduler)
// keeps only structures that can be derived from the nodes, and they are
// neither recorded nor stored.
//
// Leases. A node that NEXT hands out is hidden until OBSERVE, FAIL or the end
// of its lease. Its age restarts only with OBSERVE, from the step of the NEXT:
// after FAIL, or when the lease ends because the worker is gone, its age is
// what it would have been. A NEXT with a lease of 0 takes the probe as done:
// the age restarts at once, nothing is learnt, and OBSERVE is refused.
//
// Clocks. With the step clock every NEXT is one step. With the wall clock step
// 1 begins when the schedule is created and a step lasts StepMillis, so that
// irregular callers get right ages. Milliseconds come from the caller. Time
// never runs backwards inside a schedule: an earlier time than one seen before
// counts as that one, so a clock that is set back freezes leases and steps
// until it has caught up, and never revives a lease that has ended.
//
// Parts. A Schedule puts together a plan, which picks and learns (plan.go), the nodes
// that are hidden for now (hidden.go), groups (groups.go) and the set of changed pages
// (changed.go). A record reads what is replayed (record.go).
//
// Storage. The head holds configuration and counters; page p holds the nodes in
// slots 64p to 64p+63. NEXT, OBSERVE and FAIL of one node change the head and
// one page. The drawings are in encode.go.
//
// Memory. A node costs what the scheduler's table and the policy need, and 23
// bytes for a name of 12: names lie together by page (names.go), slots are found
// through a hash table of 32-bit entries (directory.go), and only leased nodes
// have a lease (lease.go). A lease whose end has passed at the recorded time is
// no part of the value any more, in memory and on disk.
//
// It promises: an operation that returns an error has changed nothing. It does
// not lock: even Peek uses scratch memory and may unhide nodes whose lease has
// expired, so a schedule is used by one goroutine at a time.
package schedule
