// Package mesh carries raft's messages between the members of a group over TCP or what
// else gives connections: three for each direction and pair of members, and one for each state.
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
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/transport"
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
	lingering    = time.Second
)

// ErrClosed is returned by Serve after Close.
var ErrClosed = errors.New("mesh: closed")

// Config describes the mesh of one member.
type Config struct {
	Cluster [16]byte // the same for all members
	ID      uint64   // of this member; 0 for one that has none yet, and only asks
	Self    Origin   // of this member
	// Level is a number that the member tells others when it connects to them, 0 for nothing; see
	// [Mesh.Level].
	Level uint64
	// Peers are the addresses of the others to begin with; see SetPeers. This member may be
	// among them.
	Peers map[uint64]string
	// Dial connects to an address of Peers.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Receive is given the messages of one connection in the order in which they come, and those
	// of others at the same time; more says that the next one is here and follows at once. While it
	// waits, that connection does. Nil takes neither messages nor states.
	Receive func(msg *raftpb.Message, more bool)
	// ReceiveState is given a state of the group with the message that it belongs to, and
	// returns when it is taken, or why it is not. The reader fails if the peer goes. Nil takes
	// none.
	ReceiveState func(m *raftpb.Message, state io.Reader) error
	// ReceivePublished is given the messages of channels that other members have published,
	// which are its own from then on: those of one peer in their order, and those of different
	// ones at the same time. While it waits, that peer does. Nil takes none.
	ReceivePublished func(kind byte, channel, message []byte)
	// Respond returns the reply to a request of another server, of up to MaxRequest bytes, which
	// is to come soon after ctx has ended. Nil takes none.
	Respond func(ctx context.Context, request []byte) []byte
	// MaxRequest is the longest request in bytes, 0 for 1 MiB. A reply has up to 1 MiB.
	MaxRequest int
	// Loops, unless it is nil, serves connections with messages.
	Loops *transport.Loops
	// Beside is another mesh of this process, nil for none: it takes the connections to the listener of
	// this one whose hello names its cluster.
	Beside *Mesh
	// Refused is told why another one refused this member or was refused here: incoming says
	// which, and where is its address. Nil is Logf.
	Refused func(incoming bool, where string, why error)
	// Logf is told why a connection ended.
	Logf func(format string, args ...any)
}

// Mesh is the connections of one member.
type Mesh struct {
	Config
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	sent, dropped, received atomic.Uint64 // messages of channels

	mu       sync.RWMutex         // guards below
	peers    map[uint64]*peer     // without this member
	incoming map[io.Closer]uint64 // the peer, 0 before its hello
	sources  map[uint64]*source   // by peer
	fixed    map[uint64]bool      // peers that are refused if they say that they are elsewhere
	former   map[uint64]bool      // ids of those that have left
	origins  map[uint64]Origin    // what peers said last
	levels   map[uint64]uint64    // likewise
	closed   bool
}

// peer is another member.
type peer struct {
	id      uint64
	address string
	entries *lane
	urgent  *lane // see Send
	feed    feed
	ctx     context.Context // ends when it is known no more, or elsewhere
	cancel  context.CancelFunc
}

// New makes a mesh that connects to the peers when there is something to send.
func New(c Config) *Mesh {
	m := &Mesh{Config: c, peers: map[uint64]*peer{}, incoming: map[io.Closer]uint64{}, sources: map[uint64]*source{}, origins: map[uint64]Origin{}, levels: map[uint64]uint64{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.SetPeers(c.Peers)
	return m
}

// peer returns another member, nil for one that is unknown.
func (m *Mesh) peer(id uint64) *peer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.peers[id]
}

// Send hands a message to a connection of its peer, or drops it. It must not be changed
// afterwards. What elections and leases rest on has a connection of its own: a large
// entry takes longer on its way than they have time.
func (m *Mesh) Send(msg *raftpb.Message) {
	p := m.peer(msg.GetTo())
	if p == nil {
		return
	}
	lane := p.entries
	switch msg.GetType() {
	case raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp, raftpb.MsgTimeoutNow:
		lane = p.urgent
	}
	lane.put(msg)
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
func (m *Mesh) send(p *peer, l *lane) {
	again := attempts{delay: firstDelay}
	for {
		select {
		case <-p.ctx.Done():
			return
		case msg := <-l.messages:
			greeted, err := m.converse(p, l, msg)
			if p.ctx.Err() != nil {
				return
			}
			m.report(false, fmt.Sprintf("member %d at %s", p.id, p.address), err)
			if !again.wait(p.ctx, greeted) {
				return
			}
		}
		for len(l.messages) > 0 { // old by now
			<-l.messages
		}
	}
}

// report tells why a connection has ended.
func (m *Mesh) report(incoming bool, where string, err error) {
	var why refusal
	switch {
	case errors.As(err, &why) && m.Refused != nil:
		m.Refused(incoming, where, err)
	case incoming:
		m.Logf("from %s: %v", where, err)
	default:
		m.Logf("to %s: %v", where, err)
	}
}

// attempts paces the attempts to connect to a peer.
type attempts struct{ delay time.Duration }

// wait waits before the next attempt, and reports whether there is to be one. greeted says that
// the peer was there: it may be at once again.
func (a *attempts) wait(ctx context.Context, greeted bool) bool {
	if greeted {
		a.delay = firstDelay
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(a.delay):
	}
	a.delay = min(2*a.delay, lastDelay)
	return true
}

// converse connects to a peer and writes until something fails; greeted says that the
// peer was the right one. It begins with msg.
func (m *Mesh) converse(p *peer, l *lane, msg *raftpb.Message) (greeted bool, err error) {
	conn, err := m.connect(p.ctx, p, forMessages)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer l.take() // what is left is of this connection
	defer context.AfterFunc(p.ctx, func() { conn.Close() })()
	gone, err := m.watch(conn)
	if err != nil {
		return true, err
	}
	w := bufio.NewWriterSize(patient{conn}, pieceBytes)
	memory, err := m.introduce(w, p.id)
	for err == nil {
		_, err = w.Write(l.take())
		if err == nil && msg != nil {
			memory, err = writeMessage(w, msg, memory)
		}
		if err == nil && len(l.messages) == 0 {
			err = w.Flush()
		}
		if err == nil && w.Buffered() == 0 {
			err = l.offer(conn)
		}
		if err != nil {
			return true, err
		}
		select {
		case <-p.ctx.Done():
			return true, p.ctx.Err()
		case <-gone:
			return true, errGone
		case msg = <-l.messages:
		}
	}
	return true, err
}

// connect returns a connection on which the peer is the right one.
func (m *Mesh) connect(ctx context.Context, p *peer, follows byte) (net.Conn, error) {
	dialing, done := context.WithTimeout(ctx, helloTimeout)
	defer done()
	conn, err := m.Dial(dialing, p.address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err = conn.SetDeadline(time.Now().Add(helloTimeout)); err == nil {
		err = m.greet(conn, p.id, follows)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// errGone is why a connection ends that a peer has ended.
var errGone = errors.New("the member has ended the connection")

// watch returns a channel that is closed when the peer, which sends nothing, has ended a connection. What was
// written into such a connection would be lost, and members that follow may have nothing for each other until
// their leader is lost: then it is their votes.
func (m *Mesh) watch(conn net.Conn) (gone <-chan struct{}, err error) {
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	m.tasks.Go(func() { // ends with the connection
		_, _ = conn.Read(make([]byte, 1))
		close(ended)
	})
	return ended, nil
}

// patient is a connection that may take as long for a message as its length asks for.
type patient struct{ net.Conn }

func (p patient) Write(b []byte) (n int, err error) {
	for piece := range slices.Chunk(b, pieceBytes) {
		if err := p.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
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
	m.incoming[conn] = 0
	m.tasks.Go(func() {
		err := m.read(conn)
		m.leave(conn)
		if err == errServed {
			return
		}
		if m.ctx.Err() == nil && !errors.Is(err, errTaken) {
			m.report(true, remote(conn), err)
			linger(conn)
		}
		conn.Close()
	})
	return true
}

func (m *Mesh) leave(conn net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.incoming, conn)
}

// read passes the messages of a peer on.
func (m *Mesh) read(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return err
	}
	h, ok, err := readHello(conn)
	if err != nil {
		return err
	}
	if ok && m.Beside != nil && h.cluster == m.Beside.Cluster {
		m = m.Beside
	}
	if err := m.welcome(conn, &h, ok); err != nil {
		return err
	}
	if h.follows == forRequest {
		return m.readRequest(conn)
	}
	peer := h.from
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if !m.admit(conn, peer) {
		return verdicts[unknownMember]
	}
	defer m.leave(conn)
	switch h.follows {
	case forState:
		return m.readState(conn, peer)
	case forPublished:
		return m.readPublished(conn, peer)
	}
	var memory []byte
	first := true
	for r := bufio.NewReaderSize(conn, pieceBytes); ; first = false {
		msg, rest, err := readMessage(r, memory)
		if err != nil {
			return err
		}
		memory = rest
		if err := m.addressed(msg, peer); err != nil {
			return err
		}
		if first && m.introduced(peer, msg) {
			continue
		}
		serve := m.servable(conn, msg)
		if m.Receive(msg, !serve && wholeFrame(r)); serve {
			return m.serve(conn, peer, r)
		}
	}
}

// linger reads what is left of a hello that was refused: the end of a connection with
// unread bytes takes the verdict with it.
func linger(conn net.Conn) {
	if conn.SetReadDeadline(time.Now().Add(lingering)) == nil {
		_, _ = io.CopyN(io.Discard, conn, 4<<10)
	}
}

// remote is where a connection comes from.
func remote(conn net.Conn) string {
	if a := conn.RemoteAddr(); a != nil {
		return a.String()
	}
	return "nowhere"
}

// admit notes which peer a connection is of, if that is still known.
func (m *Mesh) admit(conn net.Conn, peer uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.peers[peer] == nil {
		return false
	}
	m.incoming[conn] = peer
	return true
}

// addressed returns an error unless a message is the peer's and for this member.
func (m *Mesh) addressed(msg *raftpb.Message, peer uint64) error {
	if msg.GetFrom() != peer || msg.GetTo() != m.ID {
		return fmt.Errorf("member %d sends a message from %d to %d", peer, msg.GetFrom(), msg.GetTo())
	}
	return nil
}
