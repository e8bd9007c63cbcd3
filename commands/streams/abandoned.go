package streams

import (
	"math"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

// CLAIM of XREADGROUP: entries that were delivered and not acknowledged for some
// time come before new ones, those that were delivered the longest ago first.

// readClaim reads the time for which an entry must have been idle.
func readClaim(a *commands.Args) int64 {
	n := a.IntOr(errReadClaim)
	if n < 0 {
		a.Fail(errReadClaimSign)
	}
	return n
}

// findIdle looks for up to count entries that were delivered at the unix ms until
// or before, and keeps those too that it finds before them and that the stream does not
// have any more. It reports false if a page cannot be read.
func (g *groupRead) findIdle(until int64, count int) bool {
	for want := count; ; want = count + min(2*len(g.gone), math.MaxInt-count) {
		list := g.group.Claimable(until, want)
		ids := make([]stream.ID, len(list))
		for i, p := range list {
			ids[i] = p.ID
		}
		if !g.s.Ready(ids...) {
			return false
		}
		g.idle, g.gone = g.idle[:0], g.gone[:0]
		for i := 0; i < len(list) && len(g.idle) < count; i++ {
			if g.s.Has(ids[i]) {
				g.idle = append(g.idle, list[i])
			} else {
				g.gone = append(g.gone, ids[i])
			}
		}
		if len(g.idle) == count || len(list) < want {
			return true
		}
	}
}

// claimed writes the idle entries, which the consumer gets, and then new ones.
func (r *reading) claimed(c *commands.Ctx, g *groupRead, consumer *stream.Consumer) int {
	var e stream.Entry
	taken := make([]stream.Pending, 0, len(g.idle))
	for _, p := range g.idle {
		g.s.Get(&e, p.ID)
		replyDelivery(&c.Reply, &e, max(c.Now-p.Time, 0), p.Deliveries)
		if p.Deliveries != stream.Endless {
			p.Deliveries++
		}
		taken = append(taken, stream.Pending{ID: p.ID, Time: c.Now, Deliveries: p.Deliveries})
	}
	g.group.Claim(g.ch, consumer, c.Now, taken)
	return len(taken) + g.group.Deliver(g.ch, consumer, g.count-len(taken), c.Now, r.noAck,
		func(e *stream.Entry) { replyDelivery(&c.Reply, e, 0, 0) })
}

// The call of a client that waits for entries to be idle is run again when the first
// of them is, and whenever a change of the stream brings the first client in line
// entries to wait for. As that client may leave, the others look themselves after
// the time that they ask for, but not more often than once in lookMillis.
const (
	lookMillis = 1000
	longMillis = 24 * 3600 * 1000
)

// groupWait describes how a consumer waits.
func (r *reading) groupWait(c *commands.Ctx, reads []groupRead) commands.Wait {
	w := commands.Wait{Removed: true}
	if c.Woken == nil {
		rivals := "group " + string(r.group)
		if r.claim {
			rivals = "idle " + strconv.FormatInt(r.minIdle, 10) + " " + rivals
		}
		w.Rivals = slices.Repeat([]string{rivals}, len(r.keys))
	}
	if !r.claim {
		return w
	}
	idle := min(r.minIdle, math.MaxInt64/2)
	w.Again = min(max(idle, lookMillis), longMillis)
	for i := range reads {
		if oldest, ok := reads[i].group.Oldest(); ok {
			w.Again = max(1, min(w.Again, idle-(c.Now-oldest)))
		}
	}
	return w
}
