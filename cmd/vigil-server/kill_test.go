package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeUntilKilled pipelines numbered transactions until the server is gone,
// and returns the number of the last one that was acknowledged. Transaction i
// sets a and b to i and appends i to a list: any state in between shows.
func writeUntilKilled(c *client, acked chan<- int) {
	last := 0
	defer func() { acked <- last }()
	const depth = 8
	w := bufio.NewWriter(c.nc)
	for i := 1; ; i += depth {
		for j := i; j < i+depth; j++ {
			fmt.Fprintf(w, "MULTI\r\nSET a %d\r\nSET b %d\r\nRPUSH l %d\r\nINCR n\r\nEXEC\r\n", j, j, j)
		}
		if w.Flush() != nil {
			return
		}
		for j := i; j < i+depth; j++ {
			for range 5 {
				if _, err := c.reply(); err != nil {
					return
				}
			}
			if _, err := c.reply(); err != nil {
				return
			}
			last = j
		}
	}
}

// state reads how far the transactions got, and fails if one is there in part.
func state(t *testing.T, c *client) int {
	t.Helper()
	number := func(command string) int {
		got := c.do(t, command)
		if got == "(nil)" {
			return 0
		}
		n, err := strconv.Atoi(got)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return n
	}
	a, b, n, length := number("GET a"), number("GET b"), number("GET n"), number("LLEN l")
	if a != b || a != n || a != length {
		t.Fatalf("a transaction is there in part: a=%d b=%d n=%d, list of %d", a, b, n, length)
	}
	if length > 0 {
		if last := number("LINDEX l -1"); last != a {
			t.Fatalf("the list ends with %d, want %d", last, a)
		}
	}
	return a
}

func TestKillLosesNothingAcknowledgedUnderAlways(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	for round := range 3 {
		p := launch(t, "--dir", dir, "--appendfsync", "always")
		c := dial(t, p)
		c.do(t, "DEL a b n l")
		acked := make(chan int, 1)
		go writeUntilKilled(c, acked)
		killAfter(t, p, 200+random.IntN(800))
		last := <-acked
		p = launch(t, "--dir", dir, "--appendfsync", "always")
		got := state(t, dial(t, p))
		if got < last {
			t.Fatalf("round %d: %d transactions were acknowledged, %d are there", round, last, got)
		}
		p.signal(t, syscall.SIGKILL)
		p.wait()
	}
}

func TestKillLeavesAPrefixUnderEverySecond(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	c := dial(t, p)
	acked := make(chan int, 1)
	go writeUntilKilled(c, acked)
	killAfter(t, p, 1500)
	last := <-acked
	p = launch(t, "--dir", dir)
	if got := state(t, dial(t, p)); got == 0 || got > last+8 {
		t.Fatalf("%d transactions were acknowledged in 1.5 s, %d are there", last, got)
	}
}

// killAfter kills the server when its own clock has gone on by so many
// milliseconds: the server is asked, so the test does not sleep.
func killAfter(t *testing.T, p *process, millis int) {
	t.Helper()
	c := dial(t, p)
	now := func() int {
		got := strings.Fields(strings.Trim(c.do(t, "TIME"), "[]"))
		s, _ := strconv.Atoi(got[0])
		us, _ := strconv.Atoi(got[1])
		return s*1000 + us/1000
	}
	for end := now() + millis; now() < end; {
	}
	p.signal(t, syscall.SIGKILL)
	p.wait()
}
