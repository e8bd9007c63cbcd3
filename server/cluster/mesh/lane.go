package mesh

import (
	"net"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// directBytes is the most data that Send writes by itself. Larger messages are the
// lane's goroutine's, so that the sender goes on meanwhile.
const directBytes = 4 << 10

// lane is a connection for messages to a peer: a queue, and a goroutine that writes
// what is in it. While it has nothing to do Send writes short messages by itself, as to
// wake a goroutine costs more than to write, and keeps the message waiting.
type lane struct {
	messages chan *raftpb.Message // nil stands for rest

	mu   sync.Mutex
	raw  syscall.RawConn // guarded by mu; nil unless all that was sent is written
	buf  []byte          // guarded by mu
	rest []byte          // of a message that the socket took in part; guarded by mu
}

func newLane() *lane { return &lane{messages: make(chan *raftpb.Message, queued)} }

// put writes a message, queues it, or drops it. It does not wait.
func (l *lane) put(msg *raftpb.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raw != nil && l.writeLocked(msg) {
		return
	}
	l.raw = nil // what comes next goes behind it
	select {
	case l.messages <- msg:
	default:
	}
}

// writeLocked writes a short message, and reports whether it did. Of an error the
// goroutine hears when it tries.
func (l *lane) writeLocked(msg *raftpb.Message) bool {
	size := 0
	for _, e := range msg.GetEntries() {
		if size += len(e.GetData()); size > directBytes {
			return false
		}
	}
	b, err := appendMessage(l.buf[:0], msg)
	if err != nil {
		return false
	}
	l.buf = kept(b)
	n := writeOnce(l.raw, b)
	if n > 0 && n < len(b) {
		l.raw, l.rest = nil, append([]byte(nil), b[n:]...)
		l.messages <- nil // it is empty
	}
	return n > 0
}

// take makes the connection the caller's, and returns what is to be written first.
func (l *lane) take() (rest []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raw, rest, l.rest = nil, l.rest, nil
	return rest
}

// offer lets put write to a connection to which everything is written.
func (l *lane) offer(conn net.Conn) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = conn.SetWriteDeadline(time.Time{}) // which would be over
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.messages) == 0 {
		l.raw = raw
	}
	return nil
}
