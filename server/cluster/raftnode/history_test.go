package raftnode

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Clients append numbers, none twice, to lists, and read them whole. So the last list
// tells in which order the writes happened, and of each read which of them it saw: where
// Porcupine searches for an order, a pass over the operations finds whether there is one.

type outcome int

const (
	unknown outcome = iota // executed or not
	refused                // not executed
	done
)

type operation struct {
	key        string
	id         uint32
	write      bool
	list       []uint32 // read, or what a write has made
	begin, end time.Duration
	outcome    outcome
}

// history is what clients did, by key.
type history map[string][]*operation

func (h history) begin(key string, write bool, now time.Duration) *operation {
	op := &operation{key: key, id: uint32(len(h[key])) + 1, write: write, begin: now}
	h[key] = append(h[key], op)
	return op
}

// count returns how many operations there are with an outcome.
func (h history) count(o outcome) (n int) {
	for _, ops := range h {
		for _, op := range ops {
			if op.outcome == o {
				n++
			}
		}
	}
	return n
}

// violation returns why a history is not linearizable, or "".
func (h history) violation() string {
	for key, ops := range h {
		if v := violation(ops); v != "" {
			return key + ": " + v
		}
	}
	return ""
}

func violation(ops []*operation) string {
	var last []uint32
	for _, op := range ops {
		if op.outcome == done && len(op.list) > len(last) {
			last = op.list
		}
	}
	place := map[uint32]int{} // of a write in the list, from 1
	for i, id := range last {
		if place[id] != 0 {
			return fmt.Sprintf("write %d counts twice", id)
		}
		if id == 0 || int(id) > len(ops) || !ops[id-1].write || ops[id-1].outcome == refused {
			return fmt.Sprintf("write %d counts, but was not made", id)
		}
		place[id] = i + 1
	}
	type moment struct {
		at  time.Duration
		end bool
		op  *operation
	}
	var moments []moment
	version := func(op *operation) int {
		if op.write {
			return place[op.id]
		}
		return len(op.list)
	}
	for _, op := range ops {
		if op.outcome == done {
			if !slices.Equal(op.list, last[:len(op.list)]) {
				return fmt.Sprintf("%d saw %v, and another one %v", op.id, op.list, last)
			}
			if op.write && place[op.id] != len(op.list) {
				return fmt.Sprintf("write %d is %d. of %v, and was told %d", op.id, place[op.id], last, len(op.list))
			}
			moments = append(moments, moment{op.end, true, op})
		}
		if op.outcome == done || op.write && place[op.id] != 0 {
			moments = append(moments, moment{op.begin, false, op})
		}
	}
	// At the same time beginnings come first: the operations overlap.
	slices.SortStableFunc(moments, func(a, b moment) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return 1
		}
		return -1
	})
	newest := 0 // that a client knew
	for _, m := range moments {
		switch v := version(m.op); {
		case m.end:
			newest = max(newest, v)
		case v < newest, m.op.write && v == newest:
			return fmt.Sprintf("%d, begun at %v, is in version %d, but %d was known", m.op.id, m.op.begin, v, newest)
		}
	}
	return ""
}

func TestHistoriesAreJudged(t *testing.T) {
	write := func(id uint32, begin, end time.Duration, o outcome, list ...uint32) *operation {
		return &operation{"", id, true, list, begin, end, o}
	}
	read := func(id uint32, begin, end time.Duration, list ...uint32) *operation {
		return &operation{"", id, false, list, begin, end, done}
	}
	for name, c := range map[string]struct {
		right bool
		ops   []*operation
	}{
		"nothing":                         {true, nil},
		"one after the other":             {true, []*operation{write(1, 0, 1, done, 1), read(2, 2, 3, 1)}},
		"a read beside a write":           {true, []*operation{write(1, 0, 5, done, 1), read(2, 2, 3)}},
		"a stale read":                    {false, []*operation{write(1, 0, 1, done, 1), read(2, 2, 3), read(3, 4, 5, 1)}},
		"a lost write":                    {false, []*operation{write(1, 0, 1, done, 1), read(2, 2, 3)}},
		"an unknown write that was lost":  {true, []*operation{write(1, 0, 0, unknown), read(2, 2, 3)}},
		"an unknown write that counts":    {true, []*operation{write(1, 0, 0, unknown), read(2, 2, 3), read(3, 4, 5, 1)}},
		"a refused write that counts":     {false, []*operation{write(1, 0, 1, refused), read(2, 2, 3, 1)}},
		"a read that goes back":           {false, []*operation{write(1, 0, 0, unknown), read(2, 2, 3, 1), read(3, 4, 5)}},
		"a write read before it was made": {false, []*operation{read(1, 0, 1, 2), write(2, 2, 3, done, 2)}},
		"two orders":                      {false, []*operation{write(1, 0, 9, unknown), write(2, 0, 9, unknown), read(3, 1, 2, 1), read(4, 3, 4, 2, 1)}},
		"a write that counts twice":       {false, []*operation{write(1, 0, 9, unknown), read(2, 1, 2, 1, 1)}},
		"writes in the wrong order":       {false, []*operation{write(1, 0, 1, done, 2, 1), write(2, 3, 4, unknown)}},
	} {
		if got := violation(c.ops); (got == "") != c.right {
			t.Errorf("%s: %q", name, got)
		}
	}
}
