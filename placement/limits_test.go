package placement

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// largest is an accepted map whose table is large for the bytes that encode it.
func largest(t *testing.T, o Options, n int) *Map {
	t.Helper()
	m, err := NewMap(o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	units := make([]Unit, n)
	for i := range units {
		units[i] = Unit{Name: string(rune('!' + i)), Capacity: 1}
	}
	if err := m.Set(units...); err != nil {
		t.Fatalf("%+v, %d units: %v", o, n, err)
	}
	return m
}

// TestDecodingAllocatesInProportionToTheBytes decodes the largest tables that
// are accepted: 24 MiB for any map, what its table is made with included, and
// 4 KiB for each byte, and a unit has ten at least.
func TestDecodingAllocatesInProportionToTheBytes(t *testing.T) {
	for _, c := range []struct {
		o Options
		n int
	}{
		{Options{Strategy: "share", Stretch: 64, Points: 1900}, 1},
		{Options{Strategy: "share", Stretch: 64, Points: 120}, 16},
		{Options{Strategy: "share", Stretch: 1.0 / (1 << 16), Points: 4096}, 16},
		{Options{Strategy: "share", Stretch: 64, Points: 4}, 1000},
		{Options{Strategy: "nearest", Points: 4096}, 36},
		{Options{Strategy: "nearest", Points: 774}, 500},
		{Options{Strategy: "maglev", Slots: MaxSlots}, 1},
		{Options{Strategy: "slots", Slots: MaxSlots}, 1},
		{Options{Strategy: "sieve", Levels: MaxLevels}, 3},
		{Options{Strategy: "sieve-abs"}, 3},
		{Options{Strategy: "cutpaste"}, 2000},
	} {
		t.Run(fmt.Sprintf("%s/n=%d", c.o.Strategy, c.n), func(t *testing.T) {
			b := encoded(t, largest(t, c.o, c.n))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := Decode(b)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			allocated, limit := after.TotalAlloc-before.TotalAlloc, uint64(24<<20+len(b)<<12)
			t.Logf("%d bytes: allocated %d KiB, holds %d KiB", len(b), allocated>>10, m.Bytes()>>10)
			if allocated > limit || m.Bytes() > 8<<20+len(b)<<11 {
				t.Errorf("%d bytes: allocated %d of at most %d bytes, holds %d", len(b), allocated, limit, m.Bytes())
			}
		})
	}
}

func TestTablesOutOfProportionAreRefused(t *testing.T) {
	if _, err := NewMap(Options{Strategy: "share", Stretch: 64, Points: 4096}); !errors.Is(err, ErrOption) {
		t.Errorf("share of 64 x 4096: got %v, want ErrOption", err)
	}
	for _, c := range []struct {
		o Options
		n int
	}{
		{Options{Strategy: "share", Stretch: 64, Points: 1024}, 16},
		{Options{Strategy: "share", Points: 1024}, 1000},
		{Options{Strategy: "nearest", Points: 4096}, 1023},
		{Options{Strategy: "nearest", Points: 4096}, 37},
	} {
		m, err := NewMap(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set(manyUnits(false, c.n)...); !errors.Is(err, ErrLimit) || m.Len() != 0 {
			t.Errorf("%+v, %d units: got %v and %d units, want ErrLimit and none", c.o, c.n, err, m.Len())
		}
	}
}

func TestUsualTablesAreAccepted(t *testing.T) {
	for _, c := range []struct {
		o Options
		n int
	}{
		{Options{Strategy: "nearest", Points: 160}, 1000},
		{Options{Strategy: "nearest", Points: 160}, 10000},
		{Options{Strategy: "share"}, 10000},
		{Options{Strategy: "share", Points: 16}, 1000},
		{Options{Strategy: "share", Points: 64}, 16},
		{Options{Strategy: "maglev"}, 10000},
	} {
		m, err := NewMap(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set(manyUnits(true, c.n)...); err != nil {
			t.Errorf("%+v, %d units: %v", c.o, c.n, err)
		}
	}
}
