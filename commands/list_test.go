package commands

import "testing"

// A call that waits and is run again for one key does not look at the others,
// and goes on waiting if that key holds no list.
func TestWokenCallLooksOnlyAtItsKey(t *testing.T) {
	r := newRig(t, StringGroup(), ListGroup())
	r.want(":1\r\n", "RPUSH", "a", "1")
	r.want("+OK\r\n", "SET", "s", "v")
	for _, woken := range []string{"b", "s"} {
		r.ctx.Woken = []byte(woken)
		r.want("", "BLPOP", "a", "s", "b", "0")
		if r.ctx.Parked() == nil {
			t.Errorf("woken for %s: BLPOP does not go on waiting", woken)
		}
	}
	r.ctx.Woken = []byte("a")
	r.want("*2\r\n$1\r\na\r\n$1\r\n1\r\n", "BLPOP", "s", "a", "0")
	if r.ctx.Parked() != nil {
		t.Error("BLPOP waits although it was answered")
	}
}

// Whoever waits for the source is not told that it came to hold a string; that
// the destination holds one he is, and the element stays.
func TestWokenMoveTellsOnlyOfTheDestination(t *testing.T) {
	r := newRig(t, StringGroup(), ListGroup())
	r.want("+OK\r\n", "SET", "s", "v")
	r.ctx.Woken = []byte("s")
	r.want("", "BLMOVE", "s", "to", "LEFT", "LEFT", "0")
	if r.ctx.Parked() == nil {
		t.Error("BLMOVE does not go on waiting for its source")
	}
	r.ctx.Woken = nil
	r.want(":1\r\n", "RPUSH", "from", "x")
	r.ctx.Woken = []byte("from")
	r.want("-"+string(ErrWrongType)+"\r\n", "BLMOVE", "from", "s", "LEFT", "LEFT", "0")
	r.want(":1\r\n", "LLEN", "from")
}

func TestListEventsAreThoseOfRedis(t *testing.T) {
	r := newRig(t, ListGroup())
	r.classes = EventAll | EventNew | EventMissed
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
		r.call(x.call...)
		if t.Failed() {
			return
		}
		r.wantEvents(x.events...)
	}
}

func TestListHotPathsAllocateNothing(t *testing.T) {
	r := newRig(t, ListGroup())
	r.call("RPUSH", "l", "1", "2", "3")
	for _, calls := range [][][]byte{argv("LPUSH", "l", "some element"), argv("LRANGE", "l", "0", "9"), argv("LPOP", "l", "1")} {
		push, pop := argv("RPUSH", "l", "x"), argv("LPOP", "l")
		if n := testing.AllocsPerRun(200, func() {
			r.do(push)
			r.do(calls)
			r.do(pop)
		}); n > 0 {
			t.Errorf("%s: %v allocations", calls[0], n)
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, x := range []struct {
		name  string
		calls [][][]byte
	}{
		{"pushpop", [][][]byte{argv("LPUSH", "l", "some element"), argv("RPOP", "l")}},
		{"rotate", [][][]byte{argv("LMOVE", "l", "l", "LEFT", "RIGHT")}},
		{"range10", [][][]byte{argv("LRANGE", "l", "0", "9")}},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := newRig(b, ListGroup())
			r.call("RPUSH", "l", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range x.calls {
					r.do(c)
				}
			}
		})
	}
}
