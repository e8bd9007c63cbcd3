package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/structures/aof"
)

// Consumers of changes read the stream by themselves, from a position that they keep: a server knows nothing of them, and
// one that is slow or away costs nothing. What the backlog does not have any more they do not get, and are told so (ADR 0111).

var (
	// ErrGone is returned for a position behind which the backlog has lost something, and for one of another stream.
	ErrGone = errors.New("source: the changes behind the position are gone")
	// ErrNoPosition is returned for what is no position, and for one at which no command begins.
	ErrNoPosition = errors.New("source: no change begins at the position")
)

const (
	// mostRead is how much of the stream one call reads, unless a transaction is longer.
	mostRead = 4 << 20
	// mostReply is how long the changes of one call are, unless a transaction is longer.
	mostReply = 1 << 20
	// changeBytes is what a change takes beside its arguments.
	changeBytes = 64
)

// Position is a place between commands of a stream, and none within a transaction.
type Position struct {
	ID     string // of the stream
	Offset int64
	DB     int // database that is selected there
}

// String is the position as consumers keep it.
func (p Position) String() string { return fmt.Sprintf("%s-%d-%d", p.ID, p.Offset, p.DB) }

// ParsePosition reads what String wrote.
func ParsePosition(s string) (p Position, err error) {
	words := strings.Split(s, "-")
	if len(words) != 3 || len(words[0]) != 40 {
		return p, ErrNoPosition
	}
	offset, err1 := strconv.ParseInt(words[1], 10, 64)
	db, err2 := strconv.Atoi(words[2])
	if err1 != nil || err2 != nil || offset < 0 || db < 0 {
		return p, ErrNoPosition
	}
	return Position{words[0], offset, db}, nil
}

// Query is what a consumer asks for.
type Query struct {
	DBs      []int    // none: all
	Prefixes [][]byte // of keys; none: all
	Count    int      // changes at most, unless a transaction has more
	KeysOnly bool     // each key once, with the last command about it, and no other arguments
}

// Change is a command that changed something. A change of many keys, as FLUSHDB, has no key.
type Change struct {
	DB   int
	Args [][]byte
}

// Read is what a call found.
type Read struct {
	Next    Position // where the next call goes on
	Changes []Change
	Behind  int64 // bytes of the stream behind Next
}

// Newest returns the end of the stream, which begins if there is none: all later changes are behind it. It locks all
// shards for a moment then, and the caller holds none of them.
func (s *Source) Newest() (Position, error) {
	if err := s.follow(); err != nil {
		return Position{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed == nil {
		return Position{}, ErrGone
	}
	s.visitedLocked()
	return Position{s.id, s.log.end, max(s.db, 0)}, nil
}

// visitedLocked keeps the stream for as long as it is kept behind the last replica.
func (s *Source) visitedLocked() {
	if len(s.replicas) == 0 {
		s.left = s.o.Now()
	}
}

// Changes returns the changes behind a position that a consumer asks for, in their order and whole transactions only. It reads a
// bounded part of the stream: no changes do not say that there are none further on, Behind does. If it has reached the end,
// Options.Grew is called when there is more.
func (s *Source) Changes(from Position, q *Query) (Read, error) {
	s.mu.Lock()
	end := max(s.shown, from.Offset)
	s.visitedLocked()
	s.mu.Unlock()
	t := tail{s: s, id: from.ID, at: from.Offset, end: end}
	if err := t.check(); err != nil {
		return Read{}, err
	}
	c := collector{q: q, db: from.DB, next: from}
	limits := aof.Limits{Arg: uint64(end - from.Offset), Args: uint64(end - from.Offset), Stream: true}
	in := aof.NewReader(&t, from.Offset, limits)
	for !c.full() {
		args, err := in.Next()
		switch {
		case err == io.EOF && !c.multi:
			s.await(c.next.Offset)
			return c.read(end), nil
		case errors.Is(err, ErrGone):
			return Read{}, ErrGone
		case err != nil:
			return Read{}, ErrNoPosition
		}
		if err := c.command(args, in.End()); err != nil {
			return Read{}, err
		}
	}
	return c.read(end), nil
}

// await calls Grew once there is something behind an offset.
func (s *Source) await(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awaited = true; s.shown > offset {
		s.grewLocked()
	}
}

func (s *Source) grewLocked() {
	if s.awaited {
		s.awaited = false
		s.o.Grew()
	}
}

// tail reads the backlog up to what was its end.
type tail struct {
	s       *Source
	id      string
	at, end int64
}

// check looks whether the backlog still has what is to be read.
func (t *tail) check() error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.checkLocked()
}

func (t *tail) checkLocked() error {
	if t.s.feed == nil || t.id != t.s.id || !t.s.log.has(t.at) {
		return ErrGone
	}
	return nil
}

// Read reads some bytes.
func (t *tail) Read(p []byte) (int, error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err := t.checkLocked(); err != nil {
		return 0, err
	}
	n := int(min(int64(len(p)), t.end-t.at))
	if n == 0 {
		return 0, io.EOF
	}
	t.s.log.read(p[:0], t.at, n)
	t.at += int64(n)
	return n, nil
}

// collector keeps the changes that a consumer asks for.
type collector struct {
	q     *Query
	db    int
	multi bool
	next  Position
	begun int64 // bytes read
	bytes int
	found []Change
	last  map[string]int // in found, of each key; for KeysOnly
	gaps  int            // in found, of keys that came again
}

func (c *collector) full() bool {
	return !c.multi && (c.begun >= mostRead || c.bytes >= mostReply || c.q.Count > 0 && len(c.found)-c.gaps >= c.q.Count)
}

func (c *collector) read(end int64) Read {
	found := slices.DeleteFunc(c.found, func(o Change) bool { return o.Args == nil })
	return Read{Next: c.next, Changes: found, Behind: end - c.next.Offset}
}

// command takes a command, which ends at an offset.
func (c *collector) command(args [][]byte, end int64) error {
	switch string(args[0]) {
	case "PING", "REPLCONF", "PUBLISH", "SPUBLISH", "FUNCTION": // which are not about keys
	case "SELECT":
		db, err := strconv.Atoi(string(args[len(args)-1]))
		if err != nil || db < 0 {
			return ErrNoPosition
		}
		c.db = db
	case "MULTI":
		c.multi = true
	case "EXEC":
		c.multi = false
	default:
		c.change(args)
	}
	if !c.multi {
		c.begun += end - c.next.Offset
		c.next.Offset, c.next.DB = end, c.db
	}
	return nil
}

// change takes a command that changes something.
func (c *collector) change(args [][]byte) {
	name, key := keyOf(args)
	switch {
	case name == "SWAPDB" && !c.swaps(args):
		return
	case name != "SWAPDB" && len(c.q.DBs) > 0 && !slices.Contains(c.q.DBs, c.db):
		return
	case key >= 0 && len(c.q.Prefixes) > 0 && !slices.ContainsFunc(c.q.Prefixes, func(p []byte) bool { return bytes.HasPrefix(args[key], p) }):
		return
	case key >= 0 && (name == untold || c.q.KeysOnly):
		args = [][]byte{[]byte(name), args[key]}
	}
	if key >= 0 && c.q.KeysOnly {
		c.forget(args[1])
	}
	o := Change{DB: c.db, Args: make([][]byte, len(args))}
	c.bytes += changeBytes
	for i, a := range args {
		o.Args[i] = slices.Clone(a)
		c.bytes += len(a) + changeBytes
	}
	c.found = append(c.found, o)
}

// forget leaves a gap for what came of a key before.
func (c *collector) forget(key []byte) {
	if c.last == nil {
		c.last = map[string]int{}
	}
	id := strconv.Itoa(c.db) + " " + string(key)
	if at, ok := c.last[id]; ok {
		c.found[at].Args = nil
		c.gaps++
	}
	c.last[id] = len(c.found)
}

// swaps reports whether SWAPDB is about a database that the consumer asks for.
func (c *collector) swaps(args [][]byte) bool {
	return len(c.q.DBs) == 0 || slices.ContainsFunc(args[1:], func(a []byte) bool {
		db, err := strconv.Atoi(string(a))
		return err == nil && slices.Contains(c.q.DBs, db)
	})
}

// untold is the name of a change of a value that the stream has no commands for, as the types of modules.
const untold = "CHANGED"

// keyOf returns the name of a command and which argument is its key, -1 if it has none.
func keyOf(args [][]byte) (name string, key int) {
	name, key = string(args[0]), 1
	switch name {
	case "FLUSHDB", "SWAPDB":
		return name, -1
	case "UNLINK": // see persistence.Feed: the key is there, and replicas do not get its value
		name = untold
	case "XGROUP":
		key = 2
	}
	if len(args) <= key {
		key = -1
	}
	return name, key
}
