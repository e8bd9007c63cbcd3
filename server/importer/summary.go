package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdbfile"
	"github.com/vigildb/vigil/structures/types"
)

// Class is what keys are counted by.
type Class struct {
	DB   int
	Kind structures.Kind
}

// Summary is what an import has done so far.
type Summary struct {
	Bytes, Total int64 // read, and of all files; -1 if that is not known
	Source       string
	Keys         map[Class]int64
	All          int64 // keys
	Expired      int64 // keys that were left out
	Empty        int64
	Commands     int64
	Libraries    int64
	Skipped      map[string]int64 // by reason
	Notes        []string
	Put, Kept    int64 // of a merge: keys that are there now, and that were there before
}

// note changes the summary.
func (i *Import) note(f func(s *Summary)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(&i.summary)
}

// Summary returns a copy of the summary.
func (i *Import) Summary() Summary {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.summary.Clone()
}

// Clone returns a copy.
func (s *Summary) Clone() Summary {
	c := *s
	c.Keys, c.Skipped, c.Notes = maps.Clone(s.Keys), maps.Clone(s.Skipped), slices.Clone(s.Notes)
	return c
}

// Skip counts what was left out.
func (s *Summary) Skip(reason string, n int64) {
	if n == 0 {
		return
	}
	if s.Skipped == nil {
		s.Skipped = map[string]int64{}
	}
	if _, known := s.Skipped[reason]; !known && len(s.Skipped) >= mostReasons {
		reason = "other reasons"
	}
	s.Skipped[reason] += n
}

// mostReasons bounds what a file can make a summary hold: names of modules are the file's.
const mostReasons = 1000

// Count counts a key.
func (s *Summary) Count(db int, kind structures.Kind) {
	if s.Keys == nil {
		s.Keys = map[Class]int64{}
	}
	s.Keys[Class{db, kind}]++
	s.All++
}

// take counts what a reader of a file passed over.
func (s *Summary) take(p *rdbfile.Passed) {
	for name, n := range p.ModuleAux {
		s.Skip("data of module "+name+" beside keys", n)
	}
	s.Skip("keys with metadata, which was left out", p.Meta)
	s.Skip("slots with only some of their keys in the file", p.Slots)
	s.Skip("expired fields of hashes", p.Fields)
}

// Lines are the summary for people.
func (s *Summary) Lines() (lines []string) {
	add := func(f string, args ...any) { lines = append(lines, fmt.Sprintf(f, args...)) }
	if s.Source != "" {
		add("source: %s", s.Source)
	}
	classes := slices.SortedFunc(maps.Keys(s.Keys), func(a, b Class) int { return (a.DB-b.DB)*256 + int(a.Kind) - int(b.Kind) })
	for _, c := range classes {
		add("database %d: %d keys of type %s", c.DB, s.Keys[c], types.Name(c.Kind))
	}
	if s.Commands > 0 {
		add("commands: %d", s.Commands)
	}
	if s.Libraries > 0 {
		add("libraries of functions: %d", s.Libraries)
	}
	if s.Expired > 0 {
		add("expired: %d keys", s.Expired)
	}
	if s.Empty > 0 {
		add("empty: %d keys", s.Empty)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Skipped)) {
		add("skipped: %d %s", s.Skipped[reason], reason)
	}
	if s.Kept > 0 {
		add("kept: %d keys that were there before", s.Kept)
	}
	for _, n := range s.Notes {
		add("note: %s", strings.TrimSpace(n))
	}
	return lines
}
