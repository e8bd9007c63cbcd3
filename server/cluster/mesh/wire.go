package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A connection begins with a hello of the member that dials, to which the other one
// replies with a byte. Frames follow in one direction, a state of the group (states.go), or
// messages of channels (published.go):
//
//	hello:  "VIGM" | version (1) | cluster (16) | from (8) | to (8) | what follows (1)
//	reply:  one of the verdicts
//	frame:  length (4) | a message of raft in protobuf
const (
	magic      = "VIGM"
	version    = 1
	helloBytes = len(magic) + 1 + 16 + 8 + 8 + 1

	forMessages  = 0 // what follows
	forState     = 1
	forPublished = 2
	// maxFrame bounds a message: an entry of the largest record, and what is around it.
	maxFrame = 640 << 20
)

// verdicts of the member that was dialled, and what they mean.
const (
	welcome = iota
	otherVersion
	otherCluster
	otherMember
	unknownMember
)

var verdicts = [...]error{
	welcome:       nil,
	otherVersion:  errors.New("the members have different versions of the mesh"),
	otherCluster:  errors.New("the member belongs to another cluster"),
	otherMember:   errors.New("another member is there"),
	unknownMember: errors.New("the member is not known there"),
}

// tlsAlert is how TLS begins to refuse what is not TLS.
const tlsAlert = 21

// greet sends the hello of this member, and returns an error unless that is welcome.
func (m *Mesh) greet(conn io.ReadWriter, to uint64, follows byte) error {
	b := append([]byte(magic), version)
	b = append(b, m.Cluster[:]...)
	b = binary.LittleEndian.AppendUint64(b, m.ID)
	b = append(binary.LittleEndian.AppendUint64(b, to), follows)
	if _, err := conn.Write(b); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, b[:1]); err != nil {
		return fmt.Errorf("no reply to the hello: %w", err)
	}
	if b[0] == tlsAlert {
		return errors.New("the member takes encrypted connections only")
	}
	if int(b[0]) >= len(verdicts) {
		return fmt.Errorf("reply %d to the hello", b[0])
	}
	return verdicts[b[0]]
}

// welcome reads the hello of a peer, and replies.
func (m *Mesh) welcome(conn io.ReadWriter) (peer uint64, follows byte, err error) {
	b := make([]byte, helloBytes)
	if _, err := io.ReadFull(conn, b[:len(magic)+1]); err != nil {
		return 0, 0, err
	}
	if string(b[:len(magic)]) != magic {
		return 0, 0, fmt.Errorf("%q is no hello of a member", b[:len(magic)])
	}
	verdict := otherVersion // of which the rest is unknown
	if b[len(magic)] == version {
		if _, err := io.ReadFull(conn, b[len(magic)+1:]); err != nil {
			return 0, 0, err
		}
		peer, verdict = m.judge(b[len(magic)+1:])
	}
	if _, err := conn.Write([]byte{byte(verdict)}); err != nil {
		return 0, 0, err
	}
	if err := verdicts[verdict]; err != nil {
		return 0, 0, fmt.Errorf("refused: %w", err)
	}
	return peer, b[helloBytes-1], nil
}

func (m *Mesh) judge(b []byte) (peer uint64, verdict int) {
	peer = binary.LittleEndian.Uint64(b[16:])
	switch known := m.peer(peer) != nil; {
	case !bytes.Equal(b[:16], m.Cluster[:]):
		return 0, otherCluster
	case binary.LittleEndian.Uint64(b[24:]) != m.ID:
		return 0, otherMember
	case !known || b[32] > forPublished:
		return 0, unknownMember
	}
	return peer, welcome
}

// keptFrame is the largest frame whose memory a connection keeps for the next one.
const keptFrame = 1 << 20

// kept returns the memory of a frame for the next one, unless it was a large one.
func kept(b []byte) []byte {
	if cap(b) > keptFrame {
		return nil
	}
	return b[:0]
}

// writeMessage writes a frame with a message of raft. It is encoded in the memory of b,
// which is returned for the next one.
func writeMessage(w io.Writer, msg *raftpb.Message, b []byte) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend(append(b[:0], 0, 0, 0, 0), msg)
	if err != nil {
		return nil, err
	}
	if len(b)-4 > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too long", len(b)-4)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	_, err = w.Write(b)
	return kept(b), err
}

// readFrame reads a frame into the memory of b, which may be nil. It takes more for what has
// come, not for what is announced.
func readFrame(r io.Reader, b []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(length[:]))
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes is too long", n)
	}
	b = b[:0]
	for len(b) < n {
		got, piece := len(b), min(n-len(b), max(pieceBytes, len(b)))
		b = slices.Grow(b, piece)[:got+piece]
		if k, err := io.ReadFull(r, b[got:]); err != nil {
			return nil, fmt.Errorf("a frame ends after %d of %d bytes: %w", got+k, n, err)
		}
	}
	return b, nil
}

// readMessage reads a frame with a message of raft. The frame is in the memory of b, which is
// returned for the next one; the message is not.
func readMessage(r io.Reader, b []byte) (*raftpb.Message, []byte, error) {
	b, err := readFrame(r, b)
	if err != nil {
		return nil, nil, err
	}
	msg := new(raftpb.Message)
	if err := proto.Unmarshal(b, msg); err != nil {
		return nil, nil, fmt.Errorf("a frame of %d bytes: %w", len(b), err)
	}
	return msg, kept(b), nil
}
