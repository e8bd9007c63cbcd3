package server

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/server/blocking"
)

// Every key of a chain of moves lies in another shard, and the last is popped
// by a client that waits: one push runs through all of it at once.
func TestPushRunsThroughAChainOfMoves(t *testing.T) {
	for _, exec := range []bool{false, true} {
		r := newRig(t)
		const links = 20
		var movers []*testClient
		last := r.dial()
		last.send("BLPOP", fmt.Sprintf("k%d", links), "0")
		r.blocked(1)
		for i := range links {
			c := r.dial()
			c.send("BLMOVE", fmt.Sprintf("k%d", i), fmt.Sprintf("k%d", i+1), "LEFT", "RIGHT", "0")
			r.blocked(i + 2)
			movers = append(movers, c)
		}
		p := r.dial()
		if exec {
			p.raw(encode("MULTI") + encode("RPUSH", "k0", "x") + encode("EXEC"))
			p.reply()
			p.reply()
			p.next("[(int) 1]")
		} else {
			p.want("RPUSH k0 x", "(int) 1")
		}
		last.next(fmt.Sprintf(`["k%d" "x"]`, links))
		for _, c := range movers {
			c.next(`"x"`)
		}
		p.want("DBSIZE", "(int) 0")
		r.blocked(0)
	}
}

// So many destinations are not looked at one by one.
func TestMovesToManyKeysAreServed(t *testing.T) {
	r := newRig(t)
	const n = 2 * blocking.MaxDestinations
	var movers []*testClient
	for i := range n {
		c := r.dial()
		c.send("BLMOVE", "q", fmt.Sprint("d", i), "LEFT", "RIGHT", "0")
		r.blocked(i + 1)
		movers = append(movers, c)
	}
	last, p := r.dial(), r.dial()
	last.send("BLPOP", fmt.Sprint("d", n-1), "0")
	r.blocked(n + 1)
	call := []string{"RPUSH", "q"}
	for i := range n {
		call = append(call, fmt.Sprint("e", i))
	}
	p.send(call...)
	p.next(fmt.Sprintf("(int) %d", n))
	for i, c := range movers {
		c.next(fmt.Sprintf(`"e%d"`, i))
	}
	last.next(fmt.Sprintf(`["d%d" "e%d"]`, n-1, n-1))
	p.want("DBSIZE", fmt.Sprintf("(int) %d", n-1))
}

func TestMovesInACircleComeToAnEnd(t *testing.T) {
	r := newRig(t)
	a, b, p := r.dial(), r.dial(), r.dial()
	a.send("BLMOVE", "x", "y", "LEFT", "RIGHT", "0")
	r.blocked(1)
	b.send("BLMOVE", "y", "x", "LEFT", "RIGHT", "0")
	r.blocked(2)
	p.want("RPUSH x e", "(int) 1")
	a.next(`"e"`)
	b.next(`"e"`)
	p.want("LRANGE x 0 -1", `["e"]`)
}
