package cells

import (
	"bytes"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// What happens to a stack, or to a fork of it, does not change the other one.
func TestForksChangeApart(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 10 {
		size := 2000 + r.Uint64N(1<<20)
		s := newStack(size, 5000)
		for range 200 {
			s.Array(0).Write(r.Uint64N(size-64), bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 64))
		}
		models := [][]byte{contents(t, &s.Stack)}
		stacks := []*Stack{&s.Stack}
		for range 600 {
			k := r.IntN(len(stacks))
			a, m := stacks[k].Array(0), models[k]
			switch off := r.Uint64N(size - 100); r.IntN(12) {
			case 0:
				if len(stacks) < 4 {
					var fork Stack
					if !stacks[k].ForkTo(&fork) {
						t.Fatal("a stack in memory was not forked")
					}
					if fork.held > stacks[k].held || fork.filled != stacks[k].filled {
						t.Fatalf("a fork holds %d bytes, %d filled; want at most %d, and %d", fork.held, fork.filled, stacks[k].held, stacks[k].filled)
					}
					stacks, models = append(stacks, &fork), append(models, bytes.Clone(m))
				}
			case 1:
				a.Truncate(off)
				clear(m[off:size])
			case 2:
				if k > 0 && r.IntN(4) == 0 {
					stacks[k].Recycle()
					clear(m)
					stacks[k].Push(size)
					stacks[k].Push(5000)
				}
			default:
				n := 1 + r.IntN(100)
				data := bytes.Repeat([]byte{byte(r.IntN(256))}, n)
				a.Write(off, data)
				copy(m[off:], data)
			}
			for i, s := range stacks {
				if r.IntN(20) == 0 && !bytes.Equal(contents(t, s), models[i]) {
					t.Fatalf("stack %d of %d differs after a change of %d", i, len(stacks), k)
				}
			}
		}
	}
}

func contents(t *testing.T, s *Stack) (all []byte) {
	t.Helper()
	for k := range s.Arrays() {
		var ok bool
		if all, ok = s.Array(k).Append(all, 0, s.Array(k).Size()); !ok {
			t.Fatal("a page cannot be read")
		}
	}
	return all
}

// A stack that takes a fork over has its bytes, in memory and on disk, also if pages were written or left memory since.
func TestAStackTakesAForkOver(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 50 {
		s, d := newStack(1<<20, 1<<20, 9000), &disk{shelf: structurestest.Shelf{}}
		s.SetPager(d)
		fill := func(s *Stack, n int) {
			for range n {
				a := s.Array(r.IntN(s.Arrays()))
				a.Set(r.Uint64N(a.Size()), byte(r.IntN(256)))
			}
		}
		fill(&s.Stack, 300)
		if r.IntN(2) == 0 {
			d.store(t, s)
			fill(&s.Stack, 50)
		}
		var fork Stack
		s.ForkTo(&fork)
		fill(&fork, 200)
		if r.IntN(2) == 0 {
			fork.Drop()
		}
		want := contents(t, &fork)
		if r.IntN(2) == 0 {
			d.store(t, s)
			s.Evict(1 << 20)
			s.Evict(1 << 20)
		}
		s.TakeOver(&fork)
		if !bytes.Equal(contents(t, &s.Stack), want) {
			t.Fatal("not the bytes of the fork")
		}
		fill(&s.Stack, 20)
		want = contents(t, &s.Stack)
		head := d.store(t, s)
		again := newStack(s.sizes[:s.Arrays()]...)
		if err := again.LoadArrays(head); err != nil {
			t.Fatal(err)
		}
		again.SetPager(d)
		if !bytes.Equal(contents(t, &again.Stack), want) || d.failed {
			t.Fatal("the disk has something else")
		}
		if s.changed != 0 || s.evicted < 0 || s.held < 0 || structures.Zeros(want) {
			t.Fatalf("%d changed, %d evicted, %d bytes held", s.changed, s.evicted, s.held)
		}
	}
}
