package placement

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"
)

func TestHashIsFrozen(t *testing.T) {
	for _, c := range []struct {
		key  string
		seed uint64
		want uint64
	}{
		{"", 0, 0x1553267ebd098028},
		{"", 1, 0x5222fa5160ebe80b},
		{"a", 0, 0x6d176be8a3f41b2b},
		{"user:1000", 0, 0x4439f231bfe06071},
		{"user:1000", 42, 0xde5e12415f23f2e9},
		{"12345678", 0, 0x7e995df9cea407a0},
		{"123456789", 0, 0x480ac445ba6e2200},
		{"a key that is longer than four words of eight", 7, 0x38e25ad2add16899},
	} {
		if got := Hash([]byte(c.key), c.seed); got != c.want {
			t.Errorf("Hash(%q, %d): got %#x, want %#x", c.key, c.seed, got, c.want)
		}
	}
	for x, want := range map[uint64]uint64{0: 0, 1: 0x23eb960bdf7eaee, math.MaxUint64: 0x881f579de72ebbcc} {
		if got := Mix(x); got != want {
			t.Errorf("Mix(%d): got %#x, want %#x", x, got, want)
		}
	}
}

// TestDocumentedHashesAreRight holds the table of docs/format.md, from which
// clients in other languages are written, to the code.
func TestDocumentedHashesAreRight(t *testing.T) {
	page, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(.*)` \\| ([0-9]+) \\| 0x([0-9a-f]{16}) \\|$")
	found := row.FindAllStringSubmatch(string(page), -1)
	if len(found) != 4 {
		t.Errorf("%d rows of hashes, want 4", len(found))
	}
	for _, f := range found {
		seed, _ := strconv.ParseUint(f[2], 10, 64)
		if got := fmt.Sprintf("%016x", Hash([]byte(f[1]), seed)); got != f[3] {
			t.Errorf("Hash(%q, %d): got %s, documented is %s", f[1], seed, got, f[3])
		}
	}
}

// TestPlacesAreFrozen: the same state places the same way on every machine and
// in every later version. A sum over many lookups stands for all of them.
func TestPlacesAreFrozen(t *testing.T) {
	want := map[string]uint64{
		"static":            0x21ba72033631b369,
		"static copies":     0xb35bcbbdac1daa7c,
		"twochoice":         0x21ba72033631b369,
		"twochoice copies":  0xb35bcbbdac1daa7c,
		"nearest":           0x3bb3f7197034923d,
		"nearest copies":    0xcad9991d3408be37,
		"cutpaste":          0xb4b00a0e572527d7,
		"cutpaste copies":   0x959d3bd305823e8,
		"share":             0x447afa458c7f4706,
		"share copies":      0x57f36b0fda010997,
		"sieve":             0x559034d9adccd4c9,
		"sieve copies":      0xe87cf9afe7f03a95,
		"sieve-abs":         0xf59e3734d4b2d7e4,
		"sieve-abs copies":  0xc2163d25476911a3,
		"slots":             0xf859747b8c6b608a,
		"slots copies":      0xe0c1b79064029b54,
		"jump":              0x3aba37f87151e1b2,
		"jump copies":       0xead2187889feb3fd,
		"rendezvous":        0x4ed2fa0ee1d57c87,
		"rendezvous copies": 0xfbd234ddc1f92926,
		"maglev":            0xad25baed1fb4fe2b,
		"maglev copies":     0x5c53599b7ee6a100,
		"jumpback":          0x7ba88ec8f6511c8e,
		"jumpback copies":   0xeedb28a751fe2676,
		"copysets":          0x597c34e040313ee,
		"copysets copies":   0xb1328aa8a7f69386,
	}
	each(t, func(t *testing.T, spec Spec) {
		m := newMap(t, spec.Name, 100)
		if err := m.Remove("u3", "u50"); err != nil {
			t.Fatal(err)
		}
		if err := m.Set(Unit{Name: "x", Capacity: 10}); err != nil {
			t.Fatal(err)
		}
		var sum, copies uint64
		var dst []int
		for i := range uint64(20_000) {
			h := Mix(i)
			sum = Mix(sum + uint64(m.Locate(h)) + 1)
			if i < 1000 {
				var err error
				if dst, err = m.LocateCopies(h, 3, dst[:0]); err != nil {
					t.Fatal(err)
				}
				for _, u := range dst {
					copies = Mix(copies + uint64(u) + 1)
				}
			}
		}
		if sum != want[spec.Name] {
			t.Errorf("%q: %#x,", spec.Name, sum)
		}
		if copies != want[spec.Name+" copies"] {
			t.Errorf("\"%s copies\": %#x,", spec.Name, copies)
		}
	})
}

// TestPlacesOfNestedDomainsAreFrozen is the same for copies that share a room.
func TestPlacesOfNestedDomainsAreFrozen(t *testing.T) {
	m, sum := mapOf(t, Options{Seed: 3, Spread: 2}, halls()...), uint64(0)
	for i := range uint64(1000) {
		dst, err := m.LocateCopies(Mix(i), 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range dst {
			sum = Mix(sum + uint64(u) + 1)
		}
	}
	if want := uint64(0x3c80202c97140f6a); sum != want {
		t.Errorf("got %#x, want %#x", sum, want)
	}
}

// avalanche flips each bit of random inputs and says how far the chance of each
// output bit to flip is from one half, at most.
func avalanche(inputs, trials int, flip func(r *rand.Rand, bit int) uint64) float64 {
	r := rand.New(rand.NewPCG(1, 1))
	worst := 0.0
	for i := range inputs {
		var counts [64]int
		for range trials {
			d := flip(r, i)
			for d != 0 {
				counts[bits.TrailingZeros64(d)]++
				d &= d - 1
			}
		}
		for _, c := range counts {
			worst = max(worst, math.Abs(float64(c)/float64(trials)-0.5))
		}
	}
	return worst
}

func TestHashSpreadsEachBit(t *testing.T) {
	const trials = 4000
	limit := 5.5 * 0.5 / math.Sqrt(trials) // of some 20,000 counts
	if got := avalanche(64, trials, func(r *rand.Rand, bit int) uint64 {
		x := r.Uint64()
		return Mix(x) ^ Mix(x^1<<bit)
	}); got > limit {
		t.Errorf("Mix: bias %.4f, want below %.4f", got, limit)
	}
	// Small numbers, as counters give.
	if got := avalanche(16, trials, func(r *rand.Rand, bit int) uint64 {
		x := r.Uint64N(1 << 24)
		return Mix(x) ^ Mix(x^1<<bit)
	}); got > limit {
		t.Errorf("Mix of small numbers: bias %.4f, want below %.4f", got, limit)
	}
	for _, n := range []int{4, 8, 13, 24} {
		if got := avalanche(8*n, trials, func(r *rand.Rand, bit int) uint64 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			h := Hash(key, 5)
			key[bit/8] ^= 1 << (bit % 8)
			return h ^ Hash(key, 5)
		}); got > limit {
			t.Errorf("keys of %d bytes: bias %.4f, want below %.4f", n, got, limit)
		}
	}
}

func TestHashTellsKeysApart(t *testing.T) {
	seen := map[uint64]string{}
	add := func(key []byte) {
		h := Hash(key, 0)
		if other, ok := seen[h]; ok && other != string(key) {
			t.Fatalf("%q and %q have the same hash", key, other)
		}
		seen[h] = string(key)
	}
	for n := range 200 {
		add(make([]byte, n)) // zeros of all lengths
		add(bytes.Repeat([]byte{0xff}, n))
	}
	for i := range 100_000 {
		add([]byte{'k', byte(i), byte(i >> 8), byte(i >> 16)})
		add([]byte{0, 0, 0, 0, 0, 0, 0, 0, byte(i), byte(i >> 8), byte(i >> 16), 1})
	}
	if Hash([]byte("a"), 1) == Hash([]byte("a"), 2) {
		t.Error("seeds do not matter")
	}
}
