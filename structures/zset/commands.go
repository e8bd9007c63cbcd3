package zset

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// Tell appends commands that do to a sorted set at key, which is as this one was before, what recorded operations have just done to
// this one. It returns false if there are none for that: then c is to be cut, and the whole set told anew.
func (s *Set) Tell(c *structures.Commands, key, ops []byte) bool {
	var args structures.Args
	for len(ops) > 0 {
		op, rest, err := args.Next(ops)
		if err != nil || !tell(c, key, op, &args) || args.Done() != nil {
			return false
		}
		ops = rest
	}
	return true
}

func tell(c *structures.Commands, key []byte, op byte, args *structures.Args) bool {
	switch op {
	case opAdd:
		c.Command("ZADD", 2+args.Left())
		c.Bytes(key)
		for args.Left() > 0 {
			score, member := args.Bytes(), args.Bytes()
			if len(score) != scoreSize {
				return false
			}
			c.Bytes(appendScore(nil, scoreOf(binary.BigEndian.Uint64(score))))
			c.Bytes(member)
		}
	case opRemove:
		c.Command("ZREM", 2+args.Left())
		c.Bytes(key)
		for args.Left() > 0 {
			c.Bytes(args.Bytes())
		}
	case opPopLeast, opPopGreatest:
		name := "ZPOPMIN"
		if op == opPopGreatest {
			name = "ZPOPMAX"
		}
		c.Command(name, 3)
		c.Bytes(key)
		c.Int(int64(args.Uint()))
	case opRemoveRange:
		from, n := int64(args.Uint()), int64(args.Uint())
		c.Command("ZREMRANGEBYRANK", 4)
		c.Bytes(key)
		c.Int(from)
		c.Int(from + n - 1)
		return n > 0
	default:
		return false
	}
	return true
}

// appendScore appends a score in digits that give the same float64 again.
func appendScore(dst []byte, score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return append(dst, "inf"...)
	case math.IsInf(score, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, score, 'g', 17, 64)
}
