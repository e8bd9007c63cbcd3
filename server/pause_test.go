package server

import (
	"errors"
	"testing"

	"github.com/vigildb/vigil/commands/conn"
)

// A call that was admitted before a pause does not run in it: whatever takes all locks behind its begin sees the last change.
func TestCallsAreHeldBackUnderTheirLocks(t *testing.T) {
	for name, argv := range map[string][][]byte{
		"set":  {[]byte("SET"), []byte("k"), []byte("v")},
		"eval": {[]byte("EVAL"), []byte("return redis.call('set',KEYS[1],1)"), []byte("1"), []byte("k")},
	} {
		r := newRig(t)
		s, cmd := newLooseSession(r.srv), r.srv.table.Find(name)
		r.srv.pause.Set(conn.PauseWrite, r.clock.Now().UnixMilli()+1000)
		s.in.argv = argv
		s.prepare(cmd, argv)
		err := s.lock(cmd, argv)
		if kept := s.locked || s.scripting.inside; kept || !errors.Is(err, errPaused) {
			t.Errorf("%s: %v, want %v; it keeps its locks: %v", name, err, errPaused, kept)
			s.release()
		}
		r.srv.pause.Forget(s)
	}
}
