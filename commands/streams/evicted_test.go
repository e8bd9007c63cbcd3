package streams

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/stream"
)

// awayStream puts a stream of 10 pages of 10 entries, 1-0 to 100-0, under the key s. Its group g has
// given 65 entries to the consumer c, and the first of these is deleted.
func awayStream(r *commandtest.Rig, readable int) {
	s := stream.New()
	for i := range uint64(100) {
		s.Add(nil, stream.ID{Ms: i + 1}, [][]byte{[]byte("f"), []byte("v")}, stream.PageLimits{Entries: 10})
	}
	g := s.CreateGroup(nil, []byte("g"), stream.ID{}, 0)
	g.Deliver(nil, g.CreateConsumer(nil, []byte("c"), 1), 65, 1, false, nil)
	s.Delete(nil, []stream.ID{{Ms: 1}})
	r.PutEvicted("s", s, readable)
}

// A command that needs several pages, one of which cannot be read, changes nothing. The
// server has an error in place of the reply then.
func TestCommandThatCannotReadAPageOfAStreamChangesNothing(t *testing.T) {
	for _, line := range []string{
		"XADD s MAXLEN = 55 * f v", "XADD s MINID = 55 * f v", "XADD s DELREF MAXLEN = 40 * f v", "XADD s ACKED MAXLEN = 55 * f v",
		"XTRIM s MAXLEN 55", "XTRIM s MINID 55", "XTRIM s MAXLEN 45 DELREF", "XTRIM s MAXLEN 40 ACKED",
		"XDEL s 100-0 15-0 25-0 35-0", "XDELEX s IDS 3 100-0 15-0 25-0", "XDELEX s DELREF IDS 3 100-0 15-0 25-0",
		"XACKDEL s g IDS 3 5-0 15-0 25-0", "XACKDEL s g ACKED IDS 3 5-0 15-0 25-0",
		"XCLAIM s g c 0 5-0 15-0 25-0", "XCLAIM s g new 0 5-0 15-0 25-0 LASTID 70-0", "XCLAIM s g new 0 100-0 85-0 75-0 FORCE JUSTID",
		"XAUTOCLAIM s g new 0 0", "XAUTOCLAIM s g c 0 0 COUNT 30 JUSTID",
		"XREADGROUP GROUP g c COUNT 20 STREAMS s >", "XREADGROUP GROUP g new STREAMS s >", "XREADGROUP GROUP g c STREAMS s 0",
		"XREADGROUP GROUP g new NOACK STREAMS t s > >", "XREADGROUP GROUP g new STREAMS t s > >", "XREADGROUP GROUP g c COUNT 20 STREAMS t s > 0",
		"XREADGROUP GROUP g c COUNT 13 STREAMS s s > >", "XREADGROUP GROUP g new COUNT 20 CLAIM 0 STREAMS t s > >",
		"XREADGROUP GROUP g new CLAIM 0 STREAMS s >",
	} {
		for readable := range 12 {
			r := commandtest.New(t, Group())
			r.Call("XADD", "t", "1-0", "f", "v")
			r.Call("XGROUP", "CREATE", "t", "g", "0")
			awayStream(r, readable)
			r.Classes = commands.EventAll
			journal := r.Journal()
			r.Call(strings.Fields(line)...)
			if s := heldStream(t, r); !s.Unread() {
				if readable == 0 {
					t.Errorf("%s: needs no page", line)
				}
				break
			}
			if got := r.Journal(); got != journal {
				t.Errorf("%s with %d pages: %d bytes were recorded", line, readable, got-journal)
			}
			r.WantEvents()
		}
	}
}

// heldStream is the stream under the key s.
func heldStream(t *testing.T, r *commandtest.Rig) (s *stream.Stream) {
	t.Helper()
	var set persistence.Shards
	set.AddAll()
	r.Ctx.Tx.Lock(&set, r.Ctx.Now)
	defer r.Ctx.Tx.Unlock()
	s, _, err := persistence.View[*stream.Stream](r.Ctx.Tx, []byte("s"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
