package structures

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// lengths around the ends of blocks.
var blockLengths = []int{0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes, 3*blockBytes + 5}

func TestLongBytesAreCopiedWhole(t *testing.T) {
	r := rand.NewChaCha8([32]byte{})
	for _, n := range blockLengths {
		src := make([]byte, n)
		r.Read(src)
		if got := Clone(src); !bytes.Equal(got, src) || n > 0 && &got[0] == &src[0] {
			t.Errorf("Clone of %d bytes: differs or is the same memory", n)
		}
		if got := Append([]byte("pre"), src); !bytes.Equal(got, append([]byte("pre"), src...)) {
			t.Errorf("Append of %d bytes differs", n)
		}
		if got := Append(src[:n/2:n/2], src[n/2:]); !bytes.Equal(got, src) {
			t.Errorf("Append to %d bytes differs", n/2)
		}
		for _, room := range []int{0, 1, blockBytes, 2*blockBytes + 1} {
			if got := Grow(src, room); !bytes.Equal(got, src) || cap(got)-len(got) < room {
				t.Errorf("Grow of %d by %d: %d bytes with room for %d", n, room, len(got), cap(got)-len(got))
			}
		}
		if got := GrowTo(src, n+7); !bytes.Equal(got, src) || cap(got) < n+7 {
			t.Errorf("GrowTo of %d bytes: %d bytes of %d", n, len(got), cap(got))
		}
		short := make([]byte, n/2)
		if got := Copy(short, src); got != n/2 || !bytes.Equal(short, src[:n/2]) {
			t.Errorf("Copy of %d bytes into %d: got %d", n, n/2, got)
		}
		Clear(src[:n/2])
		if !Zeros(src[:n/2]) {
			t.Errorf("Clear of %d bytes leaves some", n/2)
		}
	}
}

// Copy is used where a slice moves within itself.
func TestCopyOfOverlappingBytesIsThatOfCopy(t *testing.T) {
	r := rand.NewChaCha8([32]byte{})
	for _, shift := range []int{0, 1, blockBytes - 1, blockBytes, blockBytes + 3} {
		n := 3*blockBytes + 11
		for _, up := range []bool{true, false} {
			b := make([]byte, n+shift)
			r.Read(b)
			want := bytes.Clone(b)
			from, to := 0, shift
			if !up {
				from, to = shift, 0
			}
			copy(want[to:to+n], want[from:from+n])
			if Copy(b[to:to+n], b[from:from+n]); !bytes.Equal(b, want) {
				t.Errorf("moved by %d, up %v: differs from copy", shift, up)
			}
		}
	}
}
