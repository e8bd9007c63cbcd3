package raftnode

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// A group that several servers found has the newest level as soon as its first leader hears that all know it, and takes in no server that
// does not.
func TestNewGroupHasTheNewestLevel(t *testing.T) {
	g := newTrio(t)
	g.until("all have the newest level", func() bool {
		for _, m := range g.members {
			if m.runner.View().Level != newest || m.store.Level() != newest {
				return false
			}
		}
		return true
	})
	m := g.leader()
	if _, err := m.runner.Join(t.Context(), 0, "127.0.0.1:7004", persistence.LevelUntold); !errors.Is(err, ErrLevel) {
		t.Errorf("an older server joins: %v", err)
	}
	if from, to, err := m.runner.Upgrade(t.Context(), false); from != newest || to != newest || err != nil {
		t.Errorf("UPGRADE: from %d to %d, %v", from, to, err)
	}
}

// One founder of an older version keeps the level where it is, and the leader names it.
func TestOlderFounderKeepsTheLevel(t *testing.T) {
	g := newTrioOf(t, false, newest, newest, persistence.LevelUntold)
	m := g.leader()
	for _, dry := range []bool{true, false} {
		var err error
		g.until("all are heard", func() bool {
			m = g.leader()
			_, _, err = m.runner.Upgrade(t.Context(), dry)
			return !errors.Is(err, ErrUnheard) && !Transient(err)
		})
		if !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "member 3") {
			t.Errorf("UPGRADE, dry %v: %v", dry, err)
		}
	}
	if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	for _, o := range m.runner.View().Members {
		if want := map[uint64]uint64{1: newest, 2: newest, 3: 1}[o.ID]; o.NewestLevel != want {
			t.Errorf("member %d knows level %d, want %d", o.ID, o.NewestLevel, want)
		}
	}
	if v := m.runner.View(); v.Level != persistence.LevelUntold {
		t.Errorf("the group has level %d", v.Level)
	}
}

// DRYRUN says what would be done, and does nothing. A member that does not lead does neither.
func TestUpgradeIsForTheLeader(t *testing.T) {
	g := newTrioOf(t, false, persistence.LevelUntold, persistence.LevelUntold, persistence.LevelUntold)
	m := g.leader()
	for _, o := range g.members {
		if o == m {
			continue
		}
		if _, _, err := o.runner.Upgrade(t.Context(), true); !errors.Is(err, ErrNotLeading) {
			t.Errorf("a follower: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if from, to, err := m.runner.Upgrade(ctx, true); from != to || err != nil {
		t.Errorf("from %d to %d, %v", from, to, err)
	}
}
