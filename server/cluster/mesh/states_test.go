package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

func (m *member) receiveState(msg *raftpb.Message, state io.Reader) error {
	b, err := io.ReadAll(state)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	m.got, m.state = append(m.got, msg), b
	return nil
}

// bytesOf returns bytes that do not repeat.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

// A state arrives as it was sent, while messages go on, and no faster than it may.
func TestStatesArriveAsTheyWereSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		serve(t, b, n.listen("b"))
		for _, size := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 5*pieceBytes + 7} {
			want, begin := bytesOf(size), time.Now()
			a.Send(message(1, 2, 3, 10))
			if err := a.SendState(t.Context(), message(1, 2, uint64(size), 0), bytes.NewReader(want), pieceBytes); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); !bytes.Equal(b.state, want) || took < time.Duration(float64(size)/pieceBytes*float64(time.Second)) {
				t.Errorf("%d bytes: %d have come in %v", size, len(b.state), took)
			}
		}
		synctest.Wait()
		if b.received() != 12 {
			t.Errorf("%d messages have come", b.received())
		}
		a.Close()
		b.Close()
	})
}

const stall = writeTimeout / 2

// stalled takes a while before it is read, less than the other side waits for.
type stalled struct {
	io.Reader
	once sync.Once
}

func (s *stalled) Read(b []byte) (int, error) {
	s.once.Do(func() { elapse(stall) })
	return s.Reader.Read(b)
}

// What follows a state's delay comes no faster than what was before it: all of it at once would delay clients.
func TestDelaysOfStatesAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		serve(t, b, n.listen("b"))
		half, begin := bytesOf(5*pieceBytes), time.Now()
		state := io.MultiReader(bytes.NewReader(half), &stalled{Reader: bytes.NewReader(half)})
		if err := a.SendState(t.Context(), message(1, 2, 3, 0), state, pieceBytes); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < stall+9*time.Second {
			t.Errorf("ten pieces of a second each came in %v, %v of which they were not there", took, stall)
		}
		a.Close()
		b.Close()
	})
}

// slow is a state without an end that takes time, or cannot be read.
type slow struct{ broken error }

func (s slow) Read(b []byte) (int, error) {
	if elapse(time.Second); s.broken != nil {
		return 0, s.broken
	}
	return len(b), nil
}

// Whatever ends a transfer early, both sides learn of it, and nothing is taken.
func TestStatesThatDoNotArriveFail(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(a, b *member, cancel context.CancelFunc) // after three seconds
		want string
	}{
		"the sender gives up":            {func(_, _ *member, cancel context.CancelFunc) { cancel() }, "context canceled"},
		"the receiver goes":              {func(_, b *member, _ context.CancelFunc) { b.Close() }, "closed pipe"},
		"the sender goes":                {func(a, _ *member, _ context.CancelFunc) { a.Close() }, "context canceled"},
		"the sender forgets the peer":    {func(a, _ *member, _ context.CancelFunc) { a.SetPeers(nil) }, "context canceled"},
		"the receiver forgets the peer":  {func(_, b *member, _ context.CancelFunc) { b.SetPeers(nil) }, "closed pipe"},
		"the peer is somewhere else now": {func(a, _ *member, _ context.CancelFunc) { a.SetPeers(map[uint64]string{2: "c"}) }, "context canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{there: map[string]*listener{}}
			a, b := n.member(1, nil), n.member(2, nil)
			serve(t, b, n.listen("b"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(3500*time.Millisecond, func() { c.do(a, b, cancel) })
			err := a.SendState(ctx, message(1, 2, 1, 0), slow{}, 0)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			synctest.Wait()
			if b.received() > 0 {
				t.Errorf("%s: a state was taken", name)
			}
			a.Close()
			b.Close()
		})
	}
}

func TestStatesThatAreNotTakenAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		serve(t, b, n.listen("b"))
		b.broken = errors.New("disk full")
		if err := a.SendState(t.Context(), message(1, 2, 1, 0), bytes.NewReader(bytesOf(10)), 0); !errors.Is(err, errRefused) {
			t.Errorf("a state that the other member cannot write: %v", err)
		}
		synctest.Wait()
		if !b.logged("disk full") {
			t.Errorf("logged: %q", b.log)
		}
		if err := a.SendState(t.Context(), message(1, 7, 1, 0), nil, 0); !errors.Is(err, ErrUnknownPeer) {
			t.Errorf("a state for a stranger: %v", err)
		}
		broken := errors.New("broken")
		if err := a.SendState(t.Context(), message(1, 2, 1, 0), slow{broken}, 0); !errors.Is(err, broken) {
			t.Errorf("a state that cannot be read: %v", err)
		}
		c := n.member(1, func(c *Config) { c.ReceiveState = nil })
		serve(t, c, n.listen("a"))
		if err := b.SendState(t.Context(), message(2, 1, 1, 0), bytes.NewReader(nil), 0); err == nil {
			t.Error("a member that takes no states has taken one")
		}
		a.Close()
		b.Close()
		c.Close()
	})
}

// Garbage on a connection for a state ends it, and nothing is taken; one that says nothing too.
func TestGarbageInAStateEndsIt(t *testing.T) {
	var frame bytes.Buffer
	if _, err := writeMessage(&frame, message(1, 2, 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	var strange bytes.Buffer
	if _, err := writeMessage(&strange, message(3, 2, 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	piece := func(n uint32, b ...byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, n), b...) }
	for name, c := range map[string]struct {
		bytes []byte
		close bool
		want  string
	}{
		"no message":          {nil, true, "EOF"},
		"of another member":   {strange.Bytes(), true, "member 1 sends a message from 3 to 2"},
		"no piece":            {frame.Bytes(), true, "a state is cut off"},
		"half a length":       {append(slices.Clip(frame.Bytes()), 1, 0), true, "a state is cut off"},
		"half a piece":        {append(slices.Clip(frame.Bytes()), piece(5, 1, 2)...), true, "a state is cut off"},
		"a piece and no end":  {append(slices.Clip(frame.Bytes()), piece(1, 1)...), true, "a state is cut off"},
		"a piece too long":    {append(slices.Clip(frame.Bytes()), piece(pieceBytes+1)...), true, "is too long"},
		"nothing for a while": {append(slices.Clip(frame.Bytes()), piece(1, 1)...), false, "timeout"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{there: map[string]*listener{}}
			b := n.member(2, nil)
			serve(t, b, n.listen("b"))
			synctest.Wait()
			conn, err := n.dial(t.Context(), "b")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			h := (&hello{cluster: [16]byte{1, 2, 3}, from: 1, to: 2, follows: forState}).encode()
			_, _ = conn.Write(append(h, c.bytes...))
			synctest.Wait()
			if !c.close {
				elapse(2 * writeTimeout)
			}
			conn.Close()
			synctest.Wait()
			if !b.logged(c.want) || b.received() > 0 {
				t.Errorf("%s: logged %q, want %q; %d messages", name, b.log, c.want, b.received())
			}
			b.Close()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		b := n.member(2, nil)
		serve(t, b, n.listen("b"))
		conn, err := n.dial(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		h := (&hello{cluster: [16]byte{1, 2, 3}, from: 1, to: 2, follows: 9}).encode()
		_, _ = conn.Write(h)
		reply := make([]byte, 1)
		if _, err := io.ReadFull(conn, reply); err != nil || reply[0] == welcome {
			t.Errorf("a connection for nothing that is known: %v, %v", reply, err)
		}
		b.Close()
	})
}

// Members come and go while the mesh runs.
func TestPeersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		third := n.member(3, func(c *Config) { c.Peers = map[uint64]string{1: "a", 2: "b", 3: "c"} })
		lb := n.listen("b")
		for m, l := range map[*member]net.Listener{a: n.listen("a"), b: lb, third: n.listen("c")} {
			serve(t, m, l)
		}
		expect := func(what string, from, to *member, arrives bool) {
			t.Helper()
			before := to.received()
			for range 100 {
				from.Send(message(from.ID, to.ID, 1, 0))
				elapse(100 * time.Millisecond)
			}
			if got := to.received() - before; (got > 50) != arrives || !arrives && got > 0 {
				t.Errorf("%s: %d of 100 messages arrive", what, got)
			}
		}
		expect("to a stranger", a, third, false)
		expect("from a stranger", third, a, false)
		all := map[uint64]string{1: "a", 2: "b", 3: "c"}
		a.SetPeers(all)
		expect("to one that has joined", a, third, true)
		expect("from one that has joined", third, a, true)
		before := n.dialled()
		a.SetPeers(maps.Clone(all))
		expect("after no change", a, third, true)
		if got := n.dialled(); got != before {
			t.Errorf("%d connections were made anew without a change", got-before)
		}
		moved := n.member(2, func(c *Config) { c.Peers = all })
		b.Close()
		serve(t, moved, n.listen("d"))
		all[2] = "d"
		a.SetPeers(all)
		expect("to one that has moved", a, moved, true)
		delete(all, 3)
		a.SetPeers(all)
		expect("to one that has left", a, third, false)
		expect("from one that has left", third, a, false)
		if !third.logged("not known there") {
			t.Errorf("one that has left is told: %q", third.log)
		}
		expect("to one that stays", a, moved, true)
		a.Close()
		a.SetPeers(map[uint64]string{9: "x"})
		moved.Close()
		third.Close()
	})
}

func (n *network) dialled() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}
