package member

import (
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// groupLevel is what a member knows of levels.
type groupLevel struct {
	now    atomic.Uint64 // that of the group at the end of the log in memory; 0 before there were levels
	newest uint64        // the newest one that this member reads and writes
}

// Reader is a Replicator that knows what the members of a group, as the log keeps them, say of its level.
type Reader interface {
	// Reads returns an error for a group whose level is above newest. It is called before anything of what the members
	// wrote is read.
	Reads(members grouplog.Membership, newest uint64) error
}

// readable returns the error of a Reader for what the log has.
func (m *Member) readable() error {
	if r, ok := m.replicator.(Reader); ok {
		return r.Reads(m.log.Membership(), m.level.newest)
	}
	return nil
}

// NewestLevel is the newest level that the member reads and writes.
func (m *Member) NewestLevel() uint64 { return m.level.newest }

// SetLevel says which level the group has. The engine calls it before Commit passes the entry that raises the level, and
// whenever it has found the members of the group again.
func (m *Member) SetLevel(level uint64) { m.level.now.Store(level) }

// Level is what SetLevel said, 0 if nothing was said yet.
func (m *Member) Level() uint64 { return m.level.now.Load() }
