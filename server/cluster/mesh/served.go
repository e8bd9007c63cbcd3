package mesh

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/vigildb/vigil/server/transport"
)

// served is a connection with messages of a peer as a session of an event loop: a goroutine that reads
// would have to be woken for each message, which takes longer than to work on most of them.
type served struct {
	m    *Mesh
	peer uint64
	from string
	buf  []byte         // received, and not taken yet; the loop's
	err  error          // why it ends; the loop's
	conn transport.Conn // nil before it is there; guarded by m.mu
	cut  bool           // guarded by m.mu
}

// errServed ends the goroutine of a connection that a loop serves.
var errServed = errors.New("mesh: served by a loop")

// errEnded is why a connection ends whose socket has failed.
var errEnded = errors.New("the connection has failed")

// leastSpace is the room for a read of a message that has not come whole, in bytes.
const leastSpace = 4 << 10

// servable reports whether a connection is for event loops, by a message of it: it carries entries or the
// replies to them. What elections and leases rest on does not wait for the clients of a loop, and
// crypto/tls has to have its own goroutine.
func (m *Mesh) servable(conn net.Conn, msg *raftpb.Message) bool {
	_, plain := conn.(*net.TCPConn)
	kind := msg.GetType()
	return m.Loops != nil && plain && (kind == raftpb.MsgApp || kind == raftpb.MsgAppResp)
}

// serve hands the connection of a peer to a loop. The error is errServed, or why the peer is heard no more.
func (m *Mesh) serve(conn net.Conn, peer uint64, r *bufio.Reader) error {
	rest, _ := r.Peek(r.Buffered())
	s := &served{m: m, peer: peer, from: remote(conn), buf: slices.Clone(rest)}
	m.mu.Lock()
	if _, known := m.incoming[conn]; !known || m.closed {
		m.mu.Unlock()
		return verdicts[unknownMember]
	}
	delete(m.incoming, conn)
	m.incoming[s] = peer
	m.tasks.Add(1) // until Leave
	m.mu.Unlock()
	m.Loops.Serve(conn, func(c transport.Conn) transport.Session {
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.conn = c; s.cut {
			c.HangUp()
		}
		return s
	})
	s.conn.Wake() // for the rest
	return errServed
}

// Close ends the connection soon. The lock of the mesh is held.
func (s *served) Close() error {
	if s.cut = true; s.conn != nil {
		s.conn.HangUp()
	}
	return nil
}

// take passes the messages in b on that have come whole, and returns what is behind them.
func (s *served) take(b []byte) (rest []byte, err error) {
	for n := 0; err == nil; b = b[n:] {
		if n, err = frameBytes(b, maxFrame); err != nil || n > len(b) {
			break
		}
		msg := new(raftpb.Message)
		if err = proto.Unmarshal(b[frameHeader:n], msg); err != nil {
			err = fmt.Errorf("a frame of %d bytes: %w", n, err)
		} else if err = s.m.addressed(msg, s.peer); err == nil {
			next, _ := frameBytes(b[n:], maxFrame)
			s.m.Receive(msg, next <= len(b)-n)
		}
	}
	s.err = err
	return b, err
}

// Unread implements [transport.Session], as do the methods below.
func (s *served) Unread() int { return len(s.buf) }

// Space returns room in proportion to what has come, not to what is announced.
func (s *served) Space() []byte {
	room := leastSpace
	if n, err := frameBytes(s.buf, maxFrame); err == nil && n > len(s.buf) {
		room = max(room, min(n-len(s.buf), max(pieceBytes, len(s.buf))))
	}
	s.buf = slices.Grow(s.buf, room)
	return s.buf[len(s.buf):cap(s.buf)]
}

// Feed takes what was read into Space.
func (s *served) Feed(n int) error {
	s.buf = s.buf[:len(s.buf)+n]
	return s.Resume()
}

// FeedBorrowed takes what is in b.
func (s *served) FeedBorrowed(b []byte) error {
	rest, err := s.take(b)
	s.buf = append(s.buf, rest...)
	return err
}

// Resume takes what was received.
func (s *served) Resume() error {
	rest, err := s.take(s.buf)
	if len(rest) == 0 {
		s.buf = kept(s.buf)
	} else if len(rest) < len(s.buf) {
		s.buf = s.buf[:copy(s.buf, rest)]
	}
	return err
}

// InputEnded ends the connection.
func (s *served) InputEnded() error {
	if s.err = io.EOF; len(s.buf) > 0 {
		n, _ := frameBytes(s.buf, maxFrame)
		s.err = fmt.Errorf("a frame ends after %d of %d bytes: %w", len(s.buf), n, io.EOF)
	}
	return io.EOF
}

// Killed reports whether the connection was cut.
func (s *served) Killed() bool {
	s.m.mu.RLock()
	defer s.m.mu.RUnlock()
	return s.cut
}

// Leave ends what there is of the connection in the mesh.
func (s *served) Leave() {
	defer s.m.tasks.Done()
	s.m.mu.Lock()
	delete(s.m.incoming, s)
	cut := s.cut
	s.m.mu.Unlock()
	if !cut && s.m.ctx.Err() == nil {
		s.m.report(true, s.from, cmp.Or(s.err, errEnded))
	}
}

// Closing is false: a connection ends when it is cut, or fails.
func (s *served) Closing() bool { return false }

// Sent has nothing to do: nothing is sent.
func (s *served) Sent() error { return nil }

// Awaited is no position: no reply waits for the journal.
func (s *served) Awaited() uint64 { return 0 }

// SyncFailed has nothing to do.
func (s *served) SyncFailed() bool { return false }
