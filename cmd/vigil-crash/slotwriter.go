package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// slotKeys is how many keys a client of a cluster has.
const slotKeys = 50

// slotWriter is a client that counts upwards in keys of its own, at the servers that have them.
type slotWriter struct {
	c       *cluster
	name    string
	keys    []*slotKey
	conns   map[int]*client
	r       *rand.Rand
	last    atomic.Int64  // when a write was acknowledged, in ns
	longest time.Duration // between two of these
}

// slotKey is a key: which number was sent last, and which was acknowledged last.
type slotKey struct {
	name         string
	asked, acked int
}

func newSlotWriter(c *cluster, k int) *slotWriter {
	w := &slotWriter{c: c, name: strconv.Itoa(k), conns: map[int]*client{}, r: rand.New(rand.NewPCG(c.r.Uint64(), 1))}
	for n := range slotKeys {
		w.keys = append(w.keys, &slotKey{name: fmt.Sprintf("counter:%d:%d", k, n)})
	}
	return w
}

// run writes until the end, or until a write has turned out to be lost.
func (w *slotWriter) run() error {
	defer w.close()
	for begun := time.Now(); !w.c.stop.Load(); {
		k := w.keys[w.r.IntN(len(w.keys))]
		k.asked = k.acked + 1
		before, ok := w.call(k.name, "SET", k.name, strconv.Itoa(k.asked), "GET")
		if !ok {
			continue
		}
		if err := k.judge(before); err != nil {
			return err
		}
		k.acked = k.asked
		now := time.Now()
		w.longest = max(w.longest, now.Sub(begun))
		begun = now
		w.last.Store(now.UnixNano())
	}
	return nil
}

// close ends the connections.
func (w *slotWriter) close() {
	for _, conn := range w.conns {
		conn.nc.Close()
	}
	clear(w.conns)
}

// judge compares what a key had with what it should.
func (k *slotKey) judge(value string) error {
	n, err := strconv.Atoi(value)
	if value == "(nil)" {
		n, err = 0, nil
	}
	if err != nil || n < k.acked || n > k.asked {
		return fmt.Errorf("%s is %s: %d was acknowledged, %d was asked for", k.name, value, k.acked, k.asked)
	}
	return nil
}

// call calls the server that has a key, following MOVED. It returns false if none replied yet: the call may have been executed.
func (w *slotWriter) call(key string, args ...string) (reply string, ok bool) {
	hint := &w.c.route[commands.KeySlot([]byte(key))]
	at := int(hint.Load())
	conn, err := w.conns[at], error(nil)
	if conn == nil {
		if conn, err = dialPort(w.c.nodes[at].port); err == nil {
			w.conns[at] = conn
		}
	}
	if err == nil {
		err = conn.nc.SetDeadline(time.Now().Add(patience))
	}
	if err == nil {
		reply, err = conn.do(args...)
	}
	switch {
	case err != nil:
		if conn != nil {
			conn.nc.Close()
			delete(w.conns, at)
		}
	case strings.HasPrefix(reply, "-MOVED "):
		if next := w.c.nodeAt(reply[strings.LastIndexByte(reply, ':')+1:]); next >= 0 {
			hint.Store(int32(next))
			return "", false
		}
	case !strings.HasPrefix(reply, "-"):
		return reply, true
	}
	hint.CompareAndSwap(int32(at), int32(w.r.IntN(len(w.c.nodes))))
	time.Sleep(2 * time.Millisecond) // while there is no leader
	return "", false
}

// nodeAt finds a server by its port, -1 if there is none.
func (c *cluster) nodeAt(port string) int {
	for i, n := range c.nodes {
		if strconv.Itoa(n.port) == port {
			return i
		}
	}
	return -1
}
