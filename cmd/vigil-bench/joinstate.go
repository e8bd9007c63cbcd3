package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

const (
	// bulkBytes is the size of a value of the data that a new member gets, a multiple of 8.
	bulkBytes = 1000
	// bulkBatch is how many values are sent before their replies are read: the server is kept busy, and the buffer is small.
	bulkBatch = 256
	// bulkSample is how many of the values are compared at the new member.
	bulkSample = 10_000
)

// bulk is data that is written once. Its values are not kept: each follows from its number.
type bulk struct {
	keys int
	took time.Duration // to write all
}

func bulkKey(i int) string { return fmt.Sprintf("val:%012d", i) }

// appendBulk appends the value with this number: random bytes, so that no compression makes the state smaller.
func appendBulk(b []byte, number int) []byte {
	chance := rand.NewPCG(uint64(number), 1)
	for range bulkBytes / 8 {
		b = binary.LittleEndian.AppendUint64(b, chance.Uint64())
	}
	return b
}

// load writes all values.
func (k *bulk) load(port int) error {
	c, err := dial(port)
	if err != nil {
		return err
	}
	defer c.Close()
	began := time.Now()
	var b []byte
	for first := 0; first < k.keys; first += bulkBatch {
		b = b[:0]
		last := min(first+bulkBatch, k.keys)
		for i := first; i < last; i++ {
			b = fmt.Appendf(b, "*3\r\n$3\r\nSET\r\n$16\r\n%s\r\n$%d\r\n", bulkKey(i), bulkBytes)
			b = append(appendBulk(b, i), "\r\n"...)
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		if err := c.replies(last - first); err != nil {
			return err
		}
	}
	k.took = time.Since(began)
	return nil
}

// check compares a sample, at a server that has been told READONLY if it is a follower.
func (k *bulk) check(calls *router, port int) error {
	for i := 0; i < k.keys; i += max(1, k.keys/bulkSample) {
		v, err := calls.at(port, "GET", bulkKey(i))
		if err != nil {
			return fmt.Errorf("GET %s: %w", bulkKey(i), err)
		}
		if v != string(appendBulk(nil, i)) {
			return fmt.Errorf("%s is %.20q at the new member, which is not what was written", bulkKey(i), fmt.Sprint(v))
		}
	}
	return nil
}

// standing is how far a member has come, as its leader says.
type standing struct {
	last  int64 // the leader's own last entry
	entry int64 // the last one that the member has, 0 if it is not in the group yet
}

// standingOf reads a reply to VIGIL.CLUSTER STATUS.
func standingOf(reply any, port int) (s standing) {
	group := pairsOf(reply)
	s.last, _ = group["last-entry"].(int64)
	members, _ := group["members"].([]any)
	for _, v := range members {
		m := pairsOf(v)
		if address, _ := m["address"].(string); strings.HasSuffix(address, ":"+strconv.Itoa(port)) {
			s.entry, _ = m["entry"].(int64)
		}
	}
	return s
}

// complete reports whether the member lacks nothing that the leader had a look ago. While clients write it always lacks some
// of what the leader has now.
func (s *standing) complete(before int64) bool { return before > 0 && s.entry >= before }

// transfer is what came of states. The server counts the bytes of one from 0 on, and says 0 when it is over: it is over too
// soon if another one begins.
type transfer struct {
	begun        int
	earlier, now int64         // bytes: of those that are over, and of the one that is on its way
	first, last  time.Duration // since the new server was started: when some of it came
}

// note takes what the server says at a time since it was started.
func (t *transfer) note(bytes int64, at time.Duration) {
	if bytes < t.now {
		t.earlier, t.now = t.earlier+t.now, 0
	}
	if bytes == t.now { // of a state that stands still too
		return
	}
	if t.bytes() == 0 {
		t.first = at
	}
	if t.now == 0 {
		t.begun++
	}
	t.now, t.last = bytes, at
}

// bytes is the sum of all.
func (t *transfer) bytes() int64 { return t.earlier + t.now }

// took is how long they came.
func (t *transfer) took() time.Duration { return t.last - t.first }

// String says how they came, in a sentence.
func (t *transfer) String() string {
	if t.begun == 0 {
		return "The log of the leader had all of it."
	}
	again := ""
	if t.begun > 1 {
		again = fmt.Sprintf(", in %d attempts", t.begun)
	}
	mb := float64(t.bytes()) / 1e6
	return fmt.Sprintf("What the log of the leader had no more, %.1f MB, came from %.2f to %.2f s%s: %.0f MB/s.",
		mb, t.first.Seconds(), t.last.Seconds(), again, mb/max(t.took().Seconds(), 1e-9))
}
