// Package mesh carries raft's messages between the members of a group over TCP or what
// else gives connections: one for each direction and pair of members.
//
// The side that dials says which cluster and member it is and which it wants, and is refused if
// that is wrong: a member with another cluster's data, a member of another version, a
// copied directory, an address that belongs to another one by now. That is protection
// against mistakes. Against attackers connections need TLS with certificates of
// clients, which the caller provides by Config.Dial and the listener.
//
// Messages may be lost: raft sends again. Send never waits, and what a peer does not
// take is dropped, so that a slow one costs its queue and no more.
package mesh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

const (
	// queued is how many messages wait for a peer at most. Raft bounds their bytes.
	queued = 1024
	// maxIncoming is how many connections others may have at the same time.
	maxIncoming = 256

	helloTimeout = 5 * time.Second
	writeTimeout = 10 * time.Second // for pieceBytes
	pieceBytes   = 64 << 10
	firstDelay   = 50 * time.Millisecond // before another attempt to connect; doubles
	lastDelay    = 2 * time.Second
)

// ErrClosed is returned by Serve after Close.
var ErrClosed = errors.New("mesh: closed")

// Config describes the mesh of one member.
type Config struct {
	Cluster [16]byte // the same for all members
	ID      uint64   // of this member
	Peers   map[uint64]string
	// Dial connects to an address of Peers.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Receive is given the messages of one peer in the order in which they come, and those
	// of different ones at the same time. While it waits, that peer does.
	Receive func(*raftpb.Message)
	// Logf is told why a connection ended or was refused.
	Logf func(format string, args ...any)
}

// Mesh is the connections of one member.
type Mesh struct {
	Config
	queues map[uint64]chan *raftpb.Message
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu       sync.Mutex
	incoming map[net.Conn]struct{} // guarded by mu
	closed   bool                  // guarded by mu
}

// New makes a mesh that connects to the peers when there is something to send.
func New(c Config) *Mesh {
	m := &Mesh{Config: c, queues: map[uint64]chan *raftpb.Message{}, incoming: map[net.Conn]struct{}{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for id, address := range c.Peers {
		if id == c.ID {
			continue
		}
		q := make(chan *raftpb.Message, queued)
		m.queues[id] = q
		m.tasks.Go(func() { m.send(id, address, q) })
	}
	return m
}

// Send hands a message to the connection of its peer, or drops it. It must not be
// changed afterwards.
func (m *Mesh) Send(msg *raftpb.Message) {
	select {
	case m.queues[msg.GetTo()] <- msg: // never, for a peer that is unknown
	default:
	}
}

// Close ends all connections, and returns when nothing runs any more.
func (m *Mesh) Close() {
	m.cancel()
	m.mu.Lock()
	m.closed = true
	for c := range m.incoming {
		c.Close()
	}
	m.mu.Unlock()
	m.tasks.Wait()
}

// send keeps a connection to a peer and writes what is queued.
func (m *Mesh) send(id uint64, address string, q chan *raftpb.Message) {
	delay := firstDelay
	for {
		select {
		case <-m.ctx.Done():
			return
		case msg := <-q:
			greeted, err := m.converse(id, address, msg, q)
			if m.ctx.Err() != nil {
				return
			}
			if greeted {
				delay = firstDelay
			}
			m.Logf("to member %d at %s: %v", id, address, err)
		}
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(delay):
		}
		delay = min(2*delay, lastDelay)
		for len(q) > 0 { // old by now
			<-q
		}
	}
}

// converse connects to a peer and writes until something fails; greeted says that the
// peer was the right one.
func (m *Mesh) converse(id uint64, address string, msg *raftpb.Message, q chan *raftpb.Message) (greeted bool, err error) {
	dialing, done := context.WithTimeout(m.ctx, helloTimeout)
	defer done()
	conn, err := m.Dial(dialing, address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(m.ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return false, err
	}
	if err := m.greet(conn, id); err != nil {
		return false, err
	}
	w := bufio.NewWriterSize(patient{conn}, pieceBytes)
	for {
		err := writeMessage(w, msg)
		if err == nil && len(q) == 0 {
			err = w.Flush()
		}
		if err != nil {
			return true, err
		}
		select {
		case <-m.ctx.Done():
			return true, m.ctx.Err()
		case msg = <-q:
		}
	}
}

// patient is a connection that may take as long for a message as its length asks for.
type patient struct{ net.Conn }

func (p patient) Write(b []byte) (n int, err error) {
	for piece := range slices.Chunk(b, pieceBytes) {
		if err := p.SetDeadline(time.Now().Add(writeTimeout)); err != nil {
			return n, err
		}
		k, err := p.Conn.Write(piece)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Serve takes the connections of others until the listener fails or Close is called.
func (m *Mesh) Serve(l net.Listener) error {
	defer context.AfterFunc(m.ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if m.ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return ErrClosed
		}
		if err != nil {
			return fmt.Errorf("mesh: %w", err)
		}
		if !m.enter(conn) {
			conn.Close()
		}
	}
}

// enter begins to read from a connection, unless there are too many.
func (m *Mesh) enter(conn net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.incoming) >= maxIncoming {
		return false
	}
	m.incoming[conn] = struct{}{}
	m.tasks.Go(func() {
		if err := m.read(conn); m.ctx.Err() == nil {
			m.Logf("from %v: %v", conn.RemoteAddr(), err)
		}
		conn.Close()
		m.mu.Lock()
		delete(m.incoming, conn)
		m.mu.Unlock()
	})
	return true
}

// read passes the messages of a peer on.
func (m *Mesh) read(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return err
	}
	peer, err := m.welcome(conn)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	for r := bufio.NewReaderSize(conn, pieceBytes); ; {
		msg, err := readMessage(r)
		if err != nil {
			return err
		}
		if msg.GetFrom() != peer || msg.GetTo() != m.ID {
			return fmt.Errorf("member %d sends a message from %d to %d", peer, msg.GetFrom(), msg.GetTo())
		}
		m.Receive(msg)
	}
}
