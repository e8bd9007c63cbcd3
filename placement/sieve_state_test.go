package placement

import (
	"bytes"
	"errors"
	"testing"
)

// sieves are the strategies whose tables have a history.
func sieves() map[string]func() Strategy {
	return map[string]func() Strategy{
		"sieve":         func() Strategy { return newSieve(Options{}) },
		"sieve lecture": func() Strategy { return newSieve(Options{Levels: 3}) },
		"sieve-abs":     func() Strategy { return new(sieveAbs) },
	}
}

// withHistory returns a strategy that has seen joins and leaves, and units
// 0, 2, 4, ... of capacities 1, 3, 5, ...
func withHistory(t testing.TB, s Strategy, units int) Strategy {
	t.Helper()
	for i := range 2 * units {
		setAll(t, s, []Change{{i, Capacity(40*units - i)}})
	}
	for i := range units {
		setAll(t, s, []Change{{2*i + 1, 0}})
	}
	return withUnits(t, s, units)
}

func withUnits(t testing.TB, s Strategy, units int) Strategy {
	t.Helper()
	for i := range units {
		setAll(t, s, []Change{{2 * i, Capacity(2*i + 1)}})
	}
	return s
}

// TestSieveStateRefusesWhatItCannotHaveWritten flips bits and cuts ends: what is
// taken must place as a table with all invariants, and be written again alike.
func TestSieveStateRefusesWhatItCannotHaveWritten(t *testing.T) {
	for name, fresh := range sieves() {
		state := withHistory(t, fresh(), 9).AppendState(nil)
		for n := range state {
			if err := withUnits(t, fresh(), 9).DecodeState(state[:n]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: first %d of %d bytes: got %v, want ErrCorrupt", name, n, len(state), err)
			}
		}
		if err := withUnits(t, fresh(), 9).DecodeState(append(bytes.Clone(state), 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: a byte more: got %v, want ErrCorrupt", name, err)
		}
		if err := fresh().DecodeState(state); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: without units: got %v, want ErrCorrupt", name, err)
		}
		if err := fresh().DecodeState(nil); err != nil {
			t.Errorf("%s: nothing, without units: %v", name, err)
		}
		for i := range state {
			for bit := range 8 {
				bad := bytes.Clone(state)
				bad[i] ^= 1 << bit
				checkForeignState(t, withUnits(t, fresh(), 9), bad)
			}
		}
	}
}

// checkForeignState decodes bytes that may be anything.
func checkForeignState(t *testing.T, s Strategy, state []byte) {
	t.Helper()
	if s.DecodeState(state) != nil {
		return
	}
	if got := s.AppendState(nil); !bytes.Equal(got, state) {
		t.Fatalf("state %x is written again as %x", state, got)
	}
	switch s := s.(type) {
	case *sieve:
		checkSieve(t, s)
	case *sieveAbs:
		checkAbs(t, s)
	}
	setAll(t, s, []Change{{3, 5}})
	setAll(t, s, []Change{{0, 0}})
	for i := range uint64(50) {
		if u := s.Locate(Mix(i)); u <= 0 {
			t.Fatalf("Locate answers %d", u)
		}
	}
}

// FuzzSieveState feeds bytes as the state of a few units.
func FuzzSieveState(f *testing.F) {
	for _, fresh := range sieves() {
		for _, n := range []int{2, 5, 9} {
			f.Add(byte(n), withHistory(f, fresh(), n).AppendState(nil))
		}
	}
	f.Fuzz(func(t *testing.T, n byte, state []byte) {
		for _, fresh := range sieves() {
			checkForeignState(t, withUnits(t, fresh(), 2+int(n%10)), state)
		}
	})
}
