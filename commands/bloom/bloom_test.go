package bloom

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
)

// TestBloomDumpTravels carries a filter of several layers over as a client
// does and compares the copies byte for byte.
func TestBloomDumpTravels(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "BF.RESERVE", "from", "0.001", "50")
	for i := range 500 {
		r.Call("BF.ADD", "from", fmt.Sprint(i))
	}
	pieces := dump(t, r, "from")
	if len(pieces) < 4 {
		t.Fatalf("dump: got %d pieces, want a header and at least 3 layers", len(pieces))
	}
	for _, p := range pieces {
		r.Want("+OK\r\n", "BF.LOADCHUNK", "to", p.iter, p.data)
	}
	if err := r.Store.Passes().Reload(); err != nil {
		t.Fatal(err)
	}
	again := dump(t, r, "to")
	for i := range pieces {
		if pieces[i] != again[i] {
			t.Errorf("piece %d differs after the journey", i)
		}
	}
	for i := range 500 {
		r.Want(":1\r\n", "BF.EXISTS", "to", fmt.Sprint(i))
	}
}

type piece struct{ iter, data string }

func dump(t *testing.T, r *commandtest.Rig, key string) (pieces []piece) {
	t.Helper()
	iter := "0"
	for {
		in := bufio.NewReader(strings.NewReader(r.Call("BF.SCANDUMP", key, iter)))
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
		pieces = append(pieces, piece{iter, string(data)})
	}
}

func TestFilterBeyondTheLimitIsNotMade(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group())
	r.Limits.ModuleMemoryLimit = 1 << 10
	want := "-" + string(errMemory) + "\r\n"
	r.Want(want, "BF.RESERVE", "k", "0.01", "100000")
	r.Want(want, "BF.INSERT", "k", "CAPACITY", "100000", "ITEMS", "a")
	r.Want(":0\r\n", "EXISTS", "k")
	// A filter that cannot grow any more says so for the items that are new.
	r.Want("+OK\r\n", "BF.RESERVE", "k", "0.01", "700")
	var full bool
	for i := range 2000 {
		full = full || r.Call("BF.ADD", "k", fmt.Sprint(i)) == "-"+string(errInsert)+"\r\n"
	}
	if !full {
		t.Error("2000 items in 1 KiB: got no error")
	}
}

func TestBloomHotPathsAllocateNothing(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("BF.RESERVE", "k", "0.001", "100000")
	r.Call("BF.ADD", "k", "item")
	for _, args := range [][]string{{"BF.ADD", "k", "item"}, {"BF.EXISTS", "k", "item"}} {
		call := commandtest.Argv(args...)
		if n := testing.AllocsPerRun(100, func() { r.Do(call) }); n >= 1 {
			t.Errorf("%s: got %v allocations, want 0", args[0], n)
		}
	}
}

func BenchmarkBloom(b *testing.B) {
	r := commandtest.New(b, Group())
	r.Call("BF.RESERVE", "k", "0.001", "1000000")
	for _, name := range []string{"BF.ADD", "BF.EXISTS"} {
		b.Run(name, func(b *testing.B) {
			call := commandtest.Argv(name, "k", "00000000")
			item := call[2]
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				for i, x := len(item)-1, n%500000; i > 0; i, x = i-1, x/10 {
					item[i] = byte('0' + x%10)
				}
				r.Do(call)
			}
		})
	}
}
