package persistence

import (
	"fmt"
	"maps"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// The operations of the model on sorted sets.

func (o *trial) newZSet() *zset.Set { return zset.New(o.tx.HashKeys()) }

// scored finds the sorted set of the trial, and makes the model's one that may change.
func (o *trial) scored(create bool, change func(s *zset.Set, add func(member string, score float64), remove func(member string))) bool {
	o.Helper()
	var make func() *zset.Set
	if create {
		make = o.newZSet
	}
	s, ch, ok := editTrial(o, structures.KindZSet, make)
	if !ok {
		return false
	}
	if o.old.scores = maps.Clone(o.old.scores); o.old.scores == nil {
		o.old.scores = map[string]float64{}
	}
	changed := false
	change(s, func(member string, score float64) {
		old, exists := o.old.scores[member]
		_, outcome := s.Add(ch, []byte(member), score, 0)
		if (outcome == zset.Added) == exists || (outcome == zset.Kept) != (exists && old == score) {
			o.Fatalf("Add %.20s %s: got %v, before: %v, %v", o.key, member, outcome, old, exists)
		}
		o.old.scores[member] = score
		changed = changed || outcome != zset.Kept
	}, func(member string) {
		_, exists := o.old.scores[member]
		if got := s.Remove(ch, []byte(member)); got != exists {
			o.Fatalf("Remove %.20s %s: got %v", o.key, member, got)
		}
		delete(o.old.scores, member)
		changed = changed || exists
	})
	if o.put(o.old); len(o.old.scores) == 0 {
		delete(o.m.dbs[o.db], o.key)
	}
	return changed
}

func (o *trial) addScore() bool {
	return o.scored(true, func(_ *zset.Set, add func(string, float64), _ func(string)) {
		add(o.member(), float64(o.r.IntN(8)))
	})
}

// fillZSet adds so many members that the set has pages.
func (o *trial) fillZSet() bool {
	return o.scored(true, func(_ *zset.Set, add func(string, float64), _ func(string)) {
		for i := range 400 {
			add(fmt.Sprintf("member-%d", i), o.r.NormFloat64())
		}
	})
}

func (o *trial) removeScore() bool {
	return o.scored(false, func(_ *zset.Set, _ func(string, float64), remove func(string)) { remove(o.member()) })
}

// removeMost removes most members, so that pages go.
func (o *trial) removeMost() bool {
	return o.scored(false, func(s *zset.Set, _ func(string, float64), remove func(string)) {
		var members []string
		s.Range(s.Len()/10, math.MaxInt, func(member []byte, _ float64) bool {
			members = append(members, string(member))
			return true
		})
		for _, member := range members {
			remove(member)
		}
	})
}

func diffZSet(tx *Tx, key []byte, want map[string]float64) string {
	s, ok, err := View[*zset.Set](tx, key)
	if !ok || err != nil || s.Len() != len(want) {
		return fmt.Sprintf("sorted set: got %v, %v, want %d members", ok, err, len(want))
	}
	wrong, rank := "", 0
	s.Range(0, s.Len(), func(member []byte, score float64) bool {
		at, also, ok := s.Rank(member)
		if w, exists := want[string(member)]; !exists || w != score || !ok || at != rank || also != score {
			wrong = fmt.Sprintf("member %q with %v at %d", member, score, at)
		}
		rank++
		return wrong == ""
	})
	return wrong
}
