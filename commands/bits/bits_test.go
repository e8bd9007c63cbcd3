package bits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/structures/bits"
)

// TestBitsAreThoseOfAString writes at random through SETBIT and BITFIELD and
// beside them to a byte slice.
func TestBitsAreThoseOfAString(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := commandtest.New(t, Group(), text.Group())
	var model []byte
	grow := func(n uint64) {
		if n > uint64(len(model)) {
			model = append(model, make([]byte, n-uint64(len(model)))...)
		}
	}
	for i := range 3000 {
		off := rng.Uint64N(uint64(8 + 30*i))
		if rng.IntN(2) == 0 {
			bit := rng.IntN(2)
			grow(off>>3 + 1)
			old := bits.Put(model, off, bit)
			r.Want(fmt.Sprintf(":%d\r\n", old), "SETBIT", "k", fmt.Sprint(off), fmt.Sprint(bit))
			continue
		}
		kind := bits.FieldType{Signed: rng.IntN(2) == 0, Bits: 1 + rng.IntN(63)}
		name := fmt.Sprintf("u%d", kind.Bits)
		if kind.Signed {
			name = "i" + name[1:]
		}
		value := int64(rng.Uint64()) >> rng.IntN(64)
		_, size := bits.FieldBytes(kind, off)
		grow(size)
		old, _ := bits.SetField(model, kind, off, value, bits.OverflowWrap)
		sum, ok := bits.IncrField(model, kind, off, value, bits.OverflowFail)
		last := fmt.Sprintf(":%d\r\n", sum)
		if !ok {
			last = "$-1\r\n"
		}
		r.Want(fmt.Sprintf("*2\r\n:%d\r\n%s", old, last), "BITFIELD", "k",
			"SET", name, fmt.Sprint(off), fmt.Sprint(value),
			"OVERFLOW", "FAIL", "INCRBY", name, fmt.Sprint(off), fmt.Sprint(value))
	}
	got := fmt.Sprintf("$%d\r\n%s\r\n", len(model), model)
	r.Want(got, "GET", "k")
	if err := r.Store.Passes().Reload(); err != nil {
		t.Fatal(err)
	}
	r.Want(got, "GET", "k")
}

func TestBitWritesRecordTheirBytesOnly(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SETBIT", "k", "8000000", "1") // a string of 1 MB
	before := r.Journal()
	const writes = 100
	for i := range writes {
		r.Call("SETBIT", "k", fmt.Sprint(i*1000), "1")
		r.Call("BITFIELD", "k", "SET", "u32", fmt.Sprint(i*1000+77), "4000000000")
	}
	if got := r.Journal() - before; got > writes*128 {
		t.Errorf("%d bits and fields: got %d bytes of journal, want at most 128 each", writes, got)
	}
}

func TestBitmapEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group(), text.Group())
	r.Classes = commands.EventAll | commands.EventNew
	for _, step := range []struct {
		call   string
		events []string
	}{
		{"SETBIT b 3 0", []string{"new b", "setbit b"}},
		{"SETBIT b 3 0", nil},
		{"SETBIT b 3 1", []string{"setbit b"}},
		{"SETBIT b 9 0", []string{"setbit b"}},
		{"BITFIELD b GET u8 0", nil},
		{"BITFIELD b SET u8 0 16", nil},
		{"BITFIELD b SET u8 0 17 INCRBY u8 0 1", []string{"setbit b"}},
		{"BITFIELD b OVERFLOW FAIL SET u8 32 256", nil},
		{"BITFIELD b SET u8 48 0", []string{"setbit b"}},
		{"BITOP NOT r b", []string{"new r", "set r"}},
		{"BITOP OR r none", []string{"del r"}},
		{"BITOP OR r none", nil},
	} {
		r.Call(strings.Fields(step.call)...)
		r.WantEvents(step.events...)
	}
}

func TestFieldAtTheLimitIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Limits.MaxBulk = 16
	bad := "-" + string(errOffset) + "\r\n"
	r.Want(bad, "SETBIT", "k", "128", "1")
	r.Want(bad, "BITFIELD", "k", "SET", "u8", "0", "1", "SET", "u8", "128", "1")
	r.Want(bad, "BITFIELD", "k", "SET", "i64", "#288230376151711744", "1")
	r.Want(bad, "BITFIELD", "k", "GET", "i64", "#9223372036854775807")
	r.Want(":0\r\n", "BITCOUNT", "k")
	r.Want(":0\r\n", "SETBIT", "k", "127", "1")
}
