package zset

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Operations in the journal. These numbers are on disk and never change.
const (
	opAdd         = 16 // {score (8 bytes, see scoreBits), member} ...: the scores that they have then
	opRemove      = 17 // member ...
	opPopLeast    = 18 // number
	opPopGreatest = 19 // number
	opRemoveRange = 20 // rank, number
)

func recordAdd(ch *structures.Change, score float64, member []byte) {
	ch.Op(opAdd, 2)
	var b [scoreSize]byte
	binary.BigEndian.PutUint64(b[:], scoreBits(score))
	ch.Bytes(b[:])
	ch.Bytes(member)
}

// Apply replays an operation. One that makes no sense, such as a score that is no
// number, gives ErrCorrupt; removals of what is not there do nothing.
func (s *Set) Apply(op byte, args *structures.Args) error {
	switch op {
	case opAdd:
		return s.applyAdd(args)
	case opRemove:
		for args.Left() > 0 {
			s.Remove(nil, args.Bytes())
		}
		return args.Done()
	case opPopLeast, opPopGreatest, opRemoveRange:
		rank := uint64(0)
		if op == opRemoveRange {
			rank = args.Uint()
		}
		count := args.Uint()
		if err := args.Done(); err != nil {
			return err
		}
		if rank >= uint64(s.count) || count == 0 {
			return nil
		}
		count = min(count, uint64(s.count)-rank)
		if op == opPopGreatest {
			rank = uint64(s.count) - count
		}
		s.makeRoom()
		if !s.readyRange(int(rank), int(count)) {
			return nil // the pager says so
		}
		s.removeRange(int(rank), int(count))
		return nil
	}
	return fmt.Errorf("sorted set operation %d: %w", op, structures.ErrUnknownChange)
}

func (s *Set) applyAdd(args *structures.Args) error {
	for args.Left() > 0 {
		score, member := args.Bytes(), args.Bytes()
		if len(score) != scoreSize {
			return fmt.Errorf("score of %d bytes: %w", len(score), structures.ErrCorrupt)
		}
		b := binary.BigEndian.Uint64(score)
		if math.IsNaN(scoreOf(b)) {
			return fmt.Errorf("score that is no number: %w", structures.ErrCorrupt)
		}
		s.put(b, member)
	}
	return args.Done()
}
