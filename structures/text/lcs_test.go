package text

import (
	"bytes"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

func TestLCSAnswersAsRedis(t *testing.T) {
	common, matches := LCS([]byte("ohmytext"), []byte("mynewtext"), 0)
	if string(common) != "mytext" {
		t.Fatalf("LCS: got %q, want mytext", common)
	}
	want := []LCSMatch{{4, 7, 5, 8}, {2, 3, 0, 1}}
	if len(matches) != 2 || matches[0] != want[0] || matches[1] != want[1] {
		t.Errorf("LCS IDX: got %v, want %v", matches, want)
	}
	if _, matches = LCS([]byte("ohmytext"), []byte("mynewtext"), 4); len(matches) != 1 || matches[0] != want[0] {
		t.Errorf("LCS IDX MINMATCHLEN 4: got %v, want %v", matches, want[:1])
	}
	for _, pair := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"a", "b"}} {
		common, matches := LCS([]byte(pair[0]), []byte(pair[1]), 0)
		if len(common) != 0 || len(matches) != 0 {
			t.Errorf("LCS of %q: got %q %v", pair, common, matches)
		}
	}
}

func TestLCSFitsUpToTheLimit(t *testing.T) {
	a, b := make([]byte, 99), make([]byte, 49)
	// 100 * 50 cells of 4 bytes.
	if !LCSFits(a, b, 20000) {
		t.Error("a table of just the limit does not fit")
	}
	if LCSFits(a, b, 19999) {
		t.Error("a table above the limit fits")
	}
}

func TestLCSIsLongestAndCommon(t *testing.T) {
	r := structurestest.Seeded(t)
	word := func() []byte {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte('a' + r.IntN(3))
		}
		return b
	}
	for range 2000 {
		a, b := word(), word()
		common, matches := LCS(a, b, 0)
		n := LCSLen(a, b)
		if n != len(common) || n != longestCommon(a, b) {
			t.Fatalf("LCS %q %q: got %q, length %d, want %d", a, b, common, n, longestCommon(a, b))
		}
		var back []byte
		for _, m := range matches {
			if !bytes.Equal(a[m.AStart:m.AEnd+1], b[m.BStart:m.BEnd+1]) {
				t.Fatalf("LCS %q %q: run %v differs", a, b, m)
			}
			back = append(bytes.Clone(a[m.AStart:m.AEnd+1]), back...)
		}
		if !bytes.Equal(back, common) {
			t.Fatalf("LCS %q %q: runs give %q, want %q", a, b, back, common)
		}
	}
}

func longestCommon(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longestCommon(a[1:], b[1:])
	}
	return max(longestCommon(a[1:], b), longestCommon(a, b[1:]))
}

func BenchmarkLCS(b *testing.B) {
	x, y := bytes.Repeat([]byte("abcde"), 200), bytes.Repeat([]byte("badce"), 200)
	b.ReportAllocs()
	for b.Loop() {
		LCS(x, y, 0)
	}
}
