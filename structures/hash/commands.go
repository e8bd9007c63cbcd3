package hash

import (
	"bytes"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// mostTold is how many elements of a value one command has at most where the whole value is told.
const mostTold = 1000

// Tell appends commands that do to a hash at key, which is as this one was before, what recorded operations have just done to this
// one. It returns false if there are none for that: then c is to be cut, and the whole hash told anew.
func (h *Hash) Tell(c *structures.Commands, key, ops []byte) bool {
	for len(ops) > 0 {
		var ok bool
		switch ops[0] {
		case opHashSet, opHashSetKeep:
			ops, ok = h.tellSets(c, key, ops)
		default:
			ops, ok = h.tellOther(c, key, ops)
		}
		if !ok {
			return false
		}
	}
	return true
}

// tellSets tells the fields that are set by the operations at the begin of ops, and returns the others. HSET takes the expiry of a
// field, so one that it has is set again.
func (h *Hash) tellSets(c *structures.Commands, key, ops []byte) (rest []byte, ok bool) {
	var args structures.Args
	var pairs, kept [][]byte
	rest = ops
	for len(rest) > 0 && (rest[0] == opHashSet || rest[0] == opHashSetKeep) && len(pairs) < 2*mostTold {
		op, after, err := args.Next(rest)
		if err != nil {
			return nil, false
		}
		field, value := args.Bytes(), args.Bytes()
		if args.Done() != nil {
			return nil, false
		}
		if pairs = append(pairs, field, value); op == opHashSetKeep {
			kept = append(kept, field)
		}
		rest = after
	}
	c.Of("HSET", key, pairs...)
	for _, field := range kept {
		if ms, has, _ := h.ExpiryOf(field); has {
			tellExpiry(c, key, field, ms)
		}
	}
	return rest, true
}

// tellOther tells one operation, and returns the others.
func (h *Hash) tellOther(c *structures.Commands, key, ops []byte) (rest []byte, ok bool) {
	var args structures.Args
	op, rest, err := args.Next(ops)
	if err != nil {
		return nil, false
	}
	switch op {
	case opHashDelete:
		c.Command("HDEL", 2+args.Left())
		c.Bytes(key)
		for args.Left() > 0 && args.Err() == nil {
			c.Bytes(args.Bytes())
		}
	case opHashExpireAt:
		field := args.Bytes()
		tellExpiry(c, key, field, args.Int())
	case opHashPersist:
		c.Of("HPERSIST", key, []byte("FIELDS"), []byte("1"), args.Bytes())
	default:
		return nil, false
	}
	return rest, args.Done() == nil
}

func tellExpiry(c *structures.Commands, key, field []byte, ms int64) {
	c.Of("HPEXPIREAT", key, strconv.AppendInt(nil, ms, 10), []byte("FIELDS"), []byte("1"), field)
}

// TellWhole appends commands that make the hash anew at key. It returns false if a part of it cannot be read.
func (h *Hash) TellWhole(c *structures.Commands, key []byte) bool {
	c.Of("DEL", key)
	var pairs [][]byte
	var timed structures.Commands
	told := 0
	h.walk(func(e entry) bool {
		pairs = append(pairs, bytes.Clone(e.field), bytes.Clone(e.value)) // a page may be in memory during the visit only
		told++
		if e.expiry != 0 {
			tellExpiry(&timed, key, e.field, e.expiry)
		}
		if len(pairs) == 2*mostTold {
			c.Of("HSET", key, pairs...)
			pairs = pairs[:0]
		}
		return true
	})
	if len(pairs) > 0 {
		c.Of("HSET", key, pairs...)
	}
	c.Append(timed.Encoded(), timed.Count())
	return told == h.count
}
