package mesh

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// sockets are two members that are connected by TCP. A receiver waits while held is locked.
func sockets(t *testing.T) (from *member, got func() []*raftpb.Message, held sync.Locker) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{there: map[string]*listener{}}
	var mu, hold sync.Mutex
	var all []*raftpb.Message
	to := n.member(2, func(c *Config) {
		c.Receive = func(msg *raftpb.Message, _ bool) {
			hold.Lock()
			defer hold.Unlock()
			mu.Lock()
			defer mu.Unlock()
			all = append(all, msg)
		}
	})
	var serving sync.WaitGroup
	serving.Go(func() { _ = to.Serve(l) })
	from = n.member(1, func(c *Config) {
		c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}
	})
	t.Cleanup(func() { from.Close(); to.Close(); serving.Wait() })
	return from, func() []*raftpb.Message {
		mu.Lock()
		defer mu.Unlock()
		return append([]*raftpb.Message(nil), all...)
	}, &hold
}

// eventually waits until so many messages have come.
func eventually(t *testing.T, got func() []*raftpb.Message, n int) []*raftpb.Message {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if all := got(); len(all) >= n {
			return all
		} else if time.Now().After(end) {
			t.Fatalf("%d messages have come, want %d", len(all), n)
		}
	}
}

func inOrder(t *testing.T, all []*raftpb.Message) {
	t.Helper()
	for i, msg := range all {
		if msg.GetIndex() != uint64(i) {
			t.Fatalf("message %d comes at place %d", msg.GetIndex(), i)
		}
	}
}

// A lane with nothing to do is written to by Send itself.
func TestShortMessagesOfAnIdleLaneAreWrittenAtOnce(t *testing.T) {
	from, got, _ := sockets(t)
	from.Send(message(1, 2, 0, 10))
	eventually(t, got, 1)
	l := from.peer(2).entries
	direct := func(i uint64, size int) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.raw != nil && l.writeLocked(message(1, 2, i, size))
	}
	for end := time.Now().Add(time.Minute); !direct(1, 10); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the lane does not become idle")
		}
	}
	if direct(2, directBytes+1) {
		t.Fatal("a long message was written by the sender")
	}
	inOrder(t, eventually(t, got, 2))
}

// Whatever the sizes, and however slowly the peer reads, messages come once and in order, and Send
// does not wait.
func TestMessagesOfALaneComeInOrder(t *testing.T) {
	from, got, hold := sockets(t)
	hold.Lock()
	sizes := []int{10, directBytes, 100, 3 * pieceBytes, 0, directBytes + 1, 1}
	n := 0
	send := func(count int) {
		for range count {
			from.Send(message(1, 2, uint64(n), sizes[n%len(sizes)]))
			n++
		}
	}
	send(queued - 1) // fills the socket: the receiver waits
	hold.Unlock()
	inOrder(t, eventually(t, got, n))
	for range 50 {
		send(20)
		inOrder(t, eventually(t, got, n))
	}
}

// A socket that takes a part of a message gets the rest before the next one.
func TestRestOfAMessageGoesFirst(t *testing.T) {
	from, got, hold := sockets(t)
	from.Send(message(1, 2, 0, 10))
	eventually(t, got, 1)
	hold.Lock()
	n := uint64(1)
	l := from.peer(2).entries
	parts := 0
	for end := time.Now().Add(time.Minute); parts == 0 && n < queued<<4; {
		l.mu.Lock()
		if l.raw != nil && l.writeLocked(message(1, 2, n, directBytes-100)) {
			n++
		}
		if parts = len(l.rest); parts > 0 {
			l.messages <- message(1, 2, n, 10)
			n++
		}
		l.mu.Unlock()
		if time.Now().After(end) {
			t.Fatal("the socket takes everything")
		}
	}
	hold.Unlock()
	if parts == 0 {
		t.Fatal("no message was written in part")
	}
	inOrder(t, eventually(t, got, int(n)))
}
