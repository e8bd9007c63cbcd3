package transport

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The replies of earlier turns do not wait for the end of a long one.
func TestLongTurnDoesNotHoldRepliesOfOthers(t *testing.T) {
	k := newStuck()
	var first, slow *client
	r := newRig(t, func(s *lineSession, line string) {
		if line == "begin" {
			// Both are ready when this turn ends: one round serves them, in this order.
			first.send("a\n")
			slow.send("stuck\n")
		}
		k.call(s, line)
	})
	_, first = r.socket()
	_, slow = r.socket()
	_, begin := r.socket()
	begin.send("begin\n")
	<-k.began
	first.want("a")
	begin.want("begin")
	k.end <- struct{}{}
	slow.want("stuck")
}

// A client's replies arrive in order, though long ones are not held.
func TestLongReplyStaysBehindShortOnes(t *testing.T) {
	r := newRig(t, func(s *lineSession, line string) {
		n, _ := strconv.Atoi(line)
		echo(s, strings.Repeat("x", n))
	})
	s, c := r.socket()
	sizes := []int{1, 2, 3 * holdRoom, 4, holdRoom, 6, 7, 16 << 20, 9, 10}
	for range 2 {
		for _, n := range sizes {
			c.send(strconv.Itoa(n) + "\n")
			s.conn.Wake() // another turn in the same round, perhaps
		}
		for _, n := range sizes {
			c.want(strings.Repeat("x", n))
		}
	}
}

// A client's last reply is sent before its connection is closed.
func TestReplyOfTheLastTurnIsSent(t *testing.T) {
	r := newRig(t, func(s *lineSession, line string) {
		echo(s, line)
		s.closing = line == "quit"
	})
	_, c := r.socket()
	c.send("a\nb\nquit\nc\n")
	c.want("a")
	c.want("b")
	c.want("quit")
	c.ended()
}

// A long reply does not overtake the one that its client's last turn left behind.
func TestLongReplyStaysBehindTheTurnBefore(t *testing.T) {
	long := strings.Repeat("x", 3*holdRoom)
	r := newRig(t, func(s *lineSession, line string) {
		echo(s, line)
		s.message = long + "\n"
		s.conn.Wake() // its next turn is in the same round
	})
	_, c := r.socket()
	for range 20 {
		c.send("a\n")
		c.want("a")
		c.want(long)
	}
}

// A client that reads none of its short replies is not run on and on, and they are
// all there when it reads.
func TestHeldRepliesDoNotPileUp(t *testing.T) {
	// Some leave more of the last reply than the socket took of it, some less.
	for _, n := range []int{8192, 9000, 11000, 13000} {
		// Of one length, so that what is left of one would lie where the next is held.
		long, others := strings.Repeat("x", n), strings.Repeat("o", n)
		r := newRig(t, func(s *lineSession, line string) {
			if line == "long" {
				line = long
			} else {
				line = others
			}
			echo(s, line)
		})
		s, c := r.socket()
		_, other := r.socket()
		sent := int64(0)
		for s.fed.Load() == sent {
			c.send("long\n")
			sent++
			for range 10 { // rounds of the loop
				other.send("o\n")
				other.want(others)
			}
			if sent*int64(n) > 64<<20 {
				t.Fatalf("%d lines were run for a client that does not read", sent)
			}
		}
		for range sent {
			c.want(long)
		}
	}
}

// Clients with calls and replies of all sizes, some read late, get exactly their
// own replies.
func TestRepliesOfManyClientsAreTheirOwn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := newRig(t, func(s *lineSession, line string) {
		name, count, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(count)
		echo(s, strings.Repeat(name, n))
	})
	var clients sync.WaitGroup
	defer clients.Wait()
	for i := range 16 {
		_, c := r.socket()
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			for call := 0; call < 300; {
				var calls, replies strings.Builder
				for range 1 + random.IntN(20) {
					n := 1 << random.IntN(8+random.IntN(10))
					name := fmt.Sprintf("<%d.%d>", i, call)
					fmt.Fprintf(&calls, "%s %d\n", name, n)
					fmt.Fprintf(&replies, "%s\n", strings.Repeat(name, n))
					call++
				}
				if err := exchange(c.nc, c.r, calls.String(), replies.String()); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
}

// exchange sends calls and reads replies, which have to be the ones that are wanted.
func exchange(w io.Writer, r *bufio.Reader, calls, want string) error {
	if _, err := io.WriteString(w, calls); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("got other replies to %.200q", calls)
	}
	return nil
}
