package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// addStreamEntries adds n entries of 40 bytes to a stream, in pages of 20.
func addStreamEntries(s *stream.Stream, ch *structures.Change, n int) {
	for range n {
		id, _ := s.Last().Next()
		s.Add(ch, id, [][]byte{[]byte("field"), fmt.Appendf(nil, "%040d", id.Seq)}, stream.PageLimits{Entries: 20})
	}
}

// pagedStream makes a store on a failing disk with a stream of 1000 entries in 50 pages, all
// evicted but the last. A consumer of its group was given 100 of them.
func pagedStream(t *testing.T) (*Store, *failingDisk) {
	t.Helper()
	indexPages(t)
	disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
	s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1, LargeBytes: 1, CacheBytes: 1})
	all(s, 1, func(tx *Tx) {
		v, ch, _, err := Edit(tx, []byte("s"), stream.New)
		if err != nil {
			t.Fatal(err)
		}
		fillPagedStream(v, ch)
	})
	onDiskOnly(t, s)
	return s, disk
}

func fillPagedStream(s *stream.Stream, ch *structures.Change) {
	addStreamEntries(s, ch, 1000)
	g := s.CreateGroup(ch, []byte("g"), stream.ID{}, 0)
	g.Deliver(ch, g.CreateConsumer(ch, []byte("c"), 1), 110, 1, false, nil)
}

// editStream has f change the stream.
func editStream(f func(s *stream.Stream, ch *structures.Change)) func(tx *Tx) {
	return func(tx *Tx) {
		if s, ch, ok, err := Edit[*stream.Stream](tx, []byte("s"), nil); ok && err == nil {
			f(s, ch)
		}
	}
}

// editGroup has f change the group of the stream.
func editGroup(f func(g *stream.Group, c *stream.Consumer, ch *structures.Change)) func(tx *Tx) {
	return editStream(func(s *stream.Stream, ch *structures.Change) {
		g := s.Group([]byte("g"))
		f(g, g.Consumer([]byte("c")), ch)
	})
}

func TestUnreadablePageOfAStreamChangesNothing(t *testing.T) {
	at := func(seq uint64) stream.ID { return stream.ID{Seq: seq} }
	trim := func(x stream.Trim) func(tx *Tx) {
		return editStream(func(s *stream.Stream, ch *structures.Change) { s.Trim(ch, x) })
	}
	again := func(stream.ID, *stream.Entry) {}
	unreadable(t, pagedStream, map[string]func(tx *Tx){
		"delete": editStream(func(s *stream.Stream, ch *structures.Change) {
			s.Delete(ch, []stream.ID{at(1000), at(10), at(500)})
		}),
		"delete the last page": editStream(func(s *stream.Stream, ch *structures.Change) {
			var ids []stream.ID
			for seq := uint64(981); seq <= 1000; seq++ {
				ids = append(ids, at(seq))
			}
			s.Delete(ch, ids)
		}),
		"trim":              trim(stream.Trim{Len: 55}),
		"trim by ID":        trim(stream.Trim{ByID: true, Min: at(300)}),
		"trim pending":      trim(stream.Trim{Len: 950, References: stream.DropReferences}),
		"trim acknowledged": trim(stream.Trim{Len: 950, References: stream.OnlyAcked}),
		"read, then trim": editStream(func(s *stream.Stream, ch *structures.Change) {
			s.Each(stream.ID{}, stream.MaxID, func(*stream.Entry) bool { return true })
			s.Trim(ch, stream.Trim{Len: 400})
		}),
		"read, then add": editStream(func(s *stream.Stream, ch *structures.Change) {
			s.Each(stream.ID{}, stream.MaxID, func(*stream.Entry) bool { return true })
			addStreamEntries(s, ch, 1)
		}),
		"read, then set the ID": editStream(func(s *stream.Stream, ch *structures.Change) {
			s.Has(at(10))
			s.SetID(ch, at(2000), 2000, stream.ID{})
		}),
		"deliver": editGroup(func(g *stream.Group, c *stream.Consumer, ch *structures.Change) {
			g.Deliver(ch, c, 55, 2, false, nil) // 10 of a page, and 45 behind it
		}),
		"deliver without acknowledgement": editGroup(func(g *stream.Group, c *stream.Consumer, ch *structures.Change) {
			g.Deliver(ch, c, 55, 2, true, func(*stream.Entry) {})
		}),
		"deliver again": editGroup(func(g *stream.Group, c *stream.Consumer, ch *structures.Change) {
			g.Redeliver(ch, c, at(15), 50, 2, again)
		}),
		"rename": func(tx *Tx) { tx.Transfers().Rename([]byte("s"), []byte("other")) },
		"copy":   func(tx *Tx) { tx.Transfers().Copy([]byte("s"), 0, []byte("other"), true) },
		"move":   func(tx *Tx) { tx.Transfers().Move([]byte("s"), 1) },
	}, func(t *testing.T, tx *Tx) {
		want := stream.New()
		fillPagedStream(want, nil)
		if diff := diffStream(tx, []byte("s"), describeStream(want)); diff != "" || tx.Kind([]byte("other")) != structures.KindNone {
			t.Fatalf("%s, other %v", diff, tx.Kind([]byte("other")))
		}
	})
}

func TestStreamComesBackByItsHead(t *testing.T) {
	s, disk := pagedStream(t)
	closeStore(t, s)
	s = openUnread(t, disk)
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		v, ch, _, err := Edit[*stream.Stream](tx, []byte("s"), nil)
		if err != nil || v.Len() != 1000 || s.writer.PageReads.Load() != 1 {
			t.Errorf("%v, length %d, %d pages read; want the last page", err, v.Len(), s.writer.PageReads.Load())
			return
		}
		addStreamEntries(v, ch, 1)
		v.Trim(ch, stream.Trim{Len: 801})
		g := v.Group([]byte("g"))
		if n, _ := g.Lag(); g.Pending() != 110 || n != 801 || v.First().Seq != 201 {
			t.Errorf("%d pending, lag %d, first %v", g.Pending(), n, v.First())
		}
		if g.Ack(ch, []stream.ID{{Seq: 7}}) != 1 || s.writer.PageReads.Load() != 1 {
			t.Errorf("%d pages were read, want the last one only", s.writer.PageReads.Load())
		}
		if n := g.Deliver(ch, g.Consumer([]byte("c")), 20, 1, false, nil); n != 20 || s.writer.PageReads.Load() != 2 {
			t.Errorf("%d delivered, %d pages read", n, s.writer.PageReads.Load())
		}
	})
	checkAccounts(t, s)
}

// A stream whose last page, or a page of a group, cannot be read is not used until it
// can.
func TestStreamThatCannotBeReadIsReadLater(t *testing.T) {
	s, disk := pagedStream(t)
	closeStore(t, s)
	s = openUnread(t, disk)
	defer closeStore(t, s)
	failures := 0
	for err := error(nil); failures == 0 || err != nil; failures++ {
		disk.arm(failures + 1)
		all(s, 1, func(tx *Tx) { _, _, _, err = Edit[*stream.Stream](tx, []byte("s"), nil) })
		disk.mend(t, s)
		if failures > 20 || failures == 0 && err == nil {
			t.Fatalf("after %d failures: %v", failures, err)
		}
	}
	all(s, 1, func(tx *Tx) {
		if v, ok, err := View[*stream.Stream](tx, []byte("s")); !ok || err != nil || v.Len() != 1000 {
			t.Errorf("%v, %v", ok, err)
		}
	})
	checkAccounts(t, s)
}
