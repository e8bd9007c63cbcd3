package mesh

import (
	"io"

	"go.etcd.io/raft/v3/raftpb"
)

// A member that has a level tells it to its peers in the first frame of each connection for messages: a message of a kind
// that members send to nobody, with the level as its index. Versions that know nothing of levels drop it, and tell none.
// So what is known of a peer is what its present process has said.

// untold is the level of a peer that tells none.
const untold = 1

// kindOfLevel is of raft's messages to itself, which drivers drop when they come from another member.
const kindOfLevel = raftpb.MsgBeat

// introduce writes the level, if there is one. It returns memory for the next frame.
func (m *Mesh) introduce(w io.Writer, to uint64) (memory []byte, err error) {
	if m.Config.Level == 0 {
		return nil, nil
	}
	return writeMessage(w, &raftpb.Message{Type: kindOfLevel.Enum(), From: &m.ID, To: &to, Index: &m.Config.Level}, nil)
}

// introduced notes what the first message of a connection says of its peer's level. It reports whether that was
// all that it says.
func (m *Mesh) introduced(peer uint64, msg *raftpb.Message) bool {
	level := uint64(untold)
	tells := msg.GetType() == kindOfLevel
	if tells {
		level = msg.GetIndex()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.levels[peer] = level
	return tells
}

// Level returns the level that a peer has told when it connected last, or 1 if it told none, as versions do that
// know nothing of levels. It is 0 for one that has not connected.
func (m *Mesh) Level(peer uint64) uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.levels[peer]
}
