package zsets

import (
	"bytes"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

// order is what the bounds of a range are.
type order byte

const (
	byRank order = iota
	byScore
	byMember
)

// span is a range of members, whose bounds have been read.
type span struct {
	order       order
	start, stop int64 // of ranks, both included, negative ones from the end
	from, to    limit // of scores and members
}

// limit is a bound of a range of scores or members: a bound of the set, or an end of
// it.
type limit struct {
	bound zset.Bound
	end   int8 // -1: before all members; 1: behind all
}

// rank is the number of members before the limit.
func (l *limit) rank(s *zset.Set) int {
	switch {
	case l.end < 0:
		return 0
	case l.end > 0:
		return s.Len()
	}
	return s.Before(l.bound)
}

// readSpan reads the bounds of a range, the lower one first. Something else fails
// with the error that Redis has for it.
func readSpan(a *commands.Args, o order, low, high []byte) span {
	sp := span{order: o}
	var ok, also bool
	switch o {
	case byRank:
		if sp.start, ok = commands.ParseInt(low); ok {
			sp.stop, ok = commands.ParseInt(high)
		}
		if !ok {
			a.Fail(commands.ErrNotInteger)
		}
	case byScore:
		sp.from, ok = scoreLimit(low, zset.BeforeScore, zset.AfterScore)
		sp.to, also = scoreLimit(high, zset.AfterScore, zset.BeforeScore)
		if !ok || !also {
			a.Fail(errScoreRange)
		}
	case byMember:
		sp.from, ok = memberLimit(low, zset.BeforeMember, zset.AfterMember)
		sp.to, also = memberLimit(high, zset.AfterMember, zset.BeforeMember)
		if !ok || !also {
			a.Fail(errMemberRange)
		}
	}
	return sp
}

// scoreLimit reads a score, or behind a parenthesis one that is excluded itself.
func scoreLimit(b []byte, including, excluding func(float64) zset.Bound) (limit, bool) {
	if b, ok := bytes.CutPrefix(b, []byte("(")); ok {
		score, ok := commands.ParseScore(b)
		return limit{bound: excluding(score)}, ok
	}
	score, ok := commands.ParseScore(b)
	return limit{bound: including(score)}, ok
}

// memberLimit reads a member behind a bracket, or one that is excluded itself behind
// a parenthesis; - and + are the ends of the set.
func memberLimit(b []byte, including, excluding func([]byte) zset.Bound) (limit, bool) {
	switch {
	case string(b) == "-":
		return limit{end: -1}, true
	case string(b) == "+":
		return limit{end: 1}, true
	case len(b) > 0 && b[0] == '[':
		return limit{bound: including(b[1:])}, true
	case len(b) > 0 && b[0] == '(':
		return limit{bound: excluding(b[1:])}, true
	}
	return limit{}, false
}

// of returns the rank of the first member of the range in a set, and how many there
// are. Ranks count from the greatest member if reverse is set.
func (sp *span) of(s *zset.Set, reverse bool) (rank, count int) {
	if sp.order != byRank {
		rank = sp.from.rank(s)
		return rank, max(sp.to.rank(s)-rank, 0)
	}
	n := int64(s.Len())
	start, stop := sp.start, sp.stop
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	if start > stop {
		return 0, 0
	}
	count = int(stop - start + 1)
	if reverse {
		return int(n - 1 - stop), count
	}
	return int(start), count
}
