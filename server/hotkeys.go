package server

import (
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin/hotkeys"
)

// HotKeys is where the tracker of the keys that take most is.
func (h host) HotKeys() *hotkeys.Watch { return &h.srv.hot }

// TrackKeys returns a tracker that counts from now on.
func (h host) TrackKeys(o hotkeys.Options) *hotkeys.Tracker {
	return hotkeys.Start(o, h.srv.clock.Now, func() (p hotkeys.Processor) {
		p.User, p.System = cpuTimes()
		return p
	})
}

// heat tells the tracker, if one runs, of a call that began at start, and of the bytes that it has read and written. A script is a call
// with the keys that it declares; EXEC is none, but each of its calls is.
func (s *session) heat(cmd *commands.Command, argv [][]byte, start time.Duration, bytes int64) {
	t := s.srv.hot.Running()
	if t == nil || cmd.Is(commands.LocksQueue) {
		return
	}
	keys := cmd.AppendKeys(nil, argv)
	t.Add(hotkeys.Call{Keys: len(keys), Key: func(i int) []byte { return argv[keys[i].Index] },
		Slot: commands.KeySlot, Took: s.turn.elapsed - start, Bytes: bytes})
}
