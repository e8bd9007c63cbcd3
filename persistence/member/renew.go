package member

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// ErrNotEmpty is returned by Renew for a store that has keys.
var ErrNotEmpty = errors.New("persistence: the store has keys")

// Renew makes the store one that has never been used, and that belongs to another member, in one step:
// a crash leaves the former store or the new one. identity is that of the new member; libraries of functions,
// users and the configuration are gone with the log. A store with keys is not changed, unless drop says that they may go: the error is
// ErrNotEmpty. After another error the store is to be closed.
//
// No engine uses the store, which does not lead.
func (m *Member) Renew(identity []byte, drop bool) error {
	if m.leads.Load() {
		return fmt.Errorf("renew a store that leads: %w", grouplog.ErrCorrupt)
	}
	m.durable.Fail(ErrNotLeader) // a pass may wait for a commit
	defer m.host.HoldStill()()
	if m.host.AnyKeys(0) && !drop {
		m.durable.Fail(nil)
		return ErrNotEmpty
	}
	m.closeExports()
	if err := m.renew(identity); err != nil {
		err = fmt.Errorf("renew: %w", err)
		m.broken.Store(&err)
		return err
	}
	return nil
}

func (m *Member) renew(identity []byte) error {
	if err := m.replace(func() error { return m.writeRenewed(identity) }); err != nil {
		return err
	}
	m.mu.Lock()
	m.term = 0
	m.mu.Unlock()
	m.live = nil
	m.applied.Store(0)
	m.keep.Store(0)
	m.expiries.Reset()
	if err := m.remake(); err != nil {
		return err
	}
	m.host.Trimmed(0)
	m.durable.Restart()
	m.torn = false
	return nil
}

// writeRenewed removes all that the group has, and writes what a new store begins with.
func (m *Member) writeRenewed(identity []byte) error {
	own := m.host.Meta()
	first := format.Meta{Secret: own.Secret, Grouped: true}
	first.Extend(len(own.Phys))
	b := m.disk.DB.NewBatch()
	set := func(key, value []byte) error { return b.Set(key, value, nil) }
	err := errors.Join(
		b.DeleteRange(format.AppendGroup(nil, streamed[0]), format.AppendGroupEnd(nil, streamed[len(streamed)-1]), nil),
		set(format.AppendMetaKey(nil), first.Append(nil)),
		m.log.Records(&grouplog.Takeover{Identity: identity}, set))
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return m.disk.Apply(b, pebble.Sync)
}
