package raftnode

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// A member that lacks what was cut off gets the state, and what follows, while the leader serves.
func TestALaggingMemberGetsTheState(t *testing.T) {
	for _, policy := range []persistence.SyncPolicy{persistence.SyncAlways, persistence.SyncEverySecond} {
		w, lags := lagging(t, 31, policy)
		term := w.elected().driver.Leading()
		w.isolate(lags, false)
		w.until("it has the state", func() bool {
			w.ask(w.elected().id, "c", true)
			return w.effects["state taken in"] > 0
		})
		w.settle()
		if got := w.elected().driver.Leading(); got > term+1 {
			t.Errorf("policy %d: it led term %d, and now another member leads term %d", policy, term, got)
		}
		lags.stop(true)
		lags.start()
		w.settle()
		w.judge()
		w.close()
	}
}

// A deposed leader's log goes as a whole when the state comes, however long it is.
func TestAStateReplacesALongerLog(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+10; seed++ {
		w := deposedTail(t, seed)
		w.judge()
		w.close()
	}
}

// A new member gets the state and becomes a voter, although no log goes back to the founding.
func TestANewMemberGetsTheState(t *testing.T) {
	w, lags := lagging(t, 32, persistence.SyncAlways)
	w.lose(lags)
	o := w.joined()
	w.change("it replaces the lost one", func(d *Driver) error { return d.Replace(o.id, lags.id) },
		func(m *Members) bool { return m.Voter(o.id) })
	if w.effects["state taken in"] == 0 {
		t.Error("it got entries only")
	}
	w.settle()
	if m := o.replica.Members(); !slices.Equal(m.Left, []uint64{lags.id}) || len(m.Addresses) != members {
		t.Errorf("it takes for members %+v", m)
	}
	w.judge()
	w.close()
}

// Whatever ends a transfer, another one follows, and the log is kept no longer than for that.
func TestATransferThatIsCutShortIsMadeAgain(t *testing.T) {
	w, lags := lagging(t, 33, persistence.SyncAlways)
	w.isolate(lags, false)
	w.until("it is under way", func() bool {
		n := w.leader()
		return n != nil && len(n.driver.transfers) > 0
	})
	w.isolate(lags, true)
	w.until("it is cut short", func() bool { n := w.leader(); return n != nil && len(n.driver.transfers) == 0 })
	if w.effects["state taken in"] > 0 {
		t.Fatal("it has arrived")
	}
	w.isolate(lags, false)
	w.until("it has the state", func() bool { return w.effects["state taken in"] > 0 })
	w.until("nothing is kept", func() bool { n := w.leader(); return n != nil && len(n.driver.transfers) == 0 })
	w.settle()
	w.judge()
	w.close()
}

// A member without a way to carry states goes on, and the one that lags waits.
func TestAGroupWithoutASenderOfStatesGoesOn(t *testing.T) {
	w, lags := lagging(t, 34, persistence.SyncAlways)
	for _, n := range w.nodes[1:] {
		n.driver.Sender = nil
	}
	w.isolate(lags, false)
	w.run(20 * timeout)
	w.write(w.elected(), "a")
	for _, n := range w.nodes[1:] {
		n.driver.Sender = n
	}
	w.settle()
	w.judge()
	w.close()
}

// States that belong to no message, or that raft has no use for, are dropped.
func TestStatesThatDoNotFitAreDropped(t *testing.T) {
	w, n := ledWorld(t, 35, persistence.SyncAlways, rules{})
	o := w.nodes[n.id%members+1]
	w.run(timeout)
	kind := raftpb.MsgSnap
	send := func(change func(*raftpb.Message), whole bool) error {
		meta, state, err := n.replica.Export()
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		in, err := o.store.Member().Receive()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1<<20)
		k, _ := state.Read(b)
		for whole && err == nil {
			var more int
			more, err = state.Read(b[k:])
			k += more
		}
		if _, err := in.Write(b[:k]); err != nil {
			t.Fatal(err)
		}
		term := n.driver.Leading()
		m := &raftpb.Message{Type: &kind, From: &n.id, To: &o.id, Term: &term, Snapshot: &raftpb.Snapshot{Metadata: meta}}
		change(m)
		err = o.driver.Install(o.clock(), m, in)
		o.work()
		if o.driver.received != nil {
			t.Error("a state is kept")
		}
		return err
	}
	high := uint64(1000)
	if err := send(func(*raftpb.Message) {}, true); err != nil {
		t.Errorf("a state that is there: %v", err)
	}
	if err := send(func(m *raftpb.Message) { m.Snapshot.Metadata.Index = &high }, true); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("a state of another entry: %v", err)
	}
	if err := send(func(m *raftpb.Message) { m.To = &n.id }, true); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("a state for another member: %v", err)
	}
	if err := send(func(*raftpb.Message) {}, false); !errors.Is(err, persistence.ErrCorrupt) {
		t.Errorf("a part of a state: %v", err)
	}
	w.settle()
	w.judge()
	w.close()
}

// Members that lag behind logs which are cut off all the time change nothing of what clients see.
func TestCatchingUpIsLinearizable(t *testing.T) {
	wantEffects(t, play(t, catchUp), 3, "done", "state taken in", "state cut short", "disk lost", "replace", "roll back")
}
