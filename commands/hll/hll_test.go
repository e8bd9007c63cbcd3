package hll

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/structures/hyll"
)

// TestHyperLogLogIsThatOfItsElements adds at random through PFADD, which
// records patches or whole strings, and beside it to a string of its own. The
// bytes must agree at all times, and after they were read back from the disk.
func TestHyperLogLogIsThatOfItsElements(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := commandtest.New(t, Group(), text.Group())
	r.Limits.HLLSparseMax = 200 // dense after some dozens of elements
	for round := range 20 {
		key := fmt.Sprintf("h%d", round)
		model := hyll.New()
		r.Call("PFADD", key)
		for range 1 + rng.IntN(40) {
			if rng.IntN(4) == 0 {
				var touched hyll.Touched
				n, err := hyll.Count(model, &touched)
				if err != nil {
					t.Fatal(err)
				}
				r.Want(fmt.Sprintf(":%d\r\n", n), "PFCOUNT", key)
				continue
			}
			call := []string{"PFADD", key}
			changed := 0
			for range rng.IntN(20) {
				elem := fmt.Sprint(rng.IntN(500))
				call = append(call, elem)
				var touched hyll.Touched
				var one bool
				var err error
				if model, one, err = hyll.Add(model, []byte(elem), 200, &touched); err != nil {
					t.Fatal(err)
				}
				if one {
					changed = 1
				}
			}
			r.Want(fmt.Sprintf(":%d\r\n", changed), call...)
		}
		got := fmt.Sprintf("$%d\r\n%s\r\n", len(model), model)
		r.Want(got, "GET", key)
		if err := r.Store.Passes().Reload(); err != nil {
			t.Fatal(err)
		}
		r.Want(got, "GET", key)
	}
}

func TestDensePFAddRecordsFewBytes(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("PFADD", "h", "a")
	r.Call("PFDEBUG", "TODENSE", "h")
	before := r.Journal()
	const adds = 100
	for i := range adds {
		r.Call("PFADD", "h", fmt.Sprint("element ", i))
	}
	if got := r.Journal() - before; got > adds*64 {
		t.Errorf("%d elements: got %d bytes of journal, want at most 64 each", adds, got)
	}
}

func TestPFAddAllocatesNothing(t *testing.T) {
	for _, form := range []string{"sparse", "dense"} {
		r := commandtest.New(t, Group())
		r.Call("PFADD", "h", "a")
		if form == "dense" {
			r.Call("PFDEBUG", "TODENSE", "h")
		}
		call := commandtest.Argv("PFADD", "h", "element 000")
		n := 0
		allocs := testing.AllocsPerRun(500, func() {
			n++
			call[2][8], call[2][9], call[2][10] = byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10)
			r.Do(call)
		})
		if allocs >= 1 {
			t.Errorf("PFADD to a %s HyperLogLog: got %v allocations, want 0", form, allocs)
		}
	}
}

func TestPFAddOfManyElementsIsRecordedWhole(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("PFADD", "h", "a")
	r.Call("PFDEBUG", "TODENSE", "h")
	before := r.Journal()
	call := []string{"PFADD", "h"}
	for i := range 10 * maxPatches {
		call = append(call, fmt.Sprint(i))
	}
	r.Want(":1\r\n", call...)
	if got := r.Journal() - before; got > 13<<10 {
		t.Errorf("%d elements: got %d bytes of journal, want those of one string", 10*maxPatches, got)
	}
}

func TestDamagedHyperLogLogIsLeftAlone(t *testing.T) {
	r := commandtest.New(t, Group(), text.Group())
	damaged := "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00"
	r.Call("SET", "h", damaged)
	corrupt := "-" + string(errCorrupt) + "\r\n"
	r.Want(corrupt, "PFADD", "h", "a", "b", "c")
	r.Want(corrupt, "PFCOUNT", "h")
	r.Want(corrupt, "PFMERGE", "h")
	r.Want(fmt.Sprintf("$%d\r\n%s\r\n", len(damaged), damaged), "GET", "h")
}

func BenchmarkPFAdd(b *testing.B) {
	for _, form := range []string{"sparse", "dense"} {
		b.Run(form, func(b *testing.B) {
			r := commandtest.New(b, Group())
			r.Call("PFADD", "h", "a")
			if form == "dense" {
				r.Call("PFDEBUG", "TODENSE", "h")
			}
			call := commandtest.Argv("PFADD", "h", "element 0000000")
			elem := call[2]
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				// Sparse, a thousand elements come again and again.
				n++
				if form == "sparse" {
					n %= 1000
				}
				for i, x := len(elem)-1, n; i > len(elem)-8; i, x = i-1, x/10 {
					elem[i] = byte('0' + x%10)
				}
				r.Do(call)
			}
		})
	}
}
