package persistence

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/zset"
)

type changeOf = structures.Change

// edited is the value of a key, which is made if it is missing.
func edited[V structures.Value](tx *Tx, key string, create func() V) (V, *changeOf) {
	v, c, _, err := Edit(tx, []byte(key), create)
	if err != nil {
		panic(err)
	}
	return v, c
}

// heard is a feed that writes down what it is told, a line for each record.
type heard struct {
	t     *testing.T
	last  uint64
	lines []string
	lost  string
}

var counts = regexp.MustCompile(`\*\d+\r\n`)

func (h *heard) Record(lsn uint64, told Told) {
	if h.last != 0 && lsn != h.last+1 {
		h.t.Errorf("record %d behind %d", lsn, h.last)
	}
	h.last = lsn
	if n := len(counts.FindAll(told.Commands, -1)); n != told.Count {
		h.t.Errorf("%d commands are counted as %d: %q", n, told.Count, told.Commands)
	}
	line := counts.ReplaceAllString(string(told.Commands), "|")
	line = regexp.MustCompile(`\$\d+\r\n`).ReplaceAllString(line, "")
	line = strings.TrimSpace(strings.ReplaceAll(line, "\r\n", " "))
	if told.First >= 0 {
		line = fmt.Sprintf("%d-%d %s", told.First, told.Last, line)
	}
	h.lines = append(h.lines, strings.ReplaceAll(line, " |", "|"))
}

func (h *heard) Lost(why string) { h.lost = why }

// take returns what was heard since the last call.
func (h *heard) take() string {
	s := strings.Join(h.lines, "\n")
	h.lines = nil
	return s
}

func fed(t *testing.T, o FeedOptions) (*Store, *heard) {
	t.Helper()
	s := openMemory(t, Options{Databases: 4, IdleAfter: -1})
	h := &heard{t: t}
	if _, err := s.StartFeed(h, o); err != nil {
		t.Fatal(err)
	}
	return s, h
}

// Each change of a key becomes the commands that do the same to a copy of it.
func TestRecordsAreToldAsCommands(t *testing.T) {
	s, h := fed(t, FeedOptions{})
	lists := func(tx *Tx) (*list.List, *changeOf) { return edited(tx, "l", list.New) }
	hashes := func(tx *Tx) (*hash.Hash, *changeOf) {
		return edited(tx, "h", func() *hash.Hash { return hash.New(tx.HashKeys()) })
	}
	sets := func(tx *Tx) (*set.Set, *changeOf) {
		return edited(tx, "t", func() *set.Set { return set.New(tx.HashKeys()) })
	}
	zsets := func(tx *Tx) (*zset.Set, *changeOf) {
		return edited(tx, "z", func() *zset.Set { return zset.New(tx.HashKeys()) })
	}
	streams := func(tx *Tx) (*stream.Stream, *changeOf) { return edited(tx, "x", stream.New) }
	b := func(s string) []byte { return []byte(s) }
	for _, x := range []struct {
		what string
		do   func(tx *Tx)
		want string
	}{
		{"a string", func(tx *Tx) { tx.SetString(b("k"), b("v"), 0) }, "0-0|SET k v"},
		{"an expiry", func(tx *Tx) { tx.SetString(b("k"), b("v"), 50) }, "0-0|SET k v PXAT 50"},
		{"later", func(tx *Tx) { tx.SetExpire(b("k"), 60) }, "0-0|PEXPIREAT k 60"},
		{"never", func(tx *Tx) { tx.Persist(b("k")) }, "0-0|PERSIST k"},
		{"a part", func(tx *Tx) { tx.PatchString(b("k"), 3, b("xy")) }, "0-0|SETRANGE k 3 xy"},
		{"length", func(tx *Tx) { tx.PatchString(b("k"), 9, nil) }, "0-0|SETRANGE k 8 \x00"},
		{"no more", func(tx *Tx) { tx.Delete(b("k")) }, "0-0|DEL k"},
		{"two databases", func(tx *Tx) { tx.SetString(b("k"), b("1"), 0); tx.Select(2); tx.SetString(b("k"), b("2"), 0) }, "0-2|SET k 1|SELECT 2|SET k 2"},
		{"a list", func(tx *Tx) { l, c := lists(tx); l.Push(c, list.Tail, b("a"), b("b"), b("c")) }, "0-0|RPUSH l a b c"},
		{"its head", func(tx *Tx) { l, c := lists(tx); l.Push(c, list.Head, b("z")) }, "0-0|LPUSH l z"},
		{"between", func(tx *Tx) { l, c := lists(tx); l.Insert(c, list.After, b("a"), b("vigil:0")) }, "0-0|LSET l 2 vigil:0|LINSERT l BEFORE vigil:0 vigil:0|LSET l 3 b"},
		{"between again", func(tx *Tx) { l, c := lists(tx); l.Insert(c, list.Before, b("b"), b("q")) }, "0-0|LSET l 3 vigil:1|LINSERT l BEFORE vigil:1 q|LSET l 4 b"},
		{"at the ends", func(tx *Tx) { l, c := lists(tx); l.Insert(c, list.After, b("c"), b("d")) }, "0-0|RPUSH l d"},
		{"not last", func(tx *Tx) { l, c := lists(tx); l.Insert(c, list.Before, b("b"), b("r")); l.Pop(c, list.Head) }, "(whole)"},
		{"pops", func(tx *Tx) { l, c := lists(tx); l.Pop(c, list.Head); l.PopMany(c, list.Tail, 2, nil) }, "0-0|LPOP l|RPOP l 2"},
		{"others", func(tx *Tx) { l, c := lists(tx); l.Set(c, 0, b("s")); l.Remove(c, -1, b("q")); l.Trim(c, 0, 1) }, "0-0|LSET l 0 s|LREM l -1 q|LTRIM l 0 1"},
		{"to its end", func(tx *Tx) { l, c := lists(tx); l.PopMany(c, list.Head, 9, nil) }, "0-0|LPOP l 2"},
		{"a hash", func(tx *Tx) { v, c := hashes(tx); v.Set(c, b("f"), b("1")); v.Set(c, b("g"), b("2")) }, "0-0|HSET h f 1 g 2"},
		{"a field expires", func(tx *Tx) { v, c := hashes(tx); v.ExpireAt(c, b("f"), 99) }, "0-0|HPEXPIREAT h 99 FIELDS 1 f"},
		{"and keeps that", func(tx *Tx) { v, c := hashes(tx); v.SetKeepTTL(c, b("f"), b("3")); v.SetKeepTTL(c, b("g"), b("4")) }, "0-0|HSET h f 3 g 4|HPEXPIREAT h 99 FIELDS 1 f"},
		{"or not", func(tx *Tx) { v, c := hashes(tx); v.Persist(c, b("f")); v.Delete(c, b("g")) }, "0-0|HPERSIST h FIELDS 1 f|HDEL h g"},
		{"a set", func(tx *Tx) { v, c := sets(tx); v.Add(c, b("m")); v.Add(c, b("n")); v.Remove(c, b("m")) }, "0-0|SADD t m|SADD t n|SREM t m"},
		{"a stream", func(tx *Tx) {
			v, c := streams(tx)
			v.Add(c, stream.ID{Ms: 1}, [][]byte{b("f"), b("v")}, stream.PageLimits{Entries: 100, Bytes: 4096})
			v.Add(c, stream.ID{Ms: 2}, [][]byte{b("f"), b("v")}, stream.PageLimits{Entries: 100, Bytes: 4096})
		}, "0-0|XADD x 1-0 f v|XADD x 2-0 f v"},
		{"its group", func(tx *Tx) { v, c := streams(tx); v.CreateGroup(c, b("g"), stream.ID{}, 0) }, "0-0|XGROUP CREATE x g 0-0 MKSTREAM ENTRIESREAD 0"},
		{"which reads", func(tx *Tx) {
			v, c := streams(tx)
			g := v.Group(b("g"))
			g.Deliver(c, g.CreateConsumer(c, b("p"), 7), 5, 7, false, nil)
		}, "0-0|XGROUP CREATECONSUMER x g p|XCLAIM x g p 0 1-0 2-0 TIME 7 RETRYCOUNT 1 FORCE JUSTID|XGROUP SETID x g 2-0 ENTRIESREAD 2"},
		{"again", func(tx *Tx) {
			v, c := streams(tx)
			g := v.Group(b("g"))
			g.Redeliver(c, g.Consumer(b("p")), stream.ID{Ms: 1}, 5, 8, func(stream.ID, *stream.Entry) {})
		}, "0-0|XCLAIM x g p 0 2-0 TIME 8 RETRYCOUNT 2 FORCE JUSTID"},
		{"and confirms", func(tx *Tx) { v, c := streams(tx); v.Group(b("g")).Ack(c, []stream.ID{{Ms: 1}}) }, "0-0|XACK x g 1-0"},
		{"less", func(tx *Tx) {
			v, c := streams(tx)
			v.Delete(c, []stream.ID{{Ms: 1}})
			v.SetID(c, stream.ID{Ms: 9}, 4, stream.ID{Ms: 1})
		}, "0-0|XDEL x 1-0|XSETID x 9-0 ENTRIESADDED 4 MAXDELETEDID 1-0"},
		{"a sorted set", func(tx *Tx) {
			v, c := zsets(tx)
			v.Add(c, b("m"), 0.1, 0)
			v.Pop(c, zset.Least, 1, func([]byte, float64) {})
		}, "0-0|ZADD z 0.10000000000000001 m|ZPOPMIN z 1"},
		{"exchanged", func(tx *Tx) { tx.Databases().Swap(0, 2); tx.SetString(b("k"), b("3"), 0) }, "0-0|SWAPDB 0 2|SET k 3"},
		{"flushed", func(tx *Tx) { tx.Databases().Flush(2); tx.Select(2); tx.SetString(b("k"), b("4"), 0) }, "2-2|FLUSHDB|SET k 4"},
		{"a library", func(tx *Tx) { tx.Texts(Libraries).Set("l", "source") }, "|FUNCTION LOAD REPLACE source"},
		{"a filter", func(tx *Tx) {
			v, c := edited(tx, "b", bloom.New)
			v.Add(c, b("m"), 1<<20)
		}, "0-0|UNLINK b"},
	} {
		all(s, 5, x.do)
		if got := h.take(); got != x.want && !(x.want == "(whole)" && strings.HasPrefix(got, "0-0|RESTORE l 0 ")) {
			t.Errorf("%s:\n got %q\nwant %q", x.what, got, x.want)
		}
	}
	all(s, 100, func(tx *Tx) { tx.Select(2); tx.SetString(b("gone"), b("v"), 101) })
	h.take()
	all(s, 200, func(tx *Tx) { tx.Select(2); tx.ExpireAt(b("gone")) })
	if got := h.take(); got != "2-2|DEL gone" {
		t.Errorf("expired: got %q", got)
	}
	closeStore(t, s)
}

// A big string is not in the record, and is told all the same; nothing is told to one that has gone.
func TestBigRecordsAreTold(t *testing.T) {
	s, h := fed(t, FeedOptions{})
	big := bytes.Repeat([]byte("v"), 3<<20)
	all(s, 5, func(tx *Tx) { tx.SetString([]byte("k"), big, 0); tx.SetString([]byte("l"), []byte("w"), 0) })
	if got := h.take(); got != "0-0|SET k "+string(big)+"|SET l w" {
		t.Errorf("got %.100q of %d bytes", got, len(got))
	}
	if _, err := s.StartFeed(h, FeedOptions{}); err == nil {
		t.Error("a second feed")
	}
	s.StopFeed()
	if all(s, 5, func(tx *Tx) { tx.Delete([]byte("k")) }); h.take() != "" || h.lost != "" {
		t.Error("told behind the end")
	}
	closeStore(t, s)
}

// What comes into the store by another way than its journal ends a feed.
func TestImportEndsAFeed(t *testing.T) {
	s, h := fed(t, FeedOptions{Modules: true})
	in := smallIntake(t, s)
	fill(t, in, 7)
	all(s, 1, func(tx *Tx) { tx.TakeOver(in, everyDatabase) })
	if h.lost == "" || len(h.lines) > 0 {
		t.Errorf("lost %q, told %q", h.lost, h.lines)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
}
