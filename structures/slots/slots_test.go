package slots

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns a set with about one of so many slots, in runs.
func random(r *rand.Rand, runs int) *Set {
	s := new(Set)
	for range runs {
		first := r.IntN(Count)
		s.Add(Range{first, min(Count-1, first+r.IntN(100))})
	}
	return s
}

func TestSetIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []*Set{new(Set), All(), random(r, 1), random(r, 40), random(r, 2000)} {
		again, err := Parse(s.String())
		if err != nil || !again.Equal(s) {
			t.Errorf("%q is read as %q, %v", s, again, err)
		}
		b := s.Append([]byte("x"))[1:]
		got, rest, err := Decode(append(b, 7))
		if err != nil || !got.Equal(s) || !bytes.Equal(rest, []byte{7}) {
			t.Errorf("%q decodes as %q with %v behind it, %v", s, got, rest, err)
		}
		for n := range len(b) {
			if _, _, err := Decode(b[:n]); !errors.Is(err, ErrEncoding) {
				t.Fatalf("%d of %d bytes: %v", n, len(b), err)
			}
		}
	}
}

// Sets are changed and read a word at a time: ranges that end where words do, and those that are within one, come out as
// if each slot were looked at.
func TestRangesAreThoseOfSingleSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	bounds := []int{0, 1, 62, 63, 64, 65, 127, 128, 8191, 8192, Count - 65, Count - 64, Count - 63, Count - 2, Count - 1}
	for range 500 {
		s, want := new(Set), [Count + 1]bool{}
		for range r.IntN(5) {
			a, b := bounds[r.IntN(len(bounds))], bounds[r.IntN(len(bounds))]
			if r.IntN(2) == 0 {
				b = min(Count-1, a+r.IntN(130))
			}
			s.Add(Range{a, b}) // nothing if b is less
			for slot := a; slot <= b; slot++ {
				want[slot] = true
			}
		}
		var ranges []Range
		for slot, from := 0, 0; slot <= Count; slot++ {
			if want[slot] && (slot == 0 || !want[slot-1]) {
				from = slot
			}
			if !want[slot] && slot > 0 && want[slot-1] {
				ranges = append(ranges, Range{from, slot - 1})
			}
		}
		if got := s.Ranges(); !slices.Equal(got, ranges) {
			t.Fatalf("got %v, want %v", got, ranges)
		}
	}
}

func TestSetsAreComparedSlotBySlot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := random(r, 100), random(r, 100)
	for slot := range Count {
		x, y := a.Has(slot), b.Has(slot)
		if a.Union(b).Has(slot) != (x || y) || a.Both(b).Has(slot) != (x && y) || a.Without(b).Has(slot) != (x && !y) {
			t.Fatalf("slot %d, which is in the first: %v, in the second: %v", slot, x, y)
		}
	}
	if n := a.Union(b).Len(); n != a.Len()+b.Len()-a.Both(b).Len() {
		t.Errorf("the union has %d slots", n)
	}
	var none *Set
	if none.Has(1) || none.Len() != 0 || none.String() != "" || !none.Equal(new(Set)) || none.Equal(a) || !a.Without(none).Equal(a) {
		t.Error("a set that is nil is not empty")
	}
}

func TestTextsThatAreNoSlotsAreRefused(t *testing.T) {
	for _, text := range []string{"x", "-1", "5-", "-", "7-6", "16384", "0-16384", "1-2-3", "1,2", "99999999999999999999"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q: %q", text, s)
		}
	}
	if s, err := Parse(" 5 0-3 \t 2-4 "); err != nil || s.String() != "0-5" {
		t.Errorf("%q, %v", s, err)
	}
}

func FuzzDecodedSetIsEncodedAgain(f *testing.F) {
	f.Add([]byte{0})
	f.Add(All().Append(nil))
	f.Add([]byte{2, 5, 0, 1, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := Decode(b)
		if err != nil {
			return
		}
		again, _, err := Decode(s.Append(nil))
		if err != nil || !again.Equal(s) || len(rest) > len(b) {
			t.Errorf("%q and %q, %v", s, again, err)
		}
	})
}
