package mesh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/transport"
)

// idleStore is the store of a server without clients.
type idleStore struct{}

func (idleStore) Confirmed(uint64) bool                 { return true }
func (idleStore) WaitDurable(uint64) error              { return nil }
func (idleStore) NotifyDurable(_ uint64, f func(error)) { f(nil) }
func (idleStore) BeginRound()                           {}
func (idleStore) EndRound(bool)                         {}
func (idleStore) Throttle()                             {}

// newLoops returns loops that end with the test.
func newLoops(t *testing.T) *transport.Loops {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	loops := transport.NewLoops(transport.Host{Store: idleStore{}, Closed: ctx, Workers: &workers})
	if err := loops.Start(1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		loops.End()
		workers.Wait() // or the test hangs
	})
	return loops
}

// tcpMember serves a member by TCP, and ends it with the test.
func tcpMember(t *testing.T, id uint64, change func(*Config)) (m *member, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m = new(network).member(id, func(c *Config) {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
		if change != nil {
			change(c)
		}
	})
	serve(t, m, l)
	t.Cleanup(m.Close)
	return m, l.Addr().String()
}

// until waits for other goroutines to bring something about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// servedConns returns how many connections of a member loops serve.
func (m *member) servedConns() (n int) {
	m.Mesh.mu.RLock()
	defer m.Mesh.mu.RUnlock()
	for c := range m.incoming {
		if _, ok := c.(*served); ok {
			n++
		}
	}
	return n
}

func TestLoopsServeEntriesInOrder(t *testing.T) {
	loops := newLoops(t)
	b, address := tcpMember(t, 2, func(c *Config) { c.Loops = loops })
	a, _ := tcpMember(t, 1, func(c *Config) { c.Peers = map[uint64]string{2: address} })
	sizes := []int{0, 40, 5000, 70_000, 0, 3 << 20, 100}
	for i := range uint64(400) {
		a.Send(message(1, 2, i, sizes[int(i)%len(sizes)]))
		heartbeat := message(1, 2, i, 0)
		heartbeat.Type, heartbeat.Entries = new(raftpb.MessageType), nil
		*heartbeat.Type = raftpb.MsgHeartbeat
		a.Send(heartbeat)
		until(t, "a message of each kind has come", func() bool { return b.received() > 2*int(i)-20 })
	}
	until(t, "all have come", func() bool { return b.received() == 800 })
	next := map[raftpb.MessageType]uint64{}
	for _, msg := range b.got {
		kind := msg.GetType()
		if msg.GetIndex() != next[kind] {
			t.Fatalf("message %d of type %v in the place of %d", msg.GetIndex(), kind, next[kind])
		}
		if size := sizes[int(next[kind])%len(sizes)]; kind == raftpb.MsgApp && len(msg.GetEntries()[0].GetData()) != size {
			t.Fatalf("message %d has %d bytes of data, want %d", next[kind], len(msg.GetEntries()[0].GetData()), size)
		}
		next[kind]++
	}
	if n := b.servedConns(); n != 1 {
		t.Errorf("loops serve %d connections, want that of entries", n)
	}
}

// A message says that more follow only if the next one is there: nothing else would wake the driver for it.
func TestTheLastMessageThatIsThereSaysSo(t *testing.T) {
	loops, frames := newLoops(t), encoded(t, 5)
	for _, parts := range [][][]byte{
		{frames},
		{frames[:7], frames[7 : len(frames)-3], frames[len(frames)-3:]},
		{frames[:len(frames)/2], frames[len(frames)/2:]},
	} {
		var all, last int
		var mu sync.Mutex
		_, address := tcpMember(t, 2, func(c *Config) {
			c.Loops = loops
			c.Receive = func(_ *raftpb.Message, follows bool) {
				mu.Lock()
				defer mu.Unlock()
				if all++; !follows {
					last = all
				}
			}
		})
		conn := greeted(t, address)
		for _, part := range parts {
			if _, err := conn.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the last one is there", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return last == 5
		})
	}
}

// greeted returns a connection of member 1 that member 2 has welcomed.
func greeted(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	verdict := make([]byte, 1)
	if _, err := conn.Write(greeting(1, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, verdict); err != nil || verdict[0] != welcome {
		t.Fatalf("verdict %d, %v", verdict, err)
	}
	return conn
}

// encoded returns the frames of n messages of member 1 to member 2.
func encoded(t testing.TB, n uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		if _, err := writeMessage(&b, message(1, 2, i, 100), nil); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestServedConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(b *member, conn net.Conn)
		want string // in the log; "" for nothing
	}{
		"the peer is gone":   {func(b *member, _ net.Conn) { b.SetPeers(map[uint64]string{3: "c"}) }, ""},
		"the mesh is closed": {func(b *member, _ net.Conn) { b.Close() }, ""},
		"the peer ends":      {func(_ *member, conn net.Conn) { conn.Close() }, "EOF"},
		"a frame is cut off": {func(_ *member, conn net.Conn) { _, _ = conn.Write([]byte{9, 0, 0, 0, 1}); conn.Close() }, "ends after 5 of 13"},
		"a long frame":       {func(_ *member, conn net.Conn) { _, _ = conn.Write([]byte{255, 255, 255, 255}) }, "is too long"},
		"no protobuf":        {func(_ *member, conn net.Conn) { _, _ = conn.Write([]byte{2, 0, 0, 0, 255, 255}) }, "a frame of 6 bytes"},
		"another member": {func(_ *member, conn net.Conn) {
			b, _ := appendMessage(nil, message(3, 2, 1, 0))
			_, _ = conn.Write(b)
		}, "member 1 sends a message from 3 to 2"},
	} {
		loops := newLoops(t)
		b, address := tcpMember(t, 2, func(c *Config) { c.Loops = loops })
		conn := greeted(t, address)
		for n := range 2 { // the second one comes by the loop
			if _, err := conn.Write(encoded(t, 1)); err != nil {
				t.Fatal(err)
			}
			until(t, "a loop serves the connection", func() bool { return b.servedConns() == 1 && b.received() == n+1 })
		}
		c.ends(b, conn)
		until(t, "it has ended", func() bool { return b.servedConns() == 0 })
		if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
			t.Logf("%s: the peer gets %v", name, err) // a reset, as input was left
		}
		if c.want != "" {
			until(t, name+" is logged", func() bool { return b.logged(c.want) })
		} else if len(b.log) > 0 {
			t.Errorf("%s: logged %q", name, b.log)
		}
		b.Close()
	}
}

// What a loop takes of a stream, however it comes in pieces, is what a goroutine reads of it.
func FuzzServed(f *testing.F) {
	f.Add(encoded(f, 3), uint64(1))
	f.Add(append(encoded(f, 2), 3, 0, 0, 0, 1), uint64(2))
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint64(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint64(4))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		var want, got []uint64
		m := &Mesh{Config: Config{ID: 2, Receive: func(msg *raftpb.Message, _ bool) { got = append(got, msg.GetIndex()) }}}
		broken := false
		for r := bytes.NewReader(stream); !broken; {
			msg, _, err := readMessage(r, nil)
			if err == nil {
				err = m.addressed(msg, 1)
			}
			if err == nil {
				want = append(want, msg.GetIndex())
			}
			broken = err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
			if err != nil {
				break
			}
		}
		s, rnd := &served{m: m, peer: 1}, rand.New(rand.NewPCG(seed, 0))
		var err error
		for rest := stream; len(rest) > 0 && err == nil; {
			n := 1 + rnd.IntN(len(rest))
			if s.Unread() == 0 {
				err = s.FeedBorrowed(slices.Clone(rest[:n]))
			} else {
				n = copy(s.Space(), rest[:n])
				err = s.Feed(n)
			}
			rest = rest[n:]
		}
		if !slices.Equal(got, want) || (err != nil) != broken {
			t.Errorf("took %v, %v; want %v, broken %v", got, err, want, broken)
		}
	})
}
