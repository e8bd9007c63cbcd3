package rdb

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Random texts, whose parts come again near and far, are what they were; each comes after others, and the table begins anew
// amid them.
func TestWhatIsShrunkExpandsToWhatItWas(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	s, shorter := shrinker{before: 1<<32 - 2 - maxShrunk - 200_000}, 0
	for range 300 {
		var text []byte
		for parts := 1 + r.IntN(40); parts > 0; parts-- {
			part := make([]byte, r.IntN(4000))
			for i := range part {
				part[i] = byte(r.IntN(256))
			}
			switch r.IntN(4) {
			case 0: // one that comes again
				if len(text) > 0 {
					from := r.IntN(len(text))
					part = bytes.Clone(text[from:min(len(text), from+r.IntN(20_000))])
				}
			case 1: // of few letters
				for i := range part {
					part[i] = 'a' + part[i]%3
				}
			case 2: // a run
				part = bytes.Repeat([]byte{byte(r.IntN(3))}, len(part))
			}
			text = append(text, part...)
		}
		packed, ok := s.shrink(text)
		packed = bytes.Clone(packed)
		n, worth := s.length(text)
		if ok != worth {
			t.Fatalf("seed %d: shrunk %t, and then %t", seed, ok, worth)
		}
		if !ok {
			continue
		}
		shorter++
		var parts []byte
		s.write(text, func(b []byte) []byte {
			parts = append(parts, b...)
			return b[:0]
		})
		if n != len(packed) || !bytes.Equal(parts, packed) {
			t.Fatalf("seed %d: %d bytes, %d as measured, %d in parts, which are equal: %t", seed, len(packed), n, len(parts), bytes.Equal(parts, packed))
		}
		if got, err := expandLZF(nil, packed, uint64(len(text))); err != nil || !bytes.Equal(got, text) || len(packed) > len(text)-minSaved {
			t.Fatalf("seed %d: %d bytes became %d, and then %d: %v", seed, len(text), len(packed), len(got), err)
		}
	}
	if shorter < 100 || s.before > 1<<31 {
		t.Errorf("seed %d: %d texts became shorter, the table is at %d", seed, shorter, s.before)
	}
}

func TestTextsThatAreTooShortOrHaveNothingAgainStay(t *testing.T) {
	var s shrinker
	random := make([]byte, 5000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"20 bytes":                    {strings.Repeat("a", 20), false},
		"21 bytes":                    {strings.Repeat("a", 21), true},
		"random bytes":                {string(random), false},
		"end of a copy at the window": {"begin" + string(random) + strings.Repeat("x", lzfWindow-5005) + "begin", true},
	} {
		packed, ok := s.shrink([]byte(c.text))
		if ok != c.want {
			t.Errorf("%s: %d bytes, shrunk %t", name, len(packed), ok)
		}
		if got, err := expandLZF(nil, packed, uint64(len(c.text))); ok && (err != nil || string(got) != c.text) {
			t.Errorf("%s: %d bytes came back, %v", name, len(got), err)
		}
	}
}

// A copy reaches exactly as far back as the form can say, and no further.
func TestCopiesReachBackToTheEndOfTheWindow(t *testing.T) {
	for _, far := range []int{lzfWindow - 1, lzfWindow, lzfWindow + 1} {
		text := []byte("<unique>")
		for i := 0; len(text) < far; i++ {
			text = fmt.Appendf(text, "%d", i)
		}
		text = append(text[:far], "<unique>...................."...)
		packed, ok := new(shrinker).shrink(text)
		if !ok {
			t.Fatalf("%d: not shrunk", far)
		}
		got, err := expandLZF(nil, packed, uint64(len(text)))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes back: came back as another text, %v", far, err)
		}
		if copied := !bytes.Contains(packed[len(packed)/2:], []byte("unique")); copied != (far <= lzfWindow) {
			t.Errorf("%d bytes back: copied %t", far, copied)
		}
	}
}
