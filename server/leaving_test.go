package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally is what became of elements.
type tally struct {
	mu   sync.Mutex
	seen map[string]int // guarded by mu
}

func (l *tally) add(reply string) {
	elem := strings.Trim(reply[strings.LastIndex(reply, " ")+1:], `"]`)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[elem]++
}

// check compares with n elements "0", "1" and so on, each exactly once.
func (l *tally) check(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if got := l.seen[fmt.Sprint(i)]; got != 1 {
			t.Errorf("element %d: seen %d times, want once", i, got)
		}
	}
	if len(l.seen) != n {
		t.Errorf("%d different elements, want %d", len(l.seen), n)
	}
}

func (l *tally) addList(c *testClient, key string) {
	for {
		got := c.do("LPOP", key)
		if got == "(nil)" {
			return
		}
		l.add(got)
	}
}

// Clients leave while elements are pushed for them. Each element is either in
// the hands of a client or in the list.
func TestElementsSurviveClientsThatLeave(t *testing.T) {
	for _, transport := range []string{"memory", "socket"} {
		t.Run(transport, func(t *testing.T) {
			r := newRig(t)
			dial, rounds := r.dial, 3000
			if transport == "socket" {
				addr := r.loopback()
				dial, rounds = func() *testClient { return r.dialTCP(addr) }, 1000
			}
			got := tally{seen: map[string]int{}}
			p := r.dial()
			var left sync.WaitGroup
			for i := range rounds {
				c := dial()
				c.send("BLPOP", "q", "0")
				if i%3 > 0 {
					r.blocked(1)
				}
				left.Add(2)
				go func() {
					defer left.Done()
					c.closeWrite()
				}()
				go func() {
					defer left.Done()
					p.send("RPUSH", "q", fmt.Sprint(i))
					p.reply()
				}()
				left.Wait()
				for s, err := c.read(); err == nil; s, err = c.read() {
					got.add(s)
				}
				c.nc.Close()
				r.blocked(0)
				got.addList(p, "q")
			}
			got.check(t, rounds)
		})
	}
}

// A client that is known to have gone is popped nothing for.
func TestElementPushedAfterAClientLeftStaysInTheList(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		p := dial()
		for range 300 {
			c := dial()
			c.send("BLPOP", "q", "0")
			r.blocked(1)
			c.nc.Close()
			r.blocked(0)
			p.want("RPUSH q a", "(int) 1")
			p.want("LPOP q", `"a"`)
		}
	})
}

func TestTimeoutsThatRaceWithPushesLoseNothing(t *testing.T) {
	r := newRig(t)
	got := tally{seen: map[string]int{}}
	c, p := r.dial(), r.dial()
	const rounds = 3000
	for i := range rounds {
		c.send("BLPOP", "q", "0.01")
		r.blocked(1)
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			r.clock.advance(10 * time.Millisecond)
		}()
		go func() {
			defer both.Done()
			p.send("RPUSH", "q", fmt.Sprint(i))
			p.reply()
		}()
		both.Wait()
		if s := c.reply(); s != "(nil array)" {
			got.add(s)
		} else {
			got.add(p.do("LPOP", "q"))
		}
	}
	got.check(t, rounds)
}

// Many clients push, pop, wait and move at once; nothing is lost or doubled.
func TestElementsSurviveACrowd(t *testing.T) {
	const seed, workers, each = 7, 8, 400
	r := newRig(t)
	got := tally{seen: map[string]int{}}
	var pushers, poppers sync.WaitGroup
	for w := range workers {
		rnd := rand.New(rand.NewPCG(seed, uint64(w)))
		take := []string{"BLPOP", "q1", "q2", "q3", "q0", "60"}
		if w%4 == 0 {
			take = []string{"BLMOVE", "q0", "q1", "LEFT", "RIGHT", "60"}
		}
		c := r.dial()
		pushers.Add(1)
		go func() {
			defer pushers.Done()
			for i := range each {
				c.send("RPUSH", fmt.Sprintf("q%d", rnd.IntN(4)), fmt.Sprint(w*each+i))
				if _, err := c.read(); err != nil {
					t.Errorf("RPUSH: %v", err)
				}
			}
		}()
		d := r.dial()
		poppers.Add(1)
		go func() {
			defer poppers.Done()
			for {
				d.send(take...)
				s, err := d.read()
				switch {
				case err != nil || s == "(nil array)":
					return
				case take[0] == "BLPOP":
					got.add(s)
				}
			}
		}()
	}
	pushers.Wait()
	p := r.dial()
	r.until("all is popped", func() bool { return p.do("EXISTS", "q0", "q1", "q2", "q3") == "(int) 0" })
	r.blocked(workers)
	r.clock.advance(time.Minute)
	poppers.Wait()
	got.check(t, workers*each)
}
