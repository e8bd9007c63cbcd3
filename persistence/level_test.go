package persistence

import (
	"errors"
	"testing"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// wary is an engine that reads groups up to a level.
type wary struct{ level uint64 }

func (wary) Propose(uint64, []byte) error { return nil }

var errWary = errors.New("a newer level")

// Reads implements [Reader].
func (w wary) Reads(_ grouplog.Membership, newest uint64) error {
	if w.level > newest {
		return errWary
	}
	return nil
}

// What came with a level may be recorded by a group that has it, and by a store that is alone.
func TestRequireAsksForTheLevelOfTheGroup(t *testing.T) {
	alone := openMemory(t, Options{})
	if got := alone.Level(); got != NewestLevel() {
		t.Errorf("a store that is alone has level %d, want %d", got, NewestLevel())
	}
	s := openMemory(t, Options{Replicator: wary{}, NewestLevel: 9})
	if got := s.Member().NewestLevel(); got != 9 {
		t.Errorf("the member knows level %d", got)
	}
	tx := s.NewTx()
	var lacks NeedsLevelError
	if err := tx.Require(LevelTold); s.Level() != LevelUntold || !errors.As(err, &lacks) || lacks != (NeedsLevelError{LevelTold, LevelUntold}) {
		t.Errorf("before anything is known of levels: level %d, %v", s.Level(), err)
	}
	s.Member().SetLevel(LevelTold)
	if err := tx.Require(LevelTold); s.Level() != LevelTold || err != nil {
		t.Errorf("in a group of that level: level %d, %v", s.Level(), err)
	}
	if err := tx.Require(LevelTold + 1); !errors.As(err, &lacks) {
		t.Errorf("what a later level adds: %v", err)
	}
}

// A store of a level that it does not know is not read.
func TestStoreOfANewerLevelIsNotOpened(t *testing.T) {
	_, err := Open(Options{InMemory: true, Replicator: wary{level: NewestLevel() + 1}})
	if !errors.Is(err, errWary) {
		t.Errorf("Open: %v", err)
	}
	s := openMemory(t, Options{Replicator: wary{level: NewestLevel()}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Each level says what it adds, and there are no others.
func TestLevelsSayWhatTheyAdd(t *testing.T) {
	for level := uint64(LevelUntold); level <= NewestLevel(); level++ {
		if WhatLevelAdds(level) == "" {
			t.Errorf("level %d adds nothing", level)
		}
	}
	if got := WhatLevelAdds(0) + WhatLevelAdds(uint64(len(levels))+1); got != "" {
		t.Errorf("levels that there are not add %q", got)
	}
}
