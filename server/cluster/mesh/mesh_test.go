package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// network is listeners in memory, by address.
type network struct {
	mu    sync.Mutex
	there map[string]*listener
	dials int
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *network) listen(address string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.there[address] = l
	return l
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.there[address]
	n.dials++
	n.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	a, b := net.Pipe()
	select {
	case l.conns <- b:
		return a, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return nil }

// member is a mesh with what it got and logged.
type member struct {
	*Mesh
	mu  sync.Mutex
	got []*raftpb.Message
	log []string

	state  []byte // the last one
	broken error  // why states are not taken
}

func (n *network) member(id uint64, change func(*Config)) *member {
	m := &member{}
	c := Config{Cluster: [16]byte{1, 2, 3}, ID: id, Peers: map[uint64]string{1: "a", 2: "b"}, Dial: n.dial,
		Receive: func(msg *raftpb.Message, _ bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.got = append(m.got, msg)
		},
		ReceiveState: m.receiveState,
		Logf: func(format string, args ...any) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.log = append(m.log, fmt.Sprintf(format, args...))
		}}
	if change != nil {
		change(&c)
	}
	m.Mesh = New(c)
	return m
}

func (m *member) logged(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.log, func(s string) bool { return strings.Contains(s, text) })
}

func (m *member) received() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.got)
}

func message(from, to, index uint64, data int) *raftpb.Message {
	kind := raftpb.MsgApp
	return &raftpb.Message{Type: &kind, From: &from, To: &to, Index: &index, Entries: []*raftpb.Entry{{Index: &index, Data: make([]byte, data)}}}
}

// elapse lets time pass on the fake clock of a synctest bubble, which all callers are in.
func elapse(d time.Duration) { <-time.After(d) }

// serve runs a member until the test ends it.
func serve(t *testing.T, m *member, l net.Listener) {
	go func() {
		if err := m.Serve(l); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}()
}

func TestMessagesArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		serve(t, b, n.listen("b"))
		const many = 200
		for i := range uint64(many) {
			a.Send(message(1, 2, i, int(i*i*10)))
			a.Send(message(1, 3, i, 0)) // nobody
		}
		synctest.Wait()
		if b.received() != many {
			t.Fatalf("%d of %d messages have come", b.received(), many)
		}
		for i, msg := range b.got {
			if !proto.Equal(msg, message(1, 2, uint64(i), i*i*10)) {
				t.Fatalf("message %d is %v", i, msg)
			}
		}
		a.Close()
		b.Close()
		a.Send(message(1, 2, 0, 0))
	})
}

// What elections and leases rest on does not wait behind a large entry, or a peer that is busy with one.
func TestHeartbeatsOvertakeEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		busy := make(chan struct{})
		var urgent []raftpb.MessageType
		a := n.member(1, nil)
		b := n.member(2, func(c *Config) {
			receive := c.Receive
			c.Receive = func(msg *raftpb.Message, more bool) {
				if receive(msg, more); msg.GetType() == raftpb.MsgApp {
					<-busy
					return
				}
				urgent = append(urgent, msg.GetType())
			}
		})
		serve(t, b, n.listen("b"))
		a.Send(message(1, 2, 1, 1<<20))
		a.Send(message(1, 2, 2, 1<<20))
		kinds := []raftpb.MessageType{raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgVote, raftpb.MsgVoteResp,
			raftpb.MsgPreVote, raftpb.MsgPreVoteResp, raftpb.MsgTimeoutNow}
		for _, kind := range kinds {
			a.Send(&raftpb.Message{Type: &kind, From: new(uint64(1)), To: new(uint64(2))})
		}
		synctest.Wait()
		if !slices.Equal(urgent, kinds) || b.received() != 1+len(kinds) {
			t.Errorf("%v have come, and %d messages in all", urgent, b.received())
		}
		close(busy)
		synctest.Wait()
		if b.received() != 2+len(kinds) {
			t.Errorf("%d messages have come", b.received())
		}
		a.Close()
		b.Close()
	})
}

// A member that was started again gets the first message after that: two that follow may have none for each
// other until they need each other's votes.
func TestMemberThatIsBackGetsTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a := n.member(1, nil)
		vote := raftpb.MsgVote
		for range 3 {
			l := n.listen("b")
			b := n.member(2, nil)
			serve(t, b, l)
			a.Send(message(1, 2, 1, 0))
			a.Send(&raftpb.Message{Type: &vote, From: new(uint64(1)), To: new(uint64(2))})
			synctest.Wait()
			if b.received() != 2 {
				t.Errorf("%d of 2 messages have come", b.received())
			}
			b.Close()
			elapse(lastDelay)
		}
		a.Close()
	})
}

// A connection that breaks is made again, and a peer that is away is asked now and then only.
func TestConnectionsAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, nil), n.member(2, nil)
		for range 600 { // a minute
			a.Send(message(1, 2, 1, 0))
			elapse(100 * time.Millisecond)
		}
		n.mu.Lock()
		if n.dials < 20 || n.dials > 50 {
			t.Errorf("%d attempts in a minute", n.dials)
		}
		n.mu.Unlock()
		serve(t, b, n.listen("b"))
		arrives := func() {
			before := b.received()
			for range 50 {
				a.Send(message(1, 2, 1, 0))
				elapse(100 * time.Millisecond)
			}
			if b.received() < before+20 {
				t.Errorf("%d of 50 messages arrive", b.received()-before)
			}
		}
		arrives()
		b.Mesh.mu.Lock()
		for c := range b.incoming {
			c.Close()
		}
		b.Mesh.mu.Unlock()
		arrives()
		a.Close()
		b.Close()
	})
}

func TestStrangersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"another cluster": {func(c *Config) { c.Cluster[5]++ }, "the member belongs to another cluster"},
		"another address": {func(c *Config) { c.Peers[3] = "b" }, "another member is there"},
		"nobody known":    {func(c *Config) { c.ID = 7 }, "the member is not known there"},
		"its double":      {func(c *Config) { c.ID, c.Peers = 2, map[uint64]string{2: "", 9: "b"} }, "another member is there"},
		"the same id":     {func(c *Config) { c.ID, c.Peers = 2, map[uint64]string{3: "b"} }, "another member is there"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{there: map[string]*listener{}}
			a, b := n.member(1, c.change), n.member(2, nil)
			serve(t, b, n.listen("b"))
			for to := range a.peers {
				a.Send(message(a.ID, to, 1, 0))
			}
			synctest.Wait()
			if !a.logged(c.want) || !b.logged(c.want) {
				t.Errorf("%s: logged: %q and %q, want %q", name, a.log, b.log, c.want)
			}
			if name != "another address" && b.received() > 0 {
				t.Errorf("%s: a message was taken", name)
			}
			a.Close()
			b.Close()
		})
	}
}

// greeting is what a member of the tests' cluster says first.
func greeting(from, to uint64) []byte {
	return (&hello{cluster: [16]byte{1, 2, 3}, from: from, to: to}).encode()
}

// Garbage ends its own connection, and says why.
func TestGarbageEndsItsConnection(t *testing.T) {
	frame := func(msg *raftpb.Message) []byte {
		var b bytes.Buffer
		if _, err := writeMessage(&b, msg, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"a web browser":      {[]byte("GET / HTTP/1.1\r\n\r\n"), "is no hello of a member"},
		"nothing":            {nil, "EOF"},
		"half a hello":       {greeting(1, 2)[:20], "EOF"},
		"a later version":    {append([]byte(magic), 9), "different versions"},
		"a long frame":       {append(greeting(1, 2), 0xff, 0xff, 0xff, 0xff), "is too long"},
		"a frame cut off":    {append(greeting(1, 2), 0xff, 0xff, 0xff, 1, 5), "ends after 1 of"},
		"no protobuf":        {append(greeting(1, 2), 2, 0, 0, 0, 0xff, 0xff), "a frame of 2 bytes"},
		"of another member":  {append(greeting(1, 2), frame(message(3, 2, 1, 0))...), "member 1 sends a message from 3 to 2"},
		"for another member": {append(greeting(1, 2), frame(message(1, 3, 1, 0))...), "member 1 sends a message from 1 to 3"},
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
			_, _ = conn.Write(c.bytes)
			synctest.Wait()
			conn.Close()
			synctest.Wait()
			if !b.logged(c.want) || b.received() > 0 {
				t.Errorf("%s: logged %q, want %q; %d messages", name, b.log, c.want, b.received())
			}
			b.Close()
		})
	}
}

// A peer that neither reads nor speaks costs a bounded queue and no time of the sender.
func TestASilentPeerCostsItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		l := n.listen("b")
		a := n.member(1, nil)
		for range 3 * queued {
			a.Send(message(1, 2, 1, 0))
		}
		silent, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(a.peer(2).entries.messages); got != queued && got != queued-1 {
			t.Errorf("%d messages are queued", got)
		}
		elapse(2 * helloTimeout)
		if !a.logged("to member 2 at b") {
			t.Error("it waits for a hello for ever")
		}
		silent.Close()
		b := n.member(2, nil)
		serve(t, b, n.listen("c"))
		synctest.Wait()
		mute, err := n.dial(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		elapse(2 * helloTimeout)
		if !b.logged("timeout") {
			t.Errorf("it waits for a hello for ever: %q", b.log)
		}
		mute.Close()
		for range maxIncoming {
			if _, err := n.dial(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		extra, err := n.dial(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := extra.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("one connection more than there may be: %v", err)
		}
		a.Close()
		b.Close()
	})
}

func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	if _, err := writeMessage(&b, message(1, 2, 3, 10), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		var memory []byte
		for {
			msg, rest, err := readMessage(r, memory)
			if err != nil {
				return
			}
			memory = rest
			var out bytes.Buffer
			if _, err := writeMessage(&out, msg, nil); err != nil {
				t.Fatal(err)
			}
			again, _, err := readMessage(&out, nil)
			if err != nil || !proto.Equal(msg, again) {
				t.Fatalf("%v became %v: %v", msg, again, err)
			}
		}
	})
}

// The memory of a frame is used for the next one, unless it was a large one, and no message lies in it.
func TestMessagesAreNotInTheMemoryOfFrames(t *testing.T) {
	var stream bytes.Buffer
	var memory []byte
	want := []*raftpb.Message{message(1, 2, 3, 100), message(1, 2, 4, 3*pieceBytes), message(1, 2, 5, 50), message(1, 2, 6, 2*keptFrame), message(1, 2, 7, 60)}
	for i, msg := range want {
		msg.Entries = append(msg.Entries, &raftpb.Entry{Data: bytes.Repeat([]byte{byte(i)}, 100)})
		var err error
		if memory, err = writeMessage(&stream, msg, memory); err != nil || cap(memory) > keptFrame {
			t.Fatalf("message %d: %v, %d bytes are kept", i, err, cap(memory))
		}
	}
	var got []*raftpb.Message
	for range want {
		msg, rest, err := readMessage(&stream, memory)
		if err != nil || cap(rest) > keptFrame {
			t.Fatalf("%v, %d bytes are kept", err, cap(rest))
		}
		got, memory = append(got, msg), rest
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("message %d is not what was sent", i)
		}
	}
}

// A member that takes encrypted connections only refuses a hello with an alert of TLS, which the other one logs as what it means.
func TestMemberThatWantsTLSIsRecognised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		l := n.listen("b")
		a := n.member(1, nil)
		a.Send(message(1, 2, 1, 0))
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, helloBytes)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte{21}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !a.logged("the member takes encrypted connections only") {
			t.Errorf("logged %q", a.log)
		}
		conn.Close()
		a.Close()
	})
}
