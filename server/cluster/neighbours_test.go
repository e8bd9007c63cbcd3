package cluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

func (m *moving) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

// still waits until a group can say which slots it has, and has no move begin for so long.
func (m *moving) still(d time.Duration) (index uint64, own *slots.Set) {
	m.t.Helper()
	m.until("no slots are on their way", func() bool {
		var err error
		index, own, err = m.handle.HoldStill(d)
		return err == nil
	})
	return index, own
}

// While slots are held still no move begins, from the group or to it; one that is asked for begins afterwards. The entry that says which
// slots a group has is another one after every move.
func TestHeldSlotsDoNotMove(t *testing.T) {
	for _, held := range []string{"giver", "taker"} {
		t.Run(held, func(t *testing.T) {
			a, b := twoMoving(t)
			of := slotstest.Set(t, "5-9")
			m := map[string]*moving{"giver": a, "taker": b}[held]
			before, own := m.still(time.Hour)
			if want := map[string]int{"giver": slots.Count, "taker": 0}[held]; own.Len() != want {
				t.Errorf("%d slots, want %d", own.Len(), want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, _, err := a.handle.BeginMove(ctx, b.id(), of); err == nil {
				t.Fatal("a move begins")
			}
			if index, _ := m.still(time.Hour); index != before || a.assignment().Moving() || b.assignment().Moving() {
				t.Errorf("something has changed: %d and %d, %v, %v", before, index, a.assignment(), b.assignment())
			}
			m.later.Add(int64(time.Hour - 50*time.Millisecond)) // the next one waits for a moment
			attempt := a.begin(b, of)
			for _, g := range []*moving{a, b} {
				if _, _, err := g.handle.HoldStill(0); !says(err, "being moved") {
					t.Errorf("while slots move: %v", err)
				}
			}
			if _, err := a.handle.GiveSlots(t.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			a.handle.EndMove(attempt)
			moved(a, b, of)
			if index, own := m.still(0); index <= before || own.Len() != map[string]int{"giver": slots.Count - 5, "taker": 5}[held] {
				t.Errorf("after the move: entry %d, %s; before it was %d", index, own, before)
			}
		})
	}
}

// A server responds to others of the cluster, of whatever group, when it is asked for something that it understands.
func TestServersAskEachOther(t *testing.T) {
	a, b := twoMoving(t)
	b.stop()
	b.serve = func(_ context.Context, request []byte) []byte { return append([]byte("you said "), request...) }
	b.start()
	got, err := a.handle.AskServer(t.Context(), b.address(), []byte("hello"))
	if err != nil || string(got) != "you said hello" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.handle.AskServer(t.Context(), a.address(), []byte("hello")); !errors.Is(err, topology.ErrSilent) {
		t.Errorf("a server that is to be asked nothing: %v", err)
	}
	b.stop()
	if _, err := a.handle.AskServer(t.Context(), b.address(), nil); err == nil {
		t.Error("a server that is gone replies")
	}
}
