package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// sendState sends a state to a running member, unless the link is cut.
func (m *running) sendState(_ context.Context, msg *raftpb.Message, state io.Reader) error {
	m.g.mu.Lock()
	to, cut, half := m.g.members[msg.GetTo()-1], m.g.cut[[2]uint64{msg.GetFrom(), msg.GetTo()}], m.g.half
	m.g.half = false
	m.g.mu.Unlock()
	switch {
	case cut:
		return errors.New("the link is cut")
	case half:
		return errors.Join(errCutShort, to.runner.ReceiveState(msg, io.LimitReader(state, 100)))
	}
	return to.runner.ReceiveState(msg, state)
}

// A member that lacks what the others' logs have no more gets the state, be it that the first
// attempt is cut short, and follows like any other afterwards.
func TestARunningMemberThatLagsGetsTheState(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	lags := g.members[m.runner.config.ID%3]
	g.isolate(lags, true)
	written := 0
	write := func() {
		m = g.leader()
		if err := m.store.Commits().WaitDurable(m.write(fmt.Sprint("k", written))); err != nil {
			t.Fatal(err)
		}
		written++
	}
	lacks := func(o *running) bool { // what is under way to it may still arrive
		first, _ := o.store.Member().Log().Bounds()
		_, has := lags.store.Member().Log().Bounds()
		return first > has+1
	}
	for _, o := range g.members {
		for o != lags && !lacks(o) {
			write()
		}
	}
	g.mu.Lock()
	g.half = true
	g.mu.Unlock()
	g.isolate(lags, false)
	g.until("it has everything", func() bool {
		v := g.leader().runner.View()
		for _, o := range v.Members {
			if o.ID == lags.runner.config.ID && o.Match == v.Last {
				return true
			}
		}
		return false
	})
	write()
	tx := lags.store.NewTx()
	var all persistence.Shards
	all.AddAll()
	g.until("it has all keys", func() bool {
		tx.Lock(&all, 1000)
		defer tx.Unlock()
		return tx.Databases().Size(0) == written
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.half {
		t.Error("no state was sent")
	}
}

// A member that has ended takes no state, and leaves nothing open.
func TestAStateForAMemberThatHasEndedIsRefused(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	if err := m.store.Commits().WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	var meta *raftpb.SnapshotMetadata
	var state io.ReadCloser
	var err error
	m.runner.ask(func() { meta, state, err = m.runner.replica.Export() })
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	to := g.members[m.runner.config.ID%3]
	to.runner.stop()
	<-to.runner.Ended()
	kind := raftpb.MsgSnap
	msg := &raftpb.Message{Type: &kind, From: &m.runner.config.ID, To: &to.runner.config.ID, Snapshot: &raftpb.Snapshot{Metadata: meta}}
	if err := to.runner.ReceiveState(msg, state); !errors.Is(err, ErrStopped) {
		t.Errorf("it is taken: %v", err)
	}
}
