package commands

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestBloomDumpTravels carries a filter of several layers over as a client
// does and compares the copies byte for byte.
func TestBloomDumpTravels(t *testing.T) {
	r := newRig(t, BloomGroup())
	r.want("+OK\r\n", "BF.RESERVE", "from", "0.001", "50")
	for i := range 500 {
		r.call("BF.ADD", "from", fmt.Sprint(i))
	}
	pieces := dumpBloom(t, r, "from")
	if len(pieces) < 4 {
		t.Fatalf("dump: got %d pieces, want a header and at least 3 layers", len(pieces))
	}
	for _, p := range pieces {
		r.want("+OK\r\n", "BF.LOADCHUNK", "to", p.iter, p.data)
	}
	if err := r.store.Reload(); err != nil {
		t.Fatal(err)
	}
	again := dumpBloom(t, r, "to")
	for i := range pieces {
		if pieces[i] != again[i] {
			t.Errorf("piece %d differs after the journey", i)
		}
	}
	for i := range 500 {
		r.want(":1\r\n", "BF.EXISTS", "to", fmt.Sprint(i))
	}
}

type bloomPiece struct{ iter, data string }

func dumpBloom(t *testing.T, r *rig, key string) (pieces []bloomPiece) {
	t.Helper()
	iter := "0"
	for {
		in := bufio.NewReader(strings.NewReader(r.call("BF.SCANDUMP", key, iter)))
		line := func() string {
			s, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(s)
		}
		line()
		iter = line()[1:]
		n, err := strconv.Atoi(line()[1:])
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, n)
		for i := range data {
			data[i], _ = in.ReadByte()
		}
		if iter == ":0" || iter == "0" {
			return pieces
		}
		pieces = append(pieces, bloomPiece{iter, string(data)})
	}
}

func TestFilterBeyondTheLimitIsNotMade(t *testing.T) {
	r := newRig(t, BloomGroup(), GenericGroup())
	r.limits.ModuleMemoryLimit = 1 << 10
	want := "-" + string(ErrBloomMemory) + "\r\n"
	r.want(want, "BF.RESERVE", "k", "0.01", "100000")
	r.want(want, "BF.INSERT", "k", "CAPACITY", "100000", "ITEMS", "a")
	r.want(":0\r\n", "EXISTS", "k")
	// A filter that cannot grow any more says so for the items that are new.
	r.want("+OK\r\n", "BF.RESERVE", "k", "0.01", "700")
	var full bool
	for i := range 2000 {
		full = full || r.call("BF.ADD", "k", fmt.Sprint(i)) == "-"+string(ErrBloomInsert)+"\r\n"
	}
	if !full {
		t.Error("2000 items in 1 KiB: got no error")
	}
}

func TestBloomHotPathsAllocateNothing(t *testing.T) {
	r := newRig(t, BloomGroup())
	r.call("BF.RESERVE", "k", "0.001", "100000")
	r.call("BF.ADD", "k", "item")
	for _, args := range [][]string{{"BF.ADD", "k", "item"}, {"BF.EXISTS", "k", "item"}} {
		call := argv(args...)
		if n := testing.AllocsPerRun(100, func() { r.do(call) }); n >= 1 {
			t.Errorf("%s: got %v allocations, want 0", args[0], n)
		}
	}
}

func BenchmarkBloom(b *testing.B) {
	r := newRig(b, BloomGroup())
	r.call("BF.RESERVE", "k", "0.001", "1000000")
	for _, name := range []string{"BF.ADD", "BF.EXISTS"} {
		b.Run(name, func(b *testing.B) {
			call := argv(name, "k", "00000000")
			item := call[2]
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				for i, x := len(item)-1, n%500000; i > 0; i, x = i-1, x/10 {
					item[i] = byte('0' + x%10)
				}
				r.do(call)
			}
		})
	}
}
