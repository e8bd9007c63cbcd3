package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// The store in testdata/format3-streams is as that in format3, and has streams. It is
// written anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenStreams -golden
const goldenStreams = "testdata/format3-streams"

// goldenStream makes one of the streams: a small one, one with pages, an empty one, and
// one with groups.
func goldenStream(name string, s *stream.Stream, ch *structures.Change) {
	entries := map[string]int{"small": 5, "paged": goldenMany, "empty": 2, "grouped": 300, "indexed": 700}[name]
	for i := range uint64(entries) {
		pairs := [][]byte{[]byte("field"), fmt.Append(nil, "value-", i)}
		if i%7 == 0 {
			pairs = append(pairs, []byte("another"), nil)
		}
		s.Add(ch, stream.ID{Ms: 1000 + i/3, Seq: i}, pairs, stream.PageLimits{Bytes: 4096, Entries: 100})
	}
	s.Delete(ch, []stream.ID{{Ms: 1000, Seq: 1}})
	if name == "empty" {
		s.Trim(ch, stream.Trim{})
		s.SetID(ch, stream.ID{Ms: 9000, Seq: 1}, 70, stream.ID{Ms: 8000})
	}
	if name != "grouped" && name != "indexed" {
		return
	}
	s.Trim(ch, stream.Trim{Len: 250})
	s.CreateGroup(ch, []byte("unread"), s.Last(), 300)
	s.CreateGroup(ch, []byte("gone"), s.Last(), 300)
	s.DestroyGroup(ch, []byte("gone"))
	g := s.CreateGroup(ch, []byte("readers"), stream.ID{}, stream.Unknown)
	for i := range 70 {
		c := g.CreateConsumer(ch, fmt.Append(nil, "reader-", i), int64(5000+i))
		g.Deliver(ch, c, 3, int64(6000+i), i%10 == 0, nil)
	}
	g.Redeliver(ch, g.Consumer([]byte("reader-1")), stream.ID{}, 2, 7000, func(stream.ID, *stream.Entry) {})
	g.Ack(ch, []stream.ID{{Ms: 1030, Seq: 90}, {Ms: 1030, Seq: 91}})
	g.Claim(ch, g.Consumer([]byte("reader-2")), 8000, []stream.Pending{{ID: stream.ID{Ms: 1040, Seq: 120}, Time: 7500, Deliveries: 4}})
	g.DeleteConsumer(ch, []byte("reader-3"))
}

var goldenStreamNames = []string{"small", "paged", "empty", "grouped"}

func makeGoldenStreams(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	storeGoldenStreams(t, tx, prefix, goldenStreamNames)
}

func storeGoldenStreams(t *testing.T, tx *Tx, prefix string, names []string) {
	t.Helper()
	for _, name := range names {
		s, ch, _, err := Edit(tx, []byte(prefix+name), stream.New)
		if err != nil {
			t.Fatal(err)
		}
		goldenStream(name, s, ch)
	}
}

func TestGoldenStreams(t *testing.T) {
	testGolden(t, goldenStreams, makeGoldenStreams, checkGoldenStreams)
}

func checkGoldenStreams(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	checkStoredStreams(t, tx, prefix, goldenStreamNames)
}

func checkStoredStreams(t *testing.T, tx *Tx, prefix string, names []string) {
	t.Helper()
	for _, name := range names {
		key, want := []byte(prefix+name), stream.New()
		goldenStream(name, want, nil)
		if diff := diffStream(tx, key, describeStream(want)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// The store in testdata/format3-indexed-streams has a stream whose head says what its pages
// are. It is written anew by
//
//	go test ./persistence -run TestGoldenIndexedStreams -golden
const goldenIndexedStreams = "testdata/format3-indexed-streams"

func TestGoldenIndexedStreams(t *testing.T) {
	indexPages(t) // else the head of so few has no index
	names := []string{"indexed"}
	testGolden(t, goldenIndexedStreams,
		func(t *testing.T, tx *Tx, prefix string) { storeGoldenStreams(t, tx, prefix, names) },
		func(t *testing.T, tx *Tx, prefix string) { checkStoredStreams(t, tx, prefix, names) })
	openTight(t, goldenIndexedStreams, func(s *Store, tx *Tx) {
		v, _, err := View[*stream.Stream](tx, []byte("old-indexed"))
		if err != nil || s.writer.PageReads.Load() != 1 {
			t.Fatalf("%v, %d pages were read; want the last one", err, s.writer.PageReads.Load())
		}
		if n, _ := v.Evicted(); n < 2 {
			t.Errorf("%d pages are evicted", n)
		}
		checkStoredStreams(t, tx, "old-", names)
	})
}
