package mesh

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// A state of the group travels over a connection of its own, so that messages do not wait
// behind it: the frame of the message that it belongs to, then pieces, and at the end a verdict
// of the other member. Neither side has more of it in memory than a few pieces.
//
//	piece:   length (4), up to pieceBytes | bytes
//	end:     0 (4)
//	verdict: taken, or failed
//
// What is in the state has checksums of its own.
const (
	failed = 0
	taken  = 1
)

// installTimeout is how long a member may take a state in that it has got.
const installTimeout = 10 * time.Minute

// ErrUnknownPeer is returned for members that the mesh does not know.
var ErrUnknownPeer = errors.New("mesh: the member is not known here")

var errRefused = errors.New("the member has not taken the state")

// SendState sends a state, with a message, to the member that the message is for, and waits
// until that has taken it or failed. It sends about bytesPerSecond at most, 0 for as much
// as the connection takes.
func (m *Mesh) SendState(ctx context.Context, msg *raftpb.Message, state io.Reader, bytesPerSecond int64) error {
	p := m.peer(msg.GetTo())
	if p == nil {
		return fmt.Errorf("send a state to member %d: %w", msg.GetTo(), ErrUnknownPeer)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	conn, err := m.connect(ctx, p, forState)
	if err == nil {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		err = m.sendState(ctx, conn, msg, state, bytesPerSecond)
	}
	if err != nil {
		return fmt.Errorf("send a state to member %d at %s: %w", p.id, p.address, errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

func (m *Mesh) sendState(ctx context.Context, conn net.Conn, msg *raftpb.Message, state io.Reader, bytesPerSecond int64) error {
	w := patient{conn}
	if _, err := writeMessage(w, msg, nil); err != nil {
		return err
	}
	rate := pace{due: time.Now(), bytesPerSecond: bytesPerSecond}
	for b := make([]byte, 4+pieceBytes); ; {
		n, err := io.ReadFull(state, b[4:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		binary.LittleEndian.PutUint32(b, uint32(n))
		if _, err := w.Write(b[:4+n]); err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if err := rate.wait(ctx, n); err != nil {
			return err
		}
	}
	if err := conn.SetDeadline(time.Now().Add(installTimeout)); err != nil {
		return err
	}
	var verdict [1]byte
	if _, err := io.ReadFull(conn, verdict[:]); err != nil {
		return fmt.Errorf("no reply to a state: %w", err)
	}
	if verdict[0] != taken {
		return errRefused
	}
	return nil
}

// pace keeps a stream at so many bytes a second, 0 for any number.
type pace struct {
	due            time.Time // when what was sent should have been
	bytesPerSecond int64
}

// slack is how much time of a stream that had to wait is made up for: all of it would come at once, and clients would
// wait for that.
const slack = 20 * time.Millisecond

// wait waits as long as so many bytes take.
func (p *pace) wait(ctx context.Context, bytes int) error {
	if p.bytesPerSecond <= 0 {
		return nil
	}
	now := time.Now()
	if late := now.Add(-slack); p.due.Before(late) {
		p.due = late
	}
	p.due = p.due.Add(time.Duration(float64(bytes) / float64(p.bytesPerSecond) * float64(time.Second)))
	t := time.NewTimer(p.due.Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readState passes a state on.
func (m *Mesh) readState(conn net.Conn, peer uint64) error {
	r := bufio.NewReaderSize(hurried{conn}, pieceBytes)
	msg, _, err := readMessage(r, nil)
	if err != nil {
		return err
	}
	if err := m.addressed(msg, peer); err != nil {
		return err
	}
	if m.ReceiveState == nil {
		return errors.New("states are not taken here")
	}
	verdict := byte(taken)
	if err = m.ReceiveState(msg, &pieces{r: r}); err != nil {
		verdict = failed
	}
	if e := conn.SetDeadline(time.Now().Add(writeTimeout)); e != nil {
		return errors.Join(err, e)
	}
	_, e := conn.Write([]byte{verdict})
	if err == nil && e == nil {
		return errTaken
	}
	return errors.Join(err, e)
}

// errTaken ends a connection as it should.
var errTaken = errors.New("a state was taken")

// hurried is a connection whose other side has to go on sending.
type hurried struct{ net.Conn }

func (h hurried) Read(b []byte) (int, error) {
	if err := h.SetReadDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return h.Conn.Read(b)
}

// pieces reads the bytes of pieces, up to the end that was announced.
type pieces struct {
	r    io.Reader
	left uint32
	done bool
}

func (p *pieces) Read(b []byte) (int, error) {
	for p.left == 0 {
		if p.done {
			return 0, io.EOF
		}
		var length [4]byte
		if _, err := io.ReadFull(p.r, length[:]); err != nil {
			return 0, fmt.Errorf("a state is cut off: %w", noEOF(err))
		}
		if p.left = binary.LittleEndian.Uint32(length[:]); p.left > pieceBytes {
			p.left, p.done = 0, true
			return 0, fmt.Errorf("a piece of %d bytes is too long", binary.LittleEndian.Uint32(length[:]))
		}
		p.done = p.left == 0
	}
	n, err := p.r.Read(b[:min(len(b), int(p.left))])
	p.left -= uint32(n)
	if err != nil {
		err = fmt.Errorf("a state is cut off: %w", noEOF(err))
	}
	return n, err
}

// noEOF is an error of a stream that has not ended.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
