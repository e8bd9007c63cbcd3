package rdb

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// describeStream is all that a payload has of a stream: all but the time at which a
// consumer was active.
func describeStream(s *stream.Stream) string {
	b := fmt.Appendf(nil, "%d last %v deleted %v added %d:", s.Len(), s.Last(), s.MaxDeleted(), s.Added())
	s.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		b = fmt.Appendf(b, " %v", e.ID)
		e.Each(func(field, value []byte) { b = fmt.Appendf(b, " %q=%q", field, value) })
		return true
	})
	for _, g := range s.Groups() {
		b = fmt.Appendf(b, " group %q at %v read %d", g.Name(), g.Last(), g.Read())
		for _, c := range g.Consumers() {
			b = fmt.Appendf(b, " consumer %q %d %d", c.Name(), c.Seen(), c.Pending())
		}
		g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
			name := ""
			if p.Consumer != nil {
				name = p.Consumer.Name()
			}
			b = fmt.Appendf(b, " %v %q %d %d", p.ID, name, p.Time, p.Deliveries)
			return true
		})
	}
	if w := s.Window(); w != stream.DefaultWindow() || len(s.Names()) > 0 {
		b = fmt.Appendf(b, " names %v %s", w, s.Names())
		n := s.Naming(0)
		b = fmt.Appendf(b, " of %d, %d again", n.Added, n.Duplicates)
	}
	return string(b)
}

func randomStream(r *rand.Rand) *stream.Stream {
	s := stream.New()
	id := stream.ID{}
	var ids []stream.ID
	for range r.IntN(400) {
		id = stream.ID{Ms: id.Ms + r.Uint64N(1<<r.IntN(40)), Seq: id.Seq + 1 + r.Uint64N(1<<r.IntN(50))}
		pairs := [][]byte{[]byte("field"), randomText(r)}
		if r.IntN(4) == 0 {
			pairs = append(pairs, randomText(r), randomText(r))
		}
		s.Add(nil, id, pairs, stream.PageLimits{Bytes: 4096, Entries: 100})
		ids = append(ids, id)
	}
	for i := range ids {
		if r.IntN(5) == 0 {
			s.Delete(nil, ids[i:i+1])
		}
	}
	for i := range r.IntN(3) {
		g := s.CreateGroup(nil, []byte{'g', byte(i)}, stream.ID{}, int64(r.IntN(3))-1)
		for k := range r.IntN(4) {
			c := g.CreateConsumer(nil, []byte{'c', byte(k)}, r.Int64())
			g.Deliver(nil, c, r.IntN(80), r.Int64(), false, nil)
			if r.IntN(3) == 0 {
				releaseSome(r, g, c)
			}
		}
	}
	if r.IntN(2) == 0 {
		nameSome(r, s)
	}
	return s
}

// releaseSome releases entries that a consumer has.
func releaseSome(r *rand.Rand, g *stream.Group, c *stream.Consumer) {
	var own []stream.Pending
	g.EachPendingOf(c, stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
		if r.IntN(2) == 0 {
			if p.Deliveries = r.Int64N(1000); r.IntN(4) == 0 {
				p.Deliveries = math.MaxInt64
			}
			own = append(own, p)
		}
		return true
	})
	g.Release(nil, own)
}

// nameSome gives names to entries, more than are remembered of some producers.
func nameSome(r *rand.Rand, s *stream.Stream) {
	if err := s.SetWindow(nil, stream.Window{Seconds: 1 + r.Int64N(1000), Most: 1 + r.IntN(60)}); err != nil {
		panic(err)
	}
	s.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		s.Name(nil, []byte{'p', byte(r.IntN(3))}, fmt.Append(nil, e.ID.Seq), e.ID, int64(e.ID.Ms))
		return true
	})
	for range r.IntN(3) {
		s.Again()
	}
}

// A stream of one entry, with a group that gave it to a consumer, in the three forms of Redis.
func streamForms() map[string]string {
	node := "\x01\x10" + strings.Repeat("\x00", 7) + "\x01" + strings.Repeat("\x00", 8) +
		text1(packListpack("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04"))
	state := node + "\x01\x02\x00"
	pending := strings.Repeat("\x00", 7) + "\x01" + strings.Repeat("\x00", 8)
	head := "\x01\x01g\x01\x00"
	group := "\x01" + pending + "\x05\x00\x00\x00\x00\x00\x00\x00\x03\x01\x01c\x07\x00\x00\x00\x00\x00\x00\x00"
	own := "\x01" + pending
	what := func(added, read int) string {
		return fmt.Sprintf(`6  1 last 2-0 deleted 0-0 added %d: 1-0 "f"="v" group "g" at 1-0 read %d consumer "c" 7 1 1-0 "c" 5 3`, added, read)
	}
	return map[string]string{
		"\x0f" + state + head + group + own:                                                          what(1, 1),
		"\x13" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + group + own:                        what(9, 4),
		"\x15" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + group + "\x09" + pending[:7] + own: what(9, 4),
		"\x1a" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + group + "\x09" + pending[:7] + own +
			"\x40\x64\x32\x01\x01p\x02\x01a\x01\x02\xc0\x07\x03\x04\x05\x06": what(9, 4) + " names {100 50} [[{p a 1-2} {p 7 3-4}]] of 5, 6 again",
		"\x1b" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + group + "\x09" + pending[:7] + own + "\x00" +
			"\x40\x64\x32\x00\x00\x00": what(9, 4) + " names {100 50} [] of 0, 0 again",
		// The entry is nobody's, beside a consumer that has nothing, and beside one without a name.
		"\x1b" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + group + "\x09" + pending[:7] + "\x00" + own + "\x00\x00\x00\x00\x00": strings.Replace(
			what(9, 4), `consumer "c" 7 1 1-0 "c" 5 3`, `consumer "c" 7 0 1-0 "" 0 3`, 1),
		"\x1b" + state + "\x01\x00\x00\x00\x09" + head + "\x04" + strings.Replace(group, "\x01c", "\x00", 1) + "\x09" + pending[:7] + "\x00" + own + "\x00\x00\x00\x00\x00": strings.Replace(
			what(9, 4), `consumer "c" 7 1 1-0 "c" 5 3`, `consumer "" 7 0 1-0 "" 0 3`, 1),
		"\x13\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00":                                                                  "6  0 last 0-0 deleted 0-0 added 0:",
		"\x13" + node + "\x01\x02\x00\x01\x00\x00\x00\x09\x01\x00\x01\x00\x81" + strings.Repeat("\xff", 8) + "\x00\x00": `6  1 last 2-0 deleted 0-0 added 9: 1-0 "f"="v" group "" at 1-0 read -1`,
	}
}

func TestStreamsInEveryFormAreRead(t *testing.T) {
	for body, want := range streamForms() {
		v, err := Decode(sealed(body), roomy)
		if got := describe(v); err != nil || got != want {
			t.Errorf("%q:\n got %s, %v\nwant %s", body, got, err, want)
		}
	}
}

func TestStreamsThatDoNotFitAreRefused(t *testing.T) {
	for body := range streamForms() {
		for i := range len(body) {
			if _, err := Decode(sealed(body[:i]), roomy); !errors.Is(err, structures.ErrCorrupt) {
				t.Errorf("%q, cut at %d: %v", body, i, err)
			}
		}
	}
	one := func(elems ...string) string {
		return "\x13\x01\x10" + strings.Repeat("\x00", 7) + "\x01" + strings.Repeat("\x00", 8) + text1(packListpack(elems...)) +
			"\x01\x02\x00\x01\x00\x00\x00\x01\x00"
	}
	good := one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04")
	if _, err := Decode(sealed(good), roomy); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"two entries promised":     one("\x02", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04"),
		"a deleted one promised":   one("\x01", "\x01", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04"),
		"no fields":                one("\x01", "\x00", "\x00", "\x00", "\x02", "\x00", "\x00", "\x03"),
		"no zero behind fields":    one("\x01", "\x00", "\x01", "\x81f", "\x01", "\x02", "\x00", "\x00", "\x81v", "\x04"),
		"unknown flags":            one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x06", "\x00", "\x00", "\x81v", "\x04"),
		"wrong count":              one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x05"),
		"no number":                one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x81x", "\x00", "\x81v", "\x04"),
		"an ID of 0-0":             one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\xdf\xff", "\x00", "\x81v", "\x04"),
		"an entry twice":           one("\x02", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04", "\x02", "\x00", "\x00", "\x81v", "\x04"),
		"an entry cut":             one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v"),
		"only a deleted entry":     one("\x00", "\x01", "\x01", "\x81f", "\x00", "\x03", "\x00", "\x00", "\x81v", "\x04"),
		"fields without end":       one("\x01", "\x00", "\x7f", "\x81f", "\x00", "\x02", "\x00", "\x00", "\x81v", "\x04"),
		"pairs without end":        one("\x01", "\x00", "\x01", "\x81f", "\x00", "\x00", "\x00", "\x00", "\x7f", "\x81v", "\x04"),
		"last ID before the entry": strings.Replace(good, "\x01\x02\x00\x01\x00", "\x01\x00\x00\x01\x00", 1),
		"another length":           strings.Replace(good, "\x01\x02\x00\x01\x00", "\x02\x02\x00\x01\x00", 1),
	} {
		if v, err := Decode(sealed(body), roomy); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: %q read as %s, %v", name, body, describe(v), err)
		}
	}
}

func TestPendingEntriesNeedOneConsumerEach(t *testing.T) {
	state := "\x13\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01\x01g\x01\x00\x00"
	id := func(n byte) string { return strings.Repeat("\x00", 7) + string(n) + strings.Repeat("\x00", 8) }
	pending := func(n byte) string { return id(n) + strings.Repeat("\x00", 8) + "\x01" }
	consumer := func(name string, ids ...string) string {
		return text1(name) + strings.Repeat("\x00", 8) + string(rune(len(ids))) + strings.Join(ids, "")
	}
	if _, err := Decode(sealed(state+"\x02"+pending(1)+pending(2)+"\x02"+consumer("a", id(2))+consumer("b", id(1))), roomy); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"of none":        "\x02" + pending(1) + pending(2) + "\x01" + consumer("a", id(2)),
		"of two":         "\x01" + pending(1) + "\x02" + consumer("a", id(1)) + consumer("b", id(1)),
		"unknown":        "\x01" + pending(1) + "\x01" + consumer("a", id(3)),
		"out of order":   "\x02" + pending(2) + pending(1) + "\x01" + consumer("a", id(1), id(2)),
		"consumer twice": "\x00\x02" + consumer("a") + consumer("a"),
	} {
		if _, err := Decode(sealed(state+body), roomy); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Those that no consumer has are counted as well.
	state = "\x1b" + state[1:]
	active := strings.Repeat("\x00", 8)
	consumed := text1("a") + active + active + "\x01" + id(2)
	for name, c := range map[string]struct {
		body string
		good bool
	}{
		"one left":        {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x01" + id(1), true},
		"none left":       {"\x01" + pending(2) + "\x01" + consumed + "\x00", true},
		"a consumer's":    {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x01" + id(2), false},
		"unknown":         {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x01" + id(3), false},
		"twice":           {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x02" + id(1) + id(1), false},
		"not all":         {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x00", false},
		"without an end":  {"\x02" + pending(1) + pending(2) + "\x01" + consumed + "\x81" + strings.Repeat("\xff", 8) + id(1), false},
		"without a count": {"\x01" + pending(2) + "\x01" + consumed, false},
	} {
		if _, err := Decode(sealed(state+c.body+"\x00\x00\x00\x00\x00"), roomy); (err == nil) != c.good || err != nil && !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("entries that nobody has, %s: %v", name, err)
		}
	}
}
