package stream

import (
	"math/rand/v2"
	"testing"
)

// A lag that is known is the number of entries that are new to the group, as long as
// none of them is trimmed. It is known where nothing was deleted, or only before the
// first entry.
func TestLagCountsWhatIsNewToTheGroup(t *testing.T) {
	known, unknown := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := New()
		g := s.CreateGroup(nil, []byte("g"), ID{}, int64(r.IntN(2))-1)
		c := g.CreateConsumer(nil, []byte("c"), 0)
		deletes := r.IntN(2) == 0
		for range 60 {
			switch r.IntN(5) {
			case 0, 1:
				s.Add(nil, ID{s.Last().Ms + 1, 0}, [][]byte{nil, nil}, PageLimits{Entries: 8})
			case 2:
				g.Deliver(nil, c, 1+r.IntN(3), 0, false, nil)
			case 3:
				if deletes && r.IntN(3) == 0 {
					s.Delete(nil, []ID{{1 + r.Uint64N(s.Last().Ms+1), 0}})
				}
			case 4:
				if r.IntN(4) == 0 {
					s.Trim(nil, Trim{ByID: true, Min: g.Last()})
				}
			}
			want := int64(0)
			if from, ok := g.Last().Next(); ok {
				s.Each(from, MaxID, func(*Entry) bool { want++; return true })
			}
			lag, ok := g.Lag()
			switch {
			case ok && lag != want:
				t.Fatalf("seed %d: lag %d of a group that read %d up to %v, want %d\n%s", seed, lag, g.Read(), g.Last(), want, dump(s))
			case !ok && !deletes:
				t.Fatalf("seed %d: no lag of a group that read %d up to %v, and nothing was deleted\n%s", seed, g.Read(), g.Last(), dump(s))
			case ok:
				known++
			default:
				unknown++
			}
		}
	}
	if known < 1000 || unknown < 500 {
		t.Errorf("the lag was known %d times, and %d times not", known, unknown)
	}
}

// A small stream lies in its head. When it comes to have pages, all of them are written.
func TestSmallStreamThatGetsAGroupIsStoredWhole(t *testing.T) {
	s, d := New(), &disk{pages: map[uint64]string{}}
	s.Add(nil, ID{1, 1}, [][]byte{[]byte("field"), []byte("value")}, PageLimits{})
	d.store(s, 0)
	if len(d.pages) != 0 {
		t.Fatalf("a small stream has %d pages", len(d.pages))
	}
	for range 2 {
		s.CreateGroup(nil, []byte("g"), ID{}, 0)
		d.store(s, 0)
		if got, want := dump(d.load(t)), dump(s); got != want || len(d.pages) != 2 {
			t.Fatalf("%d pages, read back:\n%s\nwant\n%s", len(d.pages), got, want)
		}
		s.DestroyGroup(nil, []byte("g"))
		d.store(s, 0)
		if got, want := dump(d.load(t)), dump(s); got != want || len(d.pages) != 0 {
			t.Fatalf("%d pages, read back:\n%s\nwant\n%s", len(d.pages), got, want)
		}
	}
}
