package sets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/commands/text"
)

func TestSetEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, keys.Group(), Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"SADD s a b c 1 2", []string{"new s", "sadd s"}},
		{"SADD s a", nil},
		{"SREM s x", nil},
		{"SREM s a", []string{"srem s"}},
		{"SMOVE s t x", nil},
		{"SMOVE s t b", []string{"srem s", "new t", "sadd t"}},
		{"SMOVE s s c", nil},
		{"SADD s b", []string{"sadd s"}},
		{"SMOVE s t b", []string{"srem s"}},
		{"SPOP s", []string{"spop s"}},
		{"SPOP s 0", nil},
		{"SPOP s 1", []string{"spop s"}},
		{"SADD s 7", []string{"sadd s"}},
		{"SPOP s 10", []string{"spop s", "del s"}},
		{"SADD s 7", []string{"new s", "sadd s"}},
		{"SPOP s", []string{"spop s", "del s"}},
		{"SPOP s", nil},
		{"SMOVE t s b", []string{"srem t", "del t", "new s", "sadd s"}},
		{"SREM s b", []string{"srem s", "del s"}},
		{"SADD a 1 2", []string{"new a", "sadd a"}},
		{"SADD b 2 3", []string{"new b", "sadd b"}},
		{"SINTERSTORE d a b", []string{"new d", "sinterstore d"}},
		{"SUNIONSTORE d a b", []string{"sunionstore d"}},
		{"SDIFFSTORE d a b", []string{"sdiffstore d"}},
		{"SDIFFSTORE d a a", []string{"del d"}},
		{"SINTERSTORE d a nosuch", []string{"keymiss nosuch"}},
		{"SISMEMBER nosuch 1", []string{"keymiss nosuch"}},
		{"SMEMBERS nosuch", []string{"keymiss nosuch"}},
		{"SRANDMEMBER nosuch", []string{"keymiss nosuch"}},
		{"SINTERCARD 2 a nosuch", []string{"keymiss nosuch"}},
		{"SADD e a 1", []string{"new e", "sadd e"}},
		{"SEXPIRE e 10 MEMBERS 2 a none", []string{"sexpire e"}},
		{"SEXPIRE e 20 NX MEMBERS 1 a", nil},
		{"SPERSIST e MEMBERS 2 a 1", []string{"spersist e"}},
		{"SPERSIST e MEMBERS 2 a 1", nil},
		{"SEXPIRE e 0 MEMBERS 1 a", []string{"srem e"}},
		{"SEXPIRE e 0 MEMBERS 2 a 1", []string{"srem e", "del e"}},
		{"STTL e MEMBERS 1 a", []string{"keymiss e"}},
		{"SADDEX e EX 10 MEMBERS 2 a b", []string{"new e", "sadd e", "sexpire e"}},
		{"SADDEX e MNX MEMBERS 2 a c", nil},
		{"SADDEX e MEMBERS 2 a c", []string{"sadd e"}},
		{"SADDEX e EX 0 MEMBERS 2 a none", []string{"srem e"}},
		{"SADDEX e EX 0 MEMBERS 1 none", nil},
		{"SADDEX e PXAT 1 MEMBERS 2 b c", []string{"srem e", "del e"}},
		{"SADDEX e MXX MEMBERS 1 a", nil},
		{"SADDEX f EX 10 MEMBERS 2 a b", []string{"new f", "sadd f", "sexpire f"}},
		{"SMOVE f g a", []string{"srem f", "new g", "sadd g", "sexpire g"}},
		{"SADD f a c", []string{"sadd f"}},
		{"SMOVE f g a", []string{"srem f", "spersist g"}},
		{"SMOVE f g c", []string{"srem f", "sadd g"}},
		{"SADDEX g MEMBERS 1 b", []string{"sadd g"}},
		{"SMOVE f g b", []string{"srem f", "del f", "sexpire g"}},
	} {
		r.Call(strings.Fields(x.call)...)
		r.WantEvents(x.events...)
	}
}

// A stored result takes the place of a value of another type, too.
func TestStoredSetsReplaceValues(t *testing.T) {
	r := commandtest.New(t, keys.Group(), text.Group(), Group())
	r.Call("SADD", "a", "1")
	r.Call("SET", "k", "v")
	r.Classes = commands.EventOverwritten | commands.EventTypeChanged
	r.Call("SUNIONSTORE", "k", "a")
	r.WantEvents("overwritten k", "type_changed k")
	r.Call("SUNIONSTORE", "k", "a")
	r.WantEvents("overwritten k")
	r.Call("SADD", "k", "2")
	r.WantEvents()
}

// What changes nothing writes nothing.
func TestCallsThatChangeNothingAreNotRecorded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SADD", "s", "a", "1")
	before := r.Journal()
	for _, call := range []string{"SADD s a 1", "SREM s b 2", "SMOVE s t b", "SMOVE s s a", "SPOP s 0", "SPOP t", "SINTERSTORE t s nosuch", "SRANDMEMBER s 5"} {
		r.Call(strings.Fields(call)...)
		if now := r.Journal(); now != before {
			t.Errorf("%s: recorded %d bytes", call, now-before)
		}
	}
}

// A negative count of many is written in parts, after the locks of the key.
func TestManyDrawsAreWrittenOffTheLock(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SADD", "s", "a", "b", "1")
	drawn := commandtest.SplitBulks(r.Call("SRANDMEMBER", "s", fmt.Sprint(-3*quickDraws)))
	slices.Sort(drawn)
	if got := slices.Compact(drawn); r.UnderLocks != 0 || !slices.Equal(got, []string{"1", "a", "b"}) {
		t.Errorf("drew %q, %d bytes under the locks", got, r.UnderLocks)
	}
	r.Call("SRANDMEMBER", "s", "-3")
	if r.UnderLocks == 0 {
		t.Error("a few draws were put off")
	}
	r.Want("-"+string(commands.ErrValueRange)+"\r\n", "SRANDMEMBER", "s", fmt.Sprint(-commands.MaxDraws-1))
}

// Each member is returned once by SPOP, whatever the counts, and by SSCAN, however large
// the set.
func TestEveryMemberIsPoppedOnce(t *testing.T) {
	r := commandtest.New(t, keys.Group(), Group())
	want := []string{}
	for i := range 3000 {
		member := fmt.Sprint(i * 1000)
		if i%3 == 0 {
			member = fmt.Sprint("word", i)
		}
		want = append(want, member)
		r.Call("SADD", "s", member)
	}
	slices.Sort(want)
	scanned, cursor := []string{}, "0"
	for first := true; first || cursor != "0"; first = false {
		reply := r.Call("SSCAN", "s", cursor, "COUNT", "100")
		at := strings.Index(reply[4:], "*") + 4
		cursor = commandtest.SplitBulks("*1\r\n" + reply[4:at])[0]
		scanned = append(scanned, commandtest.SplitBulks(reply[at:])...)
	}
	slices.Sort(scanned)
	if !slices.Equal(scanned, want) {
		t.Errorf("SSCAN returned %d members, want %d", len(scanned), len(want))
	}
	popped := []string{}
	for n := 0; r.Call("EXISTS", "s") == ":1\r\n"; n += 7 {
		popped = append(popped, commandtest.SplitBulks("*1\r\n"+r.Call("SPOP", "s"))...)
		popped = append(popped, commandtest.SplitBulks(r.Call("SPOP", "s", fmt.Sprint(n)))...)
	}
	slices.Sort(popped)
	if !slices.Equal(popped, want) {
		t.Errorf("SPOP returned %d members, want %d", len(popped), len(want))
	}
}

// BenchmarkTimedSet compares a set whose members all expire with one whose members stay: members are looked up, added and removed.
func BenchmarkTimedSet(b *testing.B) {
	for _, members := range []int{100, 10_000} {
		for _, timed := range []bool{false, true} {
			b.Run(fmt.Sprintf("n=%d/timed=%v", members, timed), func(b *testing.B) {
				r := commandtest.New(b, Group())
				for i := range members {
					name := fmt.Sprint("member-", i)
					r.Call("SADD", "s", name)
					if timed {
						r.Call("SEXPIRE", "s", "1000", "MEMBERS", "1", name)
					}
				}
				calls := [][][]byte{commandtest.Argv("SISMEMBER", "s", "member-7"), commandtest.Argv("SADD", "s", "another"), commandtest.Argv("SREM", "s", "another"), commandtest.Argv("SCARD", "s")}
				b.ReportAllocs()
				for b.Loop() {
					for _, call := range calls {
						r.Do(call)
					}
				}
			})
		}
	}
}
