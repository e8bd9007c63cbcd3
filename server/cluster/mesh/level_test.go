package mesh

import (
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"
)

// A member tells its level with each connection, before its messages; of one that tells none it is 1, and 0 before it has connected.
// What it tells is no message to others.
func TestMembersTellTheirLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, func(c *Config) { c.Level = 7 }), n.member(2, nil)
		serve(t, a, n.listen("a"))
		serve(t, b, n.listen("b"))
		if got := b.Level(1); got != 0 {
			t.Errorf("before it has connected the level is %d", got)
		}
		a.Send(message(1, 2, 5, 0))
		b.Send(message(2, 1, 6, 0))
		synctest.Wait()
		if b.Level(1) != 7 || a.Level(2) != 1 {
			t.Errorf("the levels are %d and %d, want 7 and 1", b.Level(1), a.Level(2))
		}
		if b.received() != 1 || !proto.Equal(b.got[0], message(1, 2, 5, 0)) || a.received() != 1 {
			t.Errorf("%v and %v have come", b.got, a.got)
		}
		a.Close()
		old := n.member(1, nil) // an older version, from the same directory
		old.Send(message(1, 2, 8, 0))
		synctest.Wait()
		if b.Level(1) != 1 || b.received() != 2 {
			t.Errorf("the level of an older version is %d, and %d messages have come", b.Level(1), b.received())
		}
		old.Close()
		b.Close()
	})
}

// A version that knows nothing of levels gets a message that raft sends to itself only, which it drops.
func TestLevelIsAMessageThatOlderVersionsDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		a, b := n.member(1, func(c *Config) { c.Level = 7 }), n.member(2, nil)
		serve(t, b, n.listen("b"))
		a.Send(message(1, 2, 5, 0))
		synctest.Wait()
		if kindOfLevel.String() != "MsgBeat" || b.Level(1) != 7 {
			t.Errorf("the level %d comes as %v", b.Level(1), kindOfLevel)
		}
		a.Close()
		b.Close()
	})
}
