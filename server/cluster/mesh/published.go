package mesh

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Messages of channels travel over connections of their own, so that no heartbeat of raft
// waits behind them. Each arrives once at most: what a peer does not take is dropped, and so
// is what was on its way when a connection ends. What arrives does so in the order in which
// it was published here.
//
//	frame: length (4) | kind (1) | length of the channel (4) | channel | message
const publishedHead = 9

// queuedBytes is how much waits for a peer at most, and one message more.
const queuedBytes = 16 << 20

// frameCost is what a message takes in memory beside its bytes.
const frameCost = 64

// Published counts messages of channels, by members that they were for or came from.
type Published struct {
	Sent     uint64 // given to a connection
	Dropped  uint64 // given to none, or to one that broke before it had taken them
	Received uint64
}

// feed is what waits for a peer.
type feed struct {
	wake chan struct{} // has room for one: a wake that is not taken yet is enough

	mu     sync.Mutex
	frames [][]byte // guarded by mu
	bytes  int      // that they take; guarded by mu
}

// put adds a frame, unless too much waits.
func (f *feed) put(frame []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes > 0 && f.bytes+len(frame)+frameCost > queuedBytes {
		return false
	}
	f.frames, f.bytes = append(f.frames, frame), f.bytes+len(frame)+frameCost
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return true
}

// take takes the first frame out, nil if there is none.
func (f *feed) take() (frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.frames) == 0 {
		f.frames = nil // the array has room for what has been taken
		return nil
	}
	frame, f.frames[0] = f.frames[0], nil
	f.frames, f.bytes = f.frames[1:], f.bytes-len(frame)-frameCost
	return frame
}

// drop empties the feed and returns how many frames were in it.
func (f *feed) drop() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = len(f.frames)
	f.frames, f.bytes = nil, 0
	return n
}

// Publish hands a message of a channel to the connections of all others, or drops it. It
// waits for nothing. The bytes are copied.
func (m *Mesh) Publish(kind byte, channel, message []byte) {
	size := publishedHead - 4 + len(channel) + len(message)
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+size), uint32(size))
	b = binary.LittleEndian.AppendUint32(append(b, kind), uint32(len(channel)))
	b = append(append(b, channel...), message...)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.peers {
		if size > maxFrame || !p.feed.put(b) {
			m.dropped.Add(1)
		}
	}
}

// Published returns what was counted.
func (m *Mesh) Published() Published {
	return Published{Sent: m.sent.Load(), Dropped: m.dropped.Load(), Received: m.received.Load()}
}

// feedPeer keeps a connection for messages of channels to a peer, and writes what waits.
func (m *Mesh) feedPeer(p *peer) {
	again := attempts{delay: firstDelay}
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.feed.wake:
		}
		greeted, lost, err := m.convey(p)
		m.dropped.Add(uint64(lost + p.feed.drop()))
		if p.ctx.Err() != nil {
			return
		}
		m.report(false, fmt.Sprintf("member %d at %s, with messages of channels", p.id, p.address), err)
		if !again.wait(p.ctx, greeted) {
			return
		}
	}
}

// convey connects to a peer and writes until something fails. lost is how many messages
// were written and may not have been sent.
func (m *Mesh) convey(p *peer) (greeted bool, lost int, err error) {
	conn, err := m.connect(p.ctx, p, forPublished)
	if err != nil {
		return false, 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(p.ctx, func() { conn.Close() })()
	gone, err := m.watch(conn)
	if err != nil {
		return true, 0, err
	}
	w := bufio.NewWriterSize(patient{conn}, pieceBytes)
	for {
		for frame := p.feed.take(); frame != nil; frame = p.feed.take() {
			lost++
			if _, err := w.Write(frame); err != nil {
				return true, lost, err
			}
			if w.Buffered() == 0 { // all has gone past the buffer
				m.sent.Add(uint64(lost))
				lost = 0
			}
		}
		if err := w.Flush(); err != nil {
			return true, lost, err
		}
		m.sent.Add(uint64(lost))
		lost = 0
		select {
		case <-p.ctx.Done():
			return true, 0, p.ctx.Err()
		case <-gone:
			return true, 0, errGone
		case <-p.feed.wake:
		}
	}
}

// source is the connection on which the messages of a peer come.
type source struct {
	conn  net.Conn
	ended chan struct{} // closed when nothing of it is passed on any more
}

// readPublished passes the messages of a peer on. Those of an earlier connection, which
// may have been read already, go before.
func (m *Mesh) readPublished(conn net.Conn, peer uint64) error {
	own := &source{conn: conn, ended: make(chan struct{})}
	defer close(own.ended)
	m.mu.Lock()
	before := m.sources[peer]
	m.sources[peer] = own
	m.mu.Unlock()
	defer m.forget(peer, own)
	if before != nil {
		before.conn.Close()
		<-before.ended
	}
	if m.ReceivePublished == nil {
		return errors.New("messages of channels are not taken here")
	}
	for r := bufio.NewReaderSize(conn, pieceBytes); ; {
		b, err := readFrame(r, nil)
		if err != nil {
			return err
		}
		if len(b) < publishedHead-4 {
			return fmt.Errorf("a message of a channel in a frame of %d bytes", len(b))
		}
		n := binary.LittleEndian.Uint32(b[1:])
		rest := b[publishedHead-4:]
		if uint64(n) > uint64(len(rest)) {
			return fmt.Errorf("a channel of %d bytes in a frame of %d", n, len(b))
		}
		m.received.Add(1)
		m.ReceivePublished(b[0], rest[:n:n], rest[n:])
	}
}

// forget removes a source, unless a later one is in its place.
func (m *Mesh) forget(peer uint64, s *source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sources[peer] == s {
		delete(m.sources, peer)
	}
}
