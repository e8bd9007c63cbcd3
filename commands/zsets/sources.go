package zsets

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/zset"
)

// source is what one key adds to a combination: a sorted set, a set, whose members
// have the score 1, or nothing.
type source struct {
	sorted *zset.Set
	plain  *set.Set
	weight float64
	counts bool // AGGREGATE COUNT: every score counts as 1
}

// openSources finds what the keys of a combination hold.
func openSources(c *commands.Ctx, keys [][]byte) ([]source, error) {
	sources := make([]source, len(keys))
	for i, key := range keys {
		sources[i].weight = 1
		s, ok, err := persistence.View[*zset.Set](c.Tx, key)
		if errors.Is(err, structures.ErrWrongType) {
			if sources[i].plain, ok, err = persistence.View[*set.Set](c.Tx, key); ok {
				sources[i].plain = sources[i].plain.Live(c.Now)
			}
		}
		c.Looked(key, ok, err)
		if err != nil {
			return nil, err
		}
		sources[i].sorted = s
	}
	return sources, nil
}

func (s *source) len() int {
	switch {
	case s.sorted != nil:
		return s.sorted.Len()
	case s.plain != nil:
		return s.plain.Len()
	}
	return 0
}

// score returns the weighted score of a member; ok is false if it is not there.
func (s *source) score(member []byte) (score float64, ok bool) {
	switch {
	case s.sorted != nil:
		score, ok = s.sorted.Score(member)
		return s.weigh(score), ok
	case s.plain != nil:
		return s.weigh(1), s.plain.Has(member)
	}
	return 0, false
}

// weigh multiplies a score with the weight. Infinity times 0 is 0.
func (s *source) weigh(score float64) float64 {
	if s.counts {
		score = 1
	}
	if score *= s.weight; math.IsNaN(score) {
		return 0
	}
	return score
}

// each visits the members with their weighted scores until visit returns false. The
// members are valid as long as nothing is changed.
func (s *source) each(visit func(member []byte, score float64) bool) {
	switch {
	case s.sorted != nil:
		s.sorted.Range(0, s.sorted.Len(), func(member []byte, score float64) bool {
			return visit(member, s.weigh(score))
		})
	case s.plain != nil:
		score := s.weigh(1)
		s.plain.Each(func(member []byte) bool { return visit(bytes.Clone(member), score) })
	}
}

// aggregate makes one score of two. Infinity and minus infinity sum up to 0.
type aggregate func(a, b float64) float64

func sum(a, b float64) float64 {
	if a += b; math.IsNaN(a) {
		return 0
	}
	return a
}

func least(a, b float64) float64    { return min(a, b) }
func greatest(a, b float64) float64 { return max(a, b) }

// bySize orders sources from the smallest to the largest, in which order Redis adds
// scores up.
func bySize(sources []source) []source {
	slices.SortStableFunc(sources, func(a, b source) int { return cmp.Compare(a.len(), b.len()) })
	return sources
}

// unite lists the members of all sources.
func unite(sources []source, agg aggregate) []zset.Entry {
	sources = bySize(sources)
	entries := make([]zset.Entry, 0, sources[len(sources)-1].len())
	places := make(map[string]int, cap(entries))
	for _, s := range sources {
		s.each(func(member []byte, score float64) bool {
			name := unsafe.String(unsafe.SliceData(member), len(member))
			if at, twice := places[name]; twice {
				entries[at].Score = agg(entries[at].Score, score)
				return true
			}
			places[name] = len(entries)
			entries = append(entries, zset.Entry{Member: member, Score: score})
			return true
		})
	}
	return entries
}

// intersect visits the members that all sources have, until visit returns false.
func intersect(sources []source, agg aggregate, visit func(member []byte, score float64) bool) {
	sources = bySize(sources)
	sources[0].each(func(member []byte, score float64) bool {
		for i := range sources[1:] {
			other, ok := sources[1+i].score(member)
			if !ok {
				return true
			}
			score = agg(score, other)
		}
		return visit(member, score)
	})
}

// subtract lists the members of the first source that no other has.
func subtract(sources []source) (entries []zset.Entry) {
	sources[0].each(func(member []byte, score float64) bool {
		for i := range sources[1:] {
			if _, ok := sources[1+i].score(member); ok {
				return true
			}
		}
		entries = append(entries, zset.Entry{Member: member, Score: score})
		return true
	})
	return entries
}
