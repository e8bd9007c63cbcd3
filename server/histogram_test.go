package server

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsFollowEachOther(t *testing.T) {
	before := time.Duration(-1)
	for bucket := range histogramSize {
		end := bucketEnd(bucket)
		if bucketOf(end) != bucket || bucketOf(before+1) != bucket {
			t.Fatalf("bucket %d ends at %d: %d and %d are in %d and %d", bucket, end, before+1, end, bucketOf(before+1), bucketOf(end))
		}
		if width := end - before; width > max(1, end/32) {
			t.Fatalf("bucket %d from %d to %d is too wide", bucket, before+1, end)
		}
		before = end
	}
	if before != longest || bucketOf(time.Hour) != histogramSize-1 || bucketOf(-1) != 0 {
		t.Fatalf("the last bucket ends at %d; an hour is in bucket %d, -1 in %d", before, bucketOf(time.Hour), bucketOf(-1))
	}
}

func TestPercentilesAreThoseOfASortedList(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 50 {
		var h histogram
		var all []time.Duration
		for range 1 + rng.IntN(500) {
			took := time.Duration(rng.ExpFloat64() * 3000)
			h.add(took)
			all = append(all, took)
		}
		slices.Sort(all)
		wanted := []float64{0, 50, 99, 99.9, 100}
		counts, total := h.snapshot()
		for i, got := range percentiles(counts, total, wanted) {
			at := max(1, int(wanted[i]/100*float64(len(all))+0.5)) - 1
			if want := all[at]; got < want || got > want+want/16+1 {
				t.Fatalf("percentile %v of %d: got %d, want %d", wanted[i], len(all), got, want)
			}
		}
		steps := steps(counts)
		if last := steps[len(steps)-1]; last.Calls != total {
			t.Fatalf("the last step has %d of %d calls", last.Calls, total)
		}
	}
}

func TestStepsHaveTheNamesOfRedis(t *testing.T) {
	var h histogram
	for took := time.Duration(1000); took < time.Second/2; took *= 2 {
		h.add(took)
	}
	counts, _ := h.snapshot()
	var names []int64
	for i, s := range steps(counts) {
		if s.Calls != int64(i+1) {
			t.Fatalf("step %d has %d calls", s.Micros, s.Calls)
		}
		names = append(names, s.Micros)
	}
	want := []int64{1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113, 4227, 8454, 16908, 33816, 67633, 135266, 270532}
	if !slices.Equal(names, want) {
		t.Fatalf("got steps %v, want %v", names, want)
	}
}

// A call costs its histogram some nanoseconds and no memory.
func BenchmarkHistogram(b *testing.B) {
	b.ReportAllocs()
	var h histogram
	took := time.Duration(300)
	for b.Loop() {
		h.add(took)
		took = took*5/4%4096 + 300
	}
}
