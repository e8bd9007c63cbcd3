package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// history is what the clients of a directory have done, over all rounds.
type history struct {
	ended   ending    // how the last process did
	endedAt time.Time // when
	model   model     // the state after the transactions that the last check found
	err     error     // a reply that must not be, found while writing

	done  []time.Time // when each transaction since was acknowledged
	sent  int         // transactions that were sent since
	lone  counter     // SETs without a transaction
	queue queue
}

// counter counts writes of rising numbers to one key.
type counter struct{ acked, sent int }

// queue is what went through the list q.
type queue struct{ pushed, sentPush, popped int }

func newHistory() *history { return &history{model: newModel()} }

// check compares what the server has with the history, and makes it the state to
// go on from. It returns how many transactions were acknowledged since the last
// check, how many of these are lost, and how old the oldest loss was.
func (h *history) check(c *client) (acked, lost int, oldest time.Duration, err error) {
	got, err := c.do("GET", "n")
	if err != nil {
		return 0, 0, 0, err
	}
	n := number(got)
	acked = len(h.done)
	if n < h.model.n || n > h.model.n+h.sent {
		return acked, 0, 0, fmt.Errorf("%d transactions are there, of %d that were and %d that came", n, h.model.n, h.sent)
	}
	if lost = max(0, h.model.n+acked-n); lost > 0 {
		oldest = h.endedAt.Sub(h.done[acked-lost])
	}
	if lost > 0 {
		return acked, lost, oldest, fmt.Errorf("lost %d acknowledged transactions, the oldest %v before the end", lost, oldest)
	}
	for h.model.n < n {
		h.model.step()
	}
	if err := h.model.compare(c); err != nil {
		return acked, lost, oldest, fmt.Errorf("at transaction %d: %w", n, err)
	}
	h.done, h.sent = nil, 0
	return acked, lost, oldest, errors.Join(h.checkLone(c), h.checkQueue(c))
}

func (h *history) checkLone(c *client) error {
	got, err := c.do("GET", "lone")
	if err != nil {
		return err
	}
	n := number(got)
	if n > h.lone.sent || n < h.lone.acked {
		return fmt.Errorf("lone is %d: %d was acknowledged, %d sent", n, h.lone.acked, h.lone.sent)
	}
	h.lone = counter{n, n}
	return nil
}

// checkQueue: what is in the list are successive numbers, all that were pushed and none that was
// popped, but for those under way.
func (h *history) checkQueue(c *client) error {
	got, err := c.do("LRANGE", "q", "0", "-1")
	if err != nil {
		return err
	}
	items := strings.Fields(got)
	last := 0
	for i, item := range items {
		if n := number(item); i > 0 && n != last+1 {
			return fmt.Errorf("the queue has %d behind %d", n, last)
		}
		last = number(item)
	}
	q := &h.queue
	if len(items) > 0 && number(items[0]) <= q.popped {
		return fmt.Errorf("the queue begins with %s, but %d was popped", items[0], q.popped)
	}
	if last < q.pushed && q.popped+1 < q.pushed {
		return fmt.Errorf("the queue ends with %d, but %d was pushed and %d popped", last, q.pushed, q.popped)
	}
	_, err = c.do("DEL", "q")
	*q = queue{}
	return err
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// begin starts the clients. They end when the server is gone.
func (h *history) begin(p *process, c *client, r *rand.Rand) *sync.WaitGroup {
	load := &sync.WaitGroup{}
	base, depth := h.model, 1+r.IntN(16)
	load.Go(func() { h.transact(c, base, depth) })
	for _, f := range []func(c *client){h.writeLone, h.push, h.pop} {
		if other, err := p.dial(); err == nil {
			load.Go(func() { f(other) })
		}
	}
	if kind := r.IntN(4); kind < 2 {
		if other, err := p.dial(); err == nil {
			load.Go(func() { maintain(other, kind) })
		}
	}
	return load
}

// transact writes numbered transactions, depth of them at a time.
func (h *history) transact(c *client, m model, depth int) {
	defer c.nc.Close()
	for {
		for range depth {
			m.send(c)
			h.sent++
		}
		if c.w.Flush() != nil {
			return
		}
		for range depth {
			var got string
			var err error
			for range transactionReplies {
				if got, err = c.reply(); err != nil {
					return
				}
			}
			if strings.HasPrefix(got, "-") {
				h.err = fmt.Errorf("a transaction was answered with %s", got)
				return
			}
			h.done = append(h.done, time.Now())
		}
	}
}

func (h *history) writeLone(c *client) {
	defer c.nc.Close()
	for {
		h.lone.sent++
		if got, err := c.do("SET", "lone", strconv.Itoa(h.lone.sent)); err != nil || got != "OK" {
			return
		}
		h.lone.acked = h.lone.sent
	}
}

func (h *history) push(c *client) {
	defer c.nc.Close()
	for {
		h.queue.sentPush++
		if got, err := c.do("RPUSH", "q", strconv.Itoa(h.queue.sentPush)); err != nil || strings.HasPrefix(got, "-") {
			return
		}
		h.queue.pushed = h.queue.sentPush
	}
}

func (h *history) pop(c *client) {
	defer c.nc.Close()
	for {
		got, err := c.do("BLPOP", "q", "0")
		if err != nil || !strings.HasPrefix(got, "q ") {
			return
		}
		h.queue.popped = number(got[2:])
	}
}

// maintain keeps the server at snapshots, or at writing values to their keys.
func maintain(c *client, kind int) {
	defer c.nc.Close()
	command := [][]string{{"SAVE"}, {"DEBUG", "RELOAD"}}[kind]
	for {
		if _, err := c.do(command...); err != nil {
			return
		}
	}
}
