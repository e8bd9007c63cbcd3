package mesh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A request has a connection of its own: one frame each way. A server that is no member yet
// asks to become one, and members ask the leader for what concerns themselves.

const (
	// maxRequest is the longest request, unless Config.MaxRequest is longer, and the longest reply, in bytes. The
	// largest are tables of groups.
	maxRequest = 1 << 20
	// requestTimeout is how long the other side may take for a reply.
	requestTimeout = 20 * time.Second
	// requestRate is how many bytes a second of a long request come at least.
	requestRate = 16 << 20
)

// longest is the longest request in bytes.
func (m *Mesh) longest() int { return max(maxRequest, m.MaxRequest) }

// transit is how much longer than others a request of so many bytes may take.
func transit(bytes int) time.Duration {
	return time.Duration(float64(bytes) / requestRate * float64(time.Second))
}

// Ask sends a request to the member at an address, or to whoever is there if to is 0, and
// returns the reply.
func (m *Mesh) Ask(ctx context.Context, address string, to uint64, request []byte) (reply []byte, err error) {
	patience := requestTimeout + transit(len(request))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	conn, err := m.connect(ctx, &peer{id: to, address: address}, forRequest)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := writeRequest(conn, request, m.longest()); err != nil {
		return nil, err
	}
	if reply, err = readFrameOf(conn, nil, maxRequest); err != nil {
		return nil, fmt.Errorf("no reply to a request: %w", err)
	}
	return reply, nil
}

func writeRequest(w io.Writer, b []byte, most int) error {
	if len(b) > most {
		return fmt.Errorf("a request of %d bytes is too long", len(b))
	}
	_, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// readRequest replies to a request.
func (m *Mesh) readRequest(conn net.Conn) error {
	if m.Respond == nil {
		return errors.New("requests are not taken here")
	}
	if err := conn.SetDeadline(time.Now().Add(helloTimeout + transit(m.MaxRequest))); err != nil {
		return err
	}
	request, err := readFrameOf(conn, nil, m.longest())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.ctx, requestTimeout-helloTimeout+transit(len(request)))
	defer cancel()
	reply := m.Respond(ctx, request)
	if err := conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return err
	}
	if err := writeRequest(conn, reply, maxRequest); err != nil {
		return err
	}
	return errTaken
}
