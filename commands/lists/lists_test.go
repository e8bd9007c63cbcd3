package lists

import (
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/structures/list"
)

// A call that waits and is run again does not look at keys that cannot have changed,
// and continues to wait if the others hold no list.
func TestWokenCallLooksOnlyAtLockedKeys(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	r.Want(":1\r\n", "RPUSH", "a", "1")
	r.Want("+OK\r\n", "SET", "s", "v")
	r.Unlocked = []string{"a"}
	for _, woken := range []string{"b", "s"} {
		r.Ctx.Woken = []byte(woken)
		for _, call := range [][]string{{"BLPOP", "a", "s", "b", "0"}, {"BLMPOP", "0", "3", "a", "s", "b", "LEFT"}} {
			r.Want("", call...)
			if r.Ctx.Parked() == nil {
				t.Errorf("woken for %s: %s does not go on waiting", woken, call[0])
			}
		}
	}
	r.Unlocked = nil
	r.Ctx.Woken = []byte("s")
	r.Want("*2\r\n$1\r\na\r\n$1\r\n1\r\n", "BLPOP", "s", "a", "0")
	if r.Ctx.Parked() != nil {
		t.Error("BLPOP waits although it was answered")
	}
}

// A client waiting for the source is not told that it came to hold a string. It is
// told that the destination holds one, and the element stays.
func TestWokenMoveTellsOnlyOfTheDestination(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	r.Want("+OK\r\n", "SET", "s", "v")
	r.Ctx.Woken = []byte("s")
	r.Want("", "BLMOVE", "s", "to", "LEFT", "LEFT", "0")
	if r.Ctx.Parked() == nil {
		t.Error("BLMOVE does not go on waiting for its source")
	}
	r.Ctx.Woken = nil
	r.Want(":1\r\n", "RPUSH", "from", "x")
	r.Ctx.Woken = []byte("from")
	r.Want("-"+string(commands.ErrWrongType)+"\r\n", "BLMOVE", "from", "s", "LEFT", "LEFT", "0")
	r.Want(":1\r\n", "LLEN", "from")
}

func TestListEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   []string
		events []string
	}{
		{[]string{"LPUSH", "a", "1", "2", "3"}, []string{"new a", "lpush a"}},
		{[]string{"RPUSHX", "a", "4"}, []string{"rpush a"}},
		{[]string{"RPUSHX", "nosuch", "4"}, nil},
		{[]string{"LSET", "a", "0", "x"}, []string{"lset a"}},
		{[]string{"LSET", "a", "9", "x"}, nil},
		{[]string{"LINSERT", "a", "BEFORE", "x", "y"}, []string{"linsert a"}},
		{[]string{"LINSERT", "a", "BEFORE", "nosuch", "y"}, nil},
		{[]string{"LREM", "a", "0", "y"}, []string{"lrem a"}},
		{[]string{"LREM", "a", "0", "y"}, nil},
		{[]string{"LTRIM", "a", "0", "-1"}, []string{"ltrim a"}},
		{[]string{"LPOP", "a", "0"}, nil},
		{[]string{"LPOP", "a", "2"}, []string{"lpop a"}},
		{[]string{"LMOVE", "a", "b", "LEFT", "RIGHT"}, []string{"new b", "rpush b", "lpop a"}},
		{[]string{"RPOPLPUSH", "a", "a"}, []string{"lpush a", "rpop a"}},
		{[]string{"RPOPLPUSH", "a", "b"}, []string{"lpush b", "rpop a", "del a"}},
		{[]string{"LMPOP", "2", "a", "b", "RIGHT"}, []string{"rpop b"}},
		{[]string{"BRPOP", "b", "0"}, []string{"rpop b", "del b"}},
		{[]string{"LPOP", "b"}, nil},
		{[]string{"LRANGE", "b", "0", "-1"}, []string{"keymiss b"}},
		{[]string{"BLMOVE", "b", "a", "LEFT", "LEFT", "0"}, nil},
	} {
		r.Call(x.call...)
		if t.Failed() {
			return
		}
		r.WantEvents(x.events...)
	}
}

// unreadable is a pager of a disk that reads nothing.
type unreadable struct{}

func (unreadable) ReadPage(uint64, func([]byte) error) bool { return false }
func (unreadable) Failed() bool                             { return true }
func (unreadable) Room() bool                               { return false }
func (unreadable) Held(uint64) bool                         { return false }
func (unreadable) Tight() bool                              { return false }

// An element is neither lost nor made if a page of one of the lists cannot be read. The
// server has an error in place of the reply then.
func TestMoveBetweenListsOfWhichOneCannotBeRead(t *testing.T) {
	r := commandtest.New(t, Group())
	away, err := list.Decode([]byte("\x02\x02\x01\x01\x02\x06")) // two elements in a page
	if err != nil {
		t.Fatal(err)
	}
	away.SetPager(unreadable{})
	r.Put("away", away)
	r.Call("RPUSH", "l", "1")
	r.Classes = commands.EventAll
	journal := r.Journal()
	for _, call := range [][]string{{"LMOVE", "away", "l", "LEFT", "LEFT"}, {"LMOVE", "l", "away", "LEFT", "LEFT"},
		{"LMOVE", "away", "nosuch", "LEFT", "LEFT"}, {"LMOVE", "away", "away", "LEFT", "RIGHT"}} {
		r.Call(call...)
	}
	if got := r.Journal(); got != journal {
		t.Errorf("%d bytes were recorded", got-journal)
	}
	r.WantEvents()
	r.Want(":2\r\n", "LLEN", "away")
	r.Want(":1\r\n", "LLEN", "l")
	r.Want(":0\r\n", "LLEN", "nosuch")
}

func BenchmarkList(b *testing.B) {
	for _, x := range []struct {
		name  string
		calls [][][]byte
	}{
		{"pushpop", [][][]byte{commandtest.Argv("LPUSH", "l", "some element"), commandtest.Argv("RPOP", "l")}},
		{"rotate", [][][]byte{commandtest.Argv("LMOVE", "l", "l", "LEFT", "RIGHT")}},
		{"range10", [][][]byte{commandtest.Argv("LRANGE", "l", "0", "9")}},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := commandtest.New(b, Group())
			r.Call("RPUSH", "l", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range x.calls {
					r.Do(c)
				}
			}
		})
	}
}
