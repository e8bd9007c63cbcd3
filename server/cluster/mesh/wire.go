package mesh

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A connection begins with a hello of the member that dials, to which the other one
// replies with a byte. Frames follow in one direction, a state of the group (states.go),
// messages of channels (published.go), or a request (requests.go):
//
//	hello:  "VIGM" | version (1) | cluster (16) | from (8) | to (8) | what follows (1)
//	        start (8) | process (8) | length (1) | address of the member that dials
//	reply:  one of the verdicts
//	frame:  length (4) | a message of raft in protobuf
//
// The first frame of a connection for messages may tell the level of the member that dials (level.go).
// From is 0 for a server that has no id yet, and to is 0 for whoever is there; both for
// requests only.
const (
	magic      = "VIGM"
	version    = 2
	helloBytes = len(magic) + 1 + 16 + 8 + 8 + 1 + 8 + 8 + 1 // before the address

	forMessages  = 0 // what follows
	forState     = 1
	forPublished = 2
	forRequest   = 3
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
	formerMember
	elsewhere
	copied
	sameMember
)

// Why a member is refused.
var (
	ErrVersion   = errors.New("the members have different versions of the mesh")
	ErrCluster   = errors.New("the member belongs to another cluster, or has another secret")
	ErrOther     = errors.New("another member is there")
	ErrUnknown   = errors.New("the member is not known there")
	ErrFormer    = errors.New("the member has left the group")
	ErrElsewhere = errors.New("the group knows the member at another address")
	ErrCopied    = errors.New("another process is the member, from the same directory or a newer one")
	ErrSame      = errors.New("a member with the same id is there")
)

var verdicts = [...]error{
	welcome: nil, otherVersion: ErrVersion, otherCluster: ErrCluster, otherMember: ErrOther, unknownMember: ErrUnknown,
	formerMember: ErrFormer, elsewhere: ErrElsewhere, copied: ErrCopied, sameMember: ErrSame,
}

// refusal is why there is no connection: a verdict, or what is no hello.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// tlsAlert is how TLS begins to refuse what is not TLS.
const tlsAlert = 21

// MaxAddress is how long an address may be.
const MaxAddress = 255

// Origin is where a member is, and which of its processes.
type Origin struct {
	Address string // at which it says that it is dialled; "" if it does not know
	Start   uint64 // counts the starts from its directory
	Process uint64 // drawn by lot at each start
}

// hello is what a member says first.
type hello struct {
	cluster  [16]byte
	from, to uint64
	follows  byte
	origin   Origin
}

func (h *hello) encode() []byte {
	b := append([]byte(magic), version)
	b = append(b, h.cluster[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.from)
	b = append(binary.LittleEndian.AppendUint64(b, h.to), h.follows)
	b = binary.LittleEndian.AppendUint64(b, h.origin.Start)
	b = binary.LittleEndian.AppendUint64(b, h.origin.Process)
	return append(append(b, byte(len(h.origin.Address))), h.origin.Address...)
}

// readHello reads a hello. ok says that its version is this one; of another one nothing else is known.
func readHello(r io.Reader) (h hello, ok bool, err error) {
	b := make([]byte, helloBytes)
	n := len(magic) + 1
	if _, err := io.ReadFull(r, b[:n]); err != nil {
		return h, false, err
	}
	if string(b[:len(magic)]) != magic {
		return h, false, refusal{fmt.Errorf("%q is no hello of a member", b[:len(magic)])}
	}
	if b[len(magic)] != version {
		return h, false, nil
	}
	if _, err := io.ReadFull(r, b[n:]); err != nil {
		return h, false, err
	}
	number, b := binary.LittleEndian.Uint64, b[n:]
	h = hello{cluster: [16]byte(b), from: number(b[16:]), to: number(b[24:]), follows: b[32],
		origin: Origin{Start: number(b[33:]), Process: number(b[41:])}}
	address := make([]byte, b[49])
	if _, err := io.ReadFull(r, address); err != nil {
		return h, false, err
	}
	h.origin.Address = string(address)
	return h, true, nil
}

// greet sends the hello of this member, and returns an error unless that is welcome.
func (m *Mesh) greet(conn io.ReadWriter, to uint64, follows byte) error {
	h := hello{cluster: m.Cluster, from: m.ID, to: to, follows: follows, origin: m.Self}
	if _, err := conn.Write(h.encode()); err != nil {
		return err
	}
	var b [1]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return fmt.Errorf("no reply to the hello: %w", err)
	}
	if b[0] == tlsAlert {
		return errors.New("the member takes encrypted connections only")
	}
	if int(b[0]) >= len(verdicts) {
		return refusal{fmt.Errorf("reply %d to the hello", b[0])}
	}
	if err := verdicts[b[0]]; err != nil {
		return refusal{err}
	}
	return nil
}

// welcome replies to the hello of a peer, which is of this version if ok says so.
func (m *Mesh) welcome(conn io.Writer, h *hello, ok bool) error {
	verdict := otherVersion
	if ok {
		verdict = m.judge(h)
	}
	if _, err := conn.Write([]byte{byte(verdict)}); err != nil {
		return err
	}
	if err := verdicts[verdict]; err != nil {
		return refusal{fmt.Errorf("refused member %d at %q: %w", h.from, h.origin.Address, err)}
	}
	return nil
}

// judge decides on a hello of this version.
func (m *Mesh) judge(h *hello) (verdict int) {
	switch {
	case h.cluster != m.Cluster:
		return otherCluster
	case h.to != m.ID && (h.to != 0 || h.follows != forRequest):
		return otherMember
	case h.follows == forRequest:
		return welcome
	case h.from == m.ID:
		return sameMember
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch p := m.peers[h.from]; {
	case m.former[h.from]:
		return formerMember
	case p == nil, h.follows > forRequest, m.Receive == nil && h.follows != forPublished:
		return unknownMember
	case m.fixed[h.from] && h.origin.Address != p.address:
		return elsewhere
	}
	// A process of an earlier start, or another one of the same, runs from a copy of the
	// directory.
	if o, heard := m.origins[h.from]; heard && (h.origin.Start < o.Start || h.origin.Start == o.Start && h.origin.Process != o.Process) {
		return copied
	}
	m.origins[h.from] = h.origin
	return welcome
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
	b, err := appendMessage(b[:0], msg)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(b)
	return kept(b), err
}

// appendMessage appends a frame with a message of raft to an empty b.
func appendMessage(b []byte, msg *raftpb.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend(append(b, 0, 0, 0, 0), msg)
	if err != nil {
		return nil, err
	}
	if len(b)-4 > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too long", len(b)-4)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

// frameHeader is the length of the length of a frame.
const frameHeader = 4

// frameBytes returns the length of the frame with which b begins, or a length greater than b's if b is too short to tell.
// most bounds what is behind the header.
func frameBytes(b []byte, most int) (int, error) {
	if len(b) < frameHeader {
		return frameHeader, nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > most {
		return 0, fmt.Errorf("a frame of %d bytes is too long", n)
	}
	return frameHeader + n, nil
}

// wholeFrame reports whether the next frame can be read without waiting.
func wholeFrame(r *bufio.Reader) bool {
	b, _ := r.Peek(r.Buffered())
	n, err := frameBytes(b, maxFrame)
	return err == nil && n <= len(b)
}

// readFrame reads a frame of up to maxFrame bytes into the memory of b, which may be nil.
func readFrame(r io.Reader, b []byte) ([]byte, error) { return readFrameOf(r, b, maxFrame) }

// readFrameOf reads a frame of so many bytes at most. It takes more memory than that of b for what has
// come, not for what is announced.
func readFrameOf(r io.Reader, b []byte, most int) ([]byte, error) {
	var length [frameHeader]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n, err := frameBytes(length[:], most)
	if err != nil {
		return nil, err
	}
	n -= frameHeader
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
