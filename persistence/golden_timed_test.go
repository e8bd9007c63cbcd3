package persistence

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
)

// The store in testdata/format3-timed is as that in format3, and has what came with [LevelTimed]: sets whose members expire, streams with
// named and with released entries, and blessed keys. It is written anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenTimed -golden
const goldenTimed = "testdata/format3-timed"

// goldenTimedSets are how many members a set has: every third expires late, and one has expired when the store is opened.
var goldenTimedSets = map[string]int{"timed": 6, "paged-timed": goldenMany}

func goldenMember(i int) []byte {
	if i%2 == 0 {
		return fmt.Append(nil, i)
	}
	return fmt.Append(nil, "word-", i)
}

func makeGoldenTimed(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, n := range goldenTimedSets {
		s, ch, _, err := Edit(tx, []byte(prefix+name), func() *set.Set { return set.New(tx.HashKeys()) })
		if err != nil || set.MayExpire(ch) != nil {
			t.Fatal(err, set.MayExpire(ch))
		}
		for i := range n {
			s.Add(ch, goldenMember(i))
			if i%3 == 0 {
				s.ExpireAt(ch, goldenMember(i), goldenLate+int64(i))
			}
		}
		s.Add(ch, []byte("soon"))
		s.ExpireAt(ch, []byte("soon"), goldenNow+1000)
	}
	v, ch, _, err := Edit(tx, []byte(prefix+"named"), stream.New)
	if err != nil {
		t.Fatal(err)
	}
	goldenNames(t, v, func(pid, text []byte, id stream.ID) {
		v.Add(ch, id, [][]byte{[]byte("f"), []byte("v")}, stream.PageLimits{Bytes: 4096, Entries: 100})
		v.Name(ch, pid, text, id, goldenNow)
	})
	if err := v.SetWindow(ch, stream.Window{Seconds: 500, Most: 7}); err != nil {
		t.Fatal(err)
	}
	goldenNames(t, v, func(pid, text []byte, id stream.ID) { v.Name(ch, pid, text, id, goldenNow) })
	g := v.CreateGroup(ch, []byte("workers"), stream.ID{}, stream.Unknown)
	g.Deliver(ch, g.CreateConsumer(ch, []byte("worker"), goldenNow), 5, goldenNow, false, nil)
	g.Release(ch, []stream.Pending{{ID: stream.ID{Ms: 2, Seq: 1}, Deliveries: 3}, {ID: stream.ID{Ms: 1, Seq: 1}, Deliveries: stream.Endless}})
	for _, name := range []string{"blessed", "cleared"} {
		tx.SetString([]byte(prefix+name), []byte(name), Expiry(goldenLate))
		if _, _, err := tx.Bless([]byte(prefix+name), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tx.Bless([]byte(prefix+"cleared"), false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tx.Bless([]byte(prefix+"named"), true); err != nil {
		t.Fatal(err)
	}
}

// goldenNames visits the names that are remembered.
func goldenNames(t *testing.T, s *stream.Stream, visit func(pid, text []byte, id stream.ID)) {
	t.Helper()
	for i := range 10 {
		visit(fmt.Append(nil, "producer-", i%2), fmt.Append(nil, "name-", i), stream.ID{Ms: uint64(i + 1), Seq: 1})
	}
}

func TestGoldenTimed(t *testing.T) { testGolden(t, goldenTimed, makeGoldenTimed, checkGoldenTimed) }

func checkGoldenTimed(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, n := range goldenTimedSets {
		s, ok, err := View[*set.Set](tx, []byte(prefix+name))
		if !ok || err != nil || s.Len() != n+1 {
			t.Fatalf("%s%s: %v, %v", prefix, name, ok, err)
		}
		for i := range n {
			want := int64(0)
			if i%3 == 0 {
				want = goldenLate + int64(i)
			}
			if ms, has, found := s.ExpiryOf(goldenMember(i)); !found || has != (want != 0) || ms != want && has {
				t.Fatalf("%s%s: %s expires at %d, %v, %v; want %d", prefix, name, goldenMember(i), ms, has, found, want)
			}
		}
		if ms, has, _ := s.ExpiryOf([]byte("soon")); !has || ms != goldenNow+1000 {
			t.Errorf("%s%s: soon expires at %d, %v", prefix, name, ms, has)
		}
	}
	s, ok, err := View[*stream.Stream](tx, []byte(prefix+"named"))
	if !ok || err != nil {
		t.Fatalf("%snamed: %v, %v", prefix, ok, err)
	}
	goldenNames(t, s, func(pid, text []byte, want stream.ID) {
		if id, ok := s.Named(pid, text, goldenNow); !ok || id != want {
			t.Errorf("%snamed: %s of %s is %v, %v", prefix, text, pid, id, ok)
		}
	})
	if got, want := s.Naming(goldenNow), (stream.Naming{Producers: 2, Names: 10, Added: 20}); got != want || s.Window() != (stream.Window{Seconds: 500, Most: 7}) {
		t.Errorf("%snamed: %+v, %+v", prefix, got, s.Window())
	}
	var released []string
	s.Group([]byte("workers")).EachReleased(func(p stream.Pending) bool {
		released = append(released, fmt.Sprint(p.ID.Ms, " ", p.Deliveries))
		return true
	})
	if want := []string{"2 3", fmt.Sprint(1, " ", int64(stream.Endless))}; !slices.Equal(released, want) {
		t.Errorf("%snamed: released %v, want %v", prefix, released, want)
	}
	for name, want := range map[string]bool{"blessed": true, "cleared": false, "named": true, "timed": false} {
		if got, ok := tx.Blessed([]byte(prefix + name)); !ok || got != want {
			t.Errorf("%s%s is blessed: %v, %v", prefix, name, got, ok)
		}
	}
}
