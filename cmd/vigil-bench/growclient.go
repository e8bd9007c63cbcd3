package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// A client of a Redis Cluster as libraries have it: it knows which server has each slot, goes where MOVED and ASK send it,
// and repeats what is TRYAGAIN. Everything else that goes wrong is counted as an error that the program sees.

const (
	// tryAgainPause is how long a client waits after TRYAGAIN.
	tryAgainPause = 5 * time.Millisecond
	// callPatience is how long a call is sent from one server to another before that is an error.
	callPatience = 30 * time.Second
	// writtenBytes is the size of a value: its number, and blanks behind it.
	writtenBytes = 100
)

// errorReply is a reply that begins with a minus.
type errorReply string

func (e errorReply) Error() string { return string(e) }

// value sends a command and returns the reply: a string, an int64, nil, or a []any of these. An error reply is an error.
func (c *conn) value(args ...string) (any, error) {
	if _, err := c.Write(appendCommand(nil, args)); err != nil {
		return nil, err
	}
	return c.readValue()
}

func (c *conn) readValue() (any, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, line := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '+':
		return line, nil
	case '-':
		return nil, errorReply(line)
	}
	n, err := strconv.ParseInt(line, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reply %c%s: %w", kind, line, err)
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		body := make([]byte, n+2)
		_, err := io.ReadFull(c.r, body)
		return string(body[:n]), err
	case kind != '*':
		return nil, fmt.Errorf("reply %c%s", kind, line)
	}
	all := make([]any, n)
	for i := range all {
		if all[i], err = c.readValue(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// route says at which port the master of each slot is. Clients share it, as those of a program do.
type route struct {
	at     [commands.Slots]atomic.Int32
	asking sync.Mutex   // held while CLUSTER SLOTS is called
	asked  atomic.Int64 // when that was, in ns
}

// routePause is the least time between two calls of CLUSTER SLOTS, which MOVED causes.
const routePause = 100 * time.Millisecond

// learn notes all owners of slots as a server says, if they were not asked for a moment ago: MOVED is about one slot,
// and others have often gone with it.
func (r *router) learn(port int) {
	t := r.route
	if now := time.Now().UnixNano(); now-t.asked.Load() < int64(routePause) || !t.asking.TryLock() {
		return
	}
	defer t.asking.Unlock()
	if v, err := r.at(port, "CLUSTER", "SLOTS"); err == nil {
		if all, err := ownersIn(v); err == nil {
			t.set(all)
		}
	}
	t.asked.Store(time.Now().UnixNano())
}

func (t *route) set(owners *[commands.Slots]int) {
	for slot, port := range owners {
		t.at[slot].Store(int32(port))
	}
}

// router calls the servers of a cluster. It is for one goroutine.
type router struct {
	route          *route
	conns          map[int]*conn
	moved, tryings int // replies MOVED and ASK, and TRYAGAIN
}

func newRouter(r *route) *router { return &router{route: r, conns: map[int]*conn{}} }

func (r *router) close() {
	for _, c := range r.conns {
		c.Close()
	}
}

// at calls the server at a port. The connection is closed when it fails.
func (r *router) at(port int, args ...string) (any, error) {
	c := r.conns[port]
	if c == nil {
		var err error
		if c, err = dial(port); err != nil {
			return nil, err
		}
		r.conns[port] = c
	}
	if err := c.SetDeadline(time.Now().Add(callPatience)); err != nil {
		return nil, err
	}
	v, err := c.value(args...)
	var said errorReply
	if err != nil && !errors.As(err, &said) {
		c.Close()
		delete(r.conns, port)
	}
	return v, err
}

// do calls the server that has a key.
func (r *router) do(key string, args ...string) (any, error) {
	slot := commands.KeySlot([]byte(key))
	port := int(r.route.at[slot].Load())
	for end := time.Now().Add(callPatience); ; {
		v, err := r.at(port, args...)
		var said errorReply
		if err == nil || !errors.As(err, &said) || time.Now().After(end) {
			return v, err
		}
		word, rest, _ := strings.Cut(string(said), " ")
		switch word {
		case "MOVED", "ASK":
			next, e := strconv.Atoi(rest[strings.LastIndexByte(rest, ':')+1:])
			if e != nil {
				return nil, err
			}
			r.moved++
			if port = next; word == "MOVED" {
				r.route.at[slot].Store(int32(port))
				r.learn(port)
			} else if _, err := r.at(port, "ASKING"); err != nil {
				return nil, err
			}
		case "TRYAGAIN":
			r.tryings++
			time.Sleep(tryAgainPause)
		default:
			return nil, err
		}
	}
}

// written is what a client knows of one of its keys: the number of the last write that was acknowledged or read, and the
// number of the last one that was sent. Between these are writes that ended with an error, which may have happened.
type written struct {
	key         string
	known, sent int64
}

// check compares the value that the key has. It returns false if an acknowledged write is not there.
func (w *written) check(v any) bool {
	text, _ := v.(string)
	n, err := strconv.ParseInt(strings.TrimRight(text, " "), 10, 64)
	if v == nil {
		n, err = 0, nil
	}
	if err != nil || n < w.known || n > w.sent {
		return false
	}
	w.known = n
	return true
}

// keyWriter is a client that writes numbered values to keys of its own. Each write returns the value that was there before
// (SET with GET), so each is checked by the next one.
type keyWriter struct {
	router *router
	keys   []written
	took   [phases][]time.Duration // of writes that were acknowledged
	moved  [phases]int
	again  [phases]int
	failed [phases]int
	first  error // of failed
	lost   []string
}

// run writes to keys drawn by lot until stop is set.
func (n *keyWriter) run(phase *atomic.Int32, stop *atomic.Bool, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 1))
	for !stop.Load() {
		n.write(&n.keys[chance.IntN(len(n.keys))], int(phase.Load()))
	}
}

func (n *keyWriter) write(w *written, phase int) {
	w.sent++
	moved, again := n.router.moved, n.router.tryings
	value := fmt.Sprintf("%-*d", writtenBytes, w.sent)
	began := time.Now()
	v, err := n.router.do(w.key, "SET", w.key, value, "GET")
	n.moved[phase] += n.router.moved - moved
	n.again[phase] += n.router.tryings - again
	if err != nil {
		n.fail(phase, err)
		return
	}
	n.took[phase] = append(n.took[phase], time.Since(began))
	if !w.check(v) {
		n.lose(w, v)
	}
	w.known = w.sent
}

func (n *keyWriter) fail(phase int, err error) {
	if n.failed[phase]++; n.first == nil {
		n.first = err
	}
	time.Sleep(tryAgainPause) // a server that is down is not to be asked as fast as one can
}

func (n *keyWriter) lose(w *written, v any) {
	n.lost = append(n.lost, fmt.Sprintf("%s is %.20q, and writes %d to %d were acknowledged or sent", w.key, fmt.Sprint(v), w.known, w.sent))
}

// fill writes each key once, readBack reads each.
func (n *keyWriter) fill() error {
	for i := range n.keys {
		if n.write(&n.keys[i], preparing); n.first != nil {
			return n.first
		}
	}
	return nil
}

func (n *keyWriter) readBack() error {
	for i := range n.keys {
		w := &n.keys[i]
		v, err := n.router.do(w.key, "GET", w.key)
		if err != nil {
			return fmt.Errorf("GET %s: %w", w.key, err)
		}
		if !w.check(v) {
			n.lose(w, v)
		}
	}
	return nil
}

// each lets all clients do something at the same time.
func each(all []*keyWriter, do func(n *keyWriter) error) error {
	failed := make([]error, len(all))
	var clients sync.WaitGroup
	for i, n := range all {
		clients.Go(func() { failed[i] = do(n) })
	}
	clients.Wait()
	return errors.Join(failed...)
}
