package structures

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHashIsSipHash compares with the vectors in appendix A of the paper.
func TestHashIsSipHash(t *testing.T) {
	var key [16]byte
	var in []byte
	for i := range key {
		key[i] = byte(i)
		if i < 15 {
			in = append(in, byte(i))
		}
	}
	if got, want := NewHashKey(key).Sum(in), uint64(0xa129ca6149be45e5); got != want {
		t.Errorf("SipHash-2-4 of 15 bytes: got %#x, want %#x", got, want)
	}
}

func TestCursorsStandForOnePositionEach(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		k := HashKey{r.Uint64(), r.Uint64()}
		seen := map[uint64]bool{}
		positions := []uint64{0, 1, cursorEnd - 1, k.decipher(0), k.encipher(0)}
		for range 1000 {
			positions = append(positions, r.Uint64N(cursorEnd))
		}
		for _, p := range positions {
			c := k.Hide(p)
			if c > math.MaxInt32 || (c == 0) != (p == 0) {
				t.Fatalf("seed %d: position %#x has cursor %#x", seed, p, c)
			}
			if got := k.Reveal(c); got != p {
				t.Fatalf("seed %d: cursor %#x of position %#x stands for %#x", seed, c, p, got)
			}
			seen[c] = true
		}
		if len(seen) < 1000 {
			t.Errorf("seed %d: %d cursors for %d positions", seed, len(seen), len(positions))
		}
		for range 1000 { // cursors that a client made up
			c := r.Uint64() >> r.IntN(64)
			want := c
			if c >= cursorEnd {
				want = 0 // it begins anew
			}
			if p := k.Reveal(c); p >= cursorEnd || k.Hide(p) != want {
				t.Fatalf("seed %d: cursor %#x stands for %#x, whose cursor is %#x", seed, c, p, k.Hide(p))
			}
		}
	}
}

// TestCursorsTellNothingOfTheirPositions: neighbouring positions differ in half
// of the bits of their cursors, and their cursors rise as often as they fall.
func TestCursorsTellNothingOfTheirPositions(t *testing.T) {
	const n = 20000
	k := HashKey{1, 2}
	var flips [CursorBits]int
	rises := 0
	for p := uint64(1); p <= n; p++ {
		a, b := k.Hide(p<<15), k.Hide((p+1)<<15)
		if b > a {
			rises++
		}
		for bit := range flips {
			flips[bit] += int((a ^ b) >> bit & 1)
		}
	}
	// Five standard deviations of a fair coin; neighbouring rises depend on each
	// other so as to vary less.
	const off = 5 * 71
	if rises < n/2-off || rises > n/2+off {
		t.Errorf("%d of %d cursors rise with their positions", rises, n)
	}
	for bit, f := range flips {
		if f < n/2-off || f > n/2+off {
			t.Errorf("bit %d of the cursor changes %d of %d times with the position", bit, f, n)
		}
	}
}

// A call of SCAN reveals one cursor and hides another.
func BenchmarkCursors(b *testing.B) {
	k, cursor := HashKey{1, 2}, uint64(1)
	for b.Loop() {
		cursor = k.Hide(k.Reveal(cursor) + 1)
	}
}
