package member

import (
	"github.com/vigildb/vigil/persistence/grouplog"
)

// follow applies an entry.
func (m *Member) follow(e *grouplog.Entry) (err error) {
	if m.live == nil {
		m.live = m.host.Live()
	}
	if e.Type != grouplog.Records {
		m.live.Skip(e.Index)
		return nil
	}
	m.torn = true
	if err = m.live.Apply(e); err == nil {
		m.torn = false
	}
	return err
}
