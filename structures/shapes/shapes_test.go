package shapes

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
)

// sum is FNV-1a.
func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// nameList is a list of names as Shapes takes it.
func nameList(names ...string) (b []byte, n int) {
	for _, name := range names {
		b = append(append(b, byte(len(name))), name...)
	}
	return b, len(names)
}

func TestListIsAShapeWhenItIsMetAgain(t *testing.T) {
	var s Shapes
	names, n := nameList("user", "", "agent")
	if s.Find(names, n, sum) != nil {
		t.Fatal("a list is a shape at once")
	}
	shape := s.Find(names, n, sum)
	if shape == nil || shape.Len != 3 || len(shape.Names) != len(names) || s.Number(shape.Number) != shape {
		t.Fatalf("shape %+v", shape)
	}
	clear(names) // which the caller uses again
	if again, _ := nameList("user", "", "agent"); !bytes.Equal(shape.Names, again) {
		t.Errorf("names %q", shape.Names)
	}
	var none *Shapes
	if none.Find(names, n, sum) != nil {
		t.Error("nil found a shape")
	}
}

// Lists that occur once are of clients that put data into names.
func TestListsThatOccurOnceTakeNoRoom(t *testing.T) {
	var s Shapes
	for i := range 200_000 {
		if names, n := nameList(fmt.Sprint("visit at ", i)); s.Find(names, n, sum) != nil {
			t.Fatalf("list %d is a shape when it is met for the first time", i)
		}
	}
	names, n := nameList("user", "agent")
	s.Find(names, n, sum)
	if shape := s.Find(names, n, sum); shape == nil || shape.Number != 0 {
		t.Errorf("shape %+v behind them", shape)
	}
}

func TestTableOfShapesIsBounded(t *testing.T) {
	for _, size := range []int{8, 200} {
		var s Shapes
		shapes, taken := 0, 0
		for i := range 100_000 {
			names, n := nameList(fmt.Sprintf("%0*d", size, i))
			s.Find(names, n, sum)
			if s.Find(names, n, sum) == nil {
				break
			}
			shapes, taken = shapes+1, taken+len(names)
		}
		if shapes < 1000 || shapes > 1<<13 || taken > 1<<20 {
			t.Errorf("%d shapes of %d bytes of names", shapes, taken)
		}
		names, n := nameList(fmt.Sprintf("%0*d", size, 7))
		if shape := s.Find(names, n, sum); shape == nil || shape.Number != 7 {
			t.Errorf("a full table finds %+v", shape)
		}
	}
}

func TestShapesAreFoundConcurrently(t *testing.T) {
	var s Shapes
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 20_000 {
				names, n := nameList("user", fmt.Sprint(i%2000))
				shape := s.Find(names, n, sum)
				if shape == nil {
					continue
				}
				if got := s.Number(shape.Number).Names; !bytes.Equal(got, names) {
					t.Errorf("list %q has shape %q", names, got)
				}
			}
		})
	}
	all.Wait()
}
