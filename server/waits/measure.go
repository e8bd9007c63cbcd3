package waits

import (
	"fmt"
	"strings"
	"time"
)

// Case is the most costly use of a command.
type Case struct {
	Command string // its name in the table, in upper case
	What    string // what is big, in a few words
	Bytes   bool   // the size counts bytes, not elements

	Before func(c *Client, n int) // makes what the call works on; nil: nothing
	Call   func(c *Client, n int) // makes the call, and reads its reply
}

// Key is the key that cases make big, or the first of those that they name.
const Key = "big"

// Result is what the other clients found.
type Result struct {
	Took    time.Duration // the call itself
	Anyone  time.Duration // the longest that a PING waited
	SameKey time.Duration // the longest that a call for the very key waited
}

// Measure runs a case against the server at addr, which it empties before and
// after. The clients that wait are there before the call, while it runs, and
// until its client, which leaves then, is gone.
func (k *Case) Measure(addr string, n int) (res Result, err error) {
	control, err := Dial(addr)
	if err != nil {
		return res, err
	}
	defer control.Close()
	control.Do("FLUSHALL")
	hostile, err := Dial(addr)
	if err != nil {
		return res, err
	}
	defer func() { hostile.Close() }()
	if k.Before != nil {
		k.Before(hostile, n)
	}
	ping, err := probe(addr, "PING")
	if err != nil {
		return res, err
	}
	same, err := probe(addr, "TYPE", Key)
	if err != nil {
		return res, err
	}
	began := time.Now()
	k.Call(hostile, n)
	res.Took = time.Since(began)
	hostile.Close()
	for end := time.Now().Add(time.Minute); control.clients() > 3; {
		if time.Now().After(end) {
			control.fail(fmt.Errorf("the client is still there a minute after it left"))
		}
		time.Sleep(time.Millisecond)
	}
	res.Anyone, res.SameKey = ping.stop(), same.stop()
	control.Do("FLUSHALL")
	for _, c := range []*Client{hostile, control, ping.c, same.c} {
		if c.Err() != nil {
			return res, fmt.Errorf("%s, %s: %w", k.Command, k.What, c.Err())
		}
	}
	return res, nil
}

// clients counts the connections of the server, this one included; 0 after an
// error.
func (c *Client) clients() int {
	c.Keep("INFO", "clients")
	n := 0
	if _, after, ok := strings.Cut(string(c.text), "connected_clients:"); ok && c.err == nil {
		fmt.Sscanf(after, "%d", &n)
	}
	return n
}

// waiter is a client that asks for something short all the time.
type waiter struct {
	c       *Client
	ended   chan struct{}      // closed by stop
	longest chan time.Duration // one, when it has stopped
}

// pace is how often a waiter asks: rarely enough to leave the processors to the
// server.
const pace = time.Millisecond

func probe(addr string, call ...string) (*waiter, error) {
	c, err := Dial(addr)
	if err != nil {
		return nil, err
	}
	w := &waiter{c: c, ended: make(chan struct{}), longest: make(chan time.Duration, 1)}
	c.Do(call...) // the first call costs more than others
	go w.ask(call)
	return w, nil
}

// ask ends after stop.
func (w *waiter) ask(call []string) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	var worst time.Duration
	for {
		began := time.Now()
		w.c.Do(call...)
		worst = max(worst, time.Since(began))
		select {
		case <-w.ended:
			w.longest <- worst
			return
		case <-tick.C:
		}
	}
}

// stop ends the waiter and returns the longest time that it waited.
func (w *waiter) stop() time.Duration {
	close(w.ended)
	defer w.c.Close()
	return <-w.longest
}
