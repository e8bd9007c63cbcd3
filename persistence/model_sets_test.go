package persistence

import (
	"fmt"
	"maps"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// The operations of the model on sets.

func (o *trial) newSet() *set.Set { return set.New(o.tx.HashKeys()) }

// member is a word or an integer, one of the few that most operations choose from.
func (o *trial) member() string {
	if n := o.r.IntN(12); n%2 == 0 {
		return fmt.Sprint(n * 1_000_003)
	} else {
		return fmt.Sprintf("m%d", n)
	}
}

// addTo adds members to the set of the trial and of the model.
func (o *trial) addTo(s *set.Set, ch *structures.Change, members ...string) (changed bool) {
	o.Helper()
	o.old.members = maps.Clone(o.old.members)
	if o.old.members == nil {
		o.old.members = map[string]bool{}
	}
	for _, member := range members {
		if got := s.Add(ch, []byte(member)); got == o.old.members[member] {
			o.Fatalf("Add %.20s %s: got %v", o.key, member, got)
		} else {
			changed = changed || got
		}
		o.old.members[member] = true
	}
	o.put(o.old)
	return changed
}

func (o *trial) addMember() bool {
	s, ch, ok := editTrial(o, structures.KindSet, o.newSet)
	return ok && o.addTo(s, ch, o.member())
}

// fillSet adds so many members that words or integers have pages.
func (o *trial) fillSet() bool {
	s, ch, ok := editTrial(o, structures.KindSet, o.newSet)
	if !ok {
		return false
	}
	members, words := []string{}, o.r.IntN(2) == 0
	for i := range 700 {
		if words {
			members = append(members, fmt.Sprintf("m%d", i))
		} else {
			members = append(members, fmt.Sprint(i<<40))
		}
	}
	return o.addTo(s, ch, members...)
}

func (o *trial) removeMember() bool {
	s, ch, ok := editTrial[*set.Set](o, structures.KindSet, nil)
	if !ok {
		return false
	}
	member := o.member()
	if got := s.Remove(ch, []byte(member)); got != o.old.members[member] {
		o.Fatalf("Remove %.20s %s: got %v", o.key, member, got)
	}
	return o.forget(member)
}

// forget removes members from the model's set.
func (o *trial) forget(members ...string) (changed bool) {
	left := maps.Clone(o.old.members)
	for _, member := range members {
		delete(left, member)
	}
	changed = len(left) < len(o.old.members)
	o.old.members = left
	if o.put(o.old); len(left) == 0 {
		delete(o.m.dbs[o.db], o.key)
	}
	return changed
}

// popMembers removes members that the set draws: one, or most of many.
func (o *trial) popMembers() bool {
	s, ch, ok := editTrial[*set.Set](o, structures.KindSet, nil)
	if !ok {
		return false
	}
	var drawn []string
	s.Sample(1+s.Len()*9/10, o.r.IntN, func(member []byte) { drawn = append(drawn, string(member)) })
	for _, member := range drawn {
		if !s.Remove(ch, []byte(member)) || !o.old.members[member] {
			o.Fatalf("Sample %.20s: drew %q", o.key, member)
		}
	}
	return o.forget(drawn...)
}

func diffSet(tx *Tx, key []byte, want map[string]bool) string {
	s, ok, err := View[*set.Set](tx, key)
	if !ok || err != nil || s.Len() != len(want) {
		return fmt.Sprintf("set: got %v, %v, want %d members", ok, err, len(want))
	}
	wrong := ""
	s.Each(func(member []byte) bool {
		if !want[string(member)] || !s.Has(member) {
			wrong = fmt.Sprintf("member %q", member)
		}
		return wrong == ""
	})
	return wrong
}
