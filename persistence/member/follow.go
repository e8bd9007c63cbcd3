package member

import (
	"github.com/vigildb/vigil/persistence/format"
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
	chunk := make([]byte, entryHeader, entryHeader+len(e.Data))
	chunk[entryHeader-1] = format.ChunkRecords
	m.torn = true
	if err = m.live.Apply(e.Index, append(chunk, e.Data...)); err == nil {
		m.torn = false
	}
	return err
}
