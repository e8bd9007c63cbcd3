package servertest

import (
	"maps"
	"slices"
	"time"
)

// The checks fail the test and let it go on, so that it shows all that is wrong.

// CheckGet checks the value of a string.
func (s *Server) CheckGet(key, want string) {
	s.t.Helper()
	if !s.Exists(key) {
		s.wrong("the string %q is missing, want %q", key, want)
		return
	}
	if got := s.Get(key); got != want {
		s.wrong("the string %q is %q, want %q", key, got, want)
	}
}

// CheckList checks the elements of a list.
func (s *Server) CheckList(key string, want ...string) {
	s.t.Helper()
	if got := s.List(key); !slices.Equal(got, want) {
		s.wrong("the list %q is %q, want %q", key, got, want)
	}
}

// CheckSet checks the members of a set, in any order.
func (s *Server) CheckSet(key string, want ...string) {
	s.t.Helper()
	want = sorted(slices.Clone(want))
	if got := s.Members(key); !slices.Equal(got, want) {
		s.wrong("the set %q has the members %q, want %q", key, got, want)
	}
}

// CheckHash checks the fields of a hash.
func (s *Server) CheckHash(key string, want map[string]string) {
	s.t.Helper()
	if got := s.Hash(key); !maps.Equal(got, want) {
		s.wrong("the hash %q is %v, want %v", key, got, want)
	}
}

// CheckSortedSet checks the members of a sorted set and their scores.
func (s *Server) CheckSortedSet(key string, want map[string]float64) {
	s.t.Helper()
	if got := s.SortedSet(key); !maps.Equal(got, want) {
		s.wrong("the sorted set %q is %v, want %v", key, got, want)
	}
}

// CheckTTL checks the time that a key has left, 0 for one that does not expire.
func (s *Server) CheckTTL(key string, want time.Duration) {
	s.t.Helper()
	if !s.Exists(key) {
		s.wrong("the key %q is missing, want one that has %v left", key, want)
		return
	}
	if got := s.TTL(key); got != want {
		s.wrong("the key %q has %v left, want %v", key, got, want)
	}
}

// CheckMissing checks that there is no such key.
func (s *Server) CheckMissing(key string) {
	s.t.Helper()
	if kind := s.Type(key); kind != "none" {
		s.wrong("the key %q is there, a %s, and should be missing", key, kind)
	}
}

// wrong fails the test and lets it go on.
func (s *Server) wrong(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("servertest: "+format, args...)
}
