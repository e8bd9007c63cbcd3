package text

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/structures/text"
)

func TestStringHotPathsAllocateNothing(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SET", "key", strings.Repeat("v", 100))
	r.Call("SET", "n", "123456789")
	for _, args := range [][]string{
		{"SET", "key", strings.Repeat("w", 100)}, {"GET", "key"}, {"INCR", "n"}, {"MGET", "key", "n"},
		{"SET", "key", strings.Repeat("w", 100), "EX", "100"}, {"STRLEN", "key"}, {"SETRANGE", "key", "3", "abc"},
	} {
		call := commandtest.Argv(args...)
		// The journal's chunks are allocated now and then.
		if n := testing.AllocsPerRun(200, func() { r.Do(call) }); n >= 1 {
			t.Errorf("%v: got %v allocations, want 0", args[0], n)
		}
	}
}

func TestBigStringIsCopiedOnce(t *testing.T) {
	// Lengths at which the string just fills the memory that it asks for: if
	// the line end made it grow again, it would grow by a quarter.
	b := make([]byte, 1<<20)
	for n := 1<<20 - 40; n <= 1<<20; n++ {
		r := commands.NewReply(nil, 2)
		r.Bulk(b[:n])
		if got := cap(r.Encoded()); got > 9<<17 {
			t.Fatalf("bulk of %d: got a buffer of %d, want it to grow once", n, got)
		}
	}
}

func TestStringEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, step := range []struct {
		call   string
		events []string
	}{
		{"GET k", []string{"keymiss k"}},
		{"SET k v", []string{"new k", "set k"}},
		{"SET k v", []string{"set k"}},
		{"SET k v NX", nil},
		{"SET k v EX 10", []string{"set k", "expire k"}},
		{"GETEX k", nil},
		{"GETEX k EX 10", []string{"expire k"}},
		{"GETEX k PERSIST", []string{"persist k"}},
		{"GETEX k PERSIST", nil},
		{"GETEX k PXAT 1", []string{"del k"}},
		{"INCR n", []string{"new n", "incrby n"}},
		{"DECRBY n 3", []string{"incrby n"}},
		{"INCRBYFLOAT n 0.5", []string{"incrbyfloat n"}},
		{"APPEND n 1", []string{"append n"}},
		{"SETRANGE n 1 x", []string{"setrange n"}},
		{"SETRANGE n 1 \"\"", []string{"setrange n"}},
		{"GETSET n 1", []string{"set n"}},
		{"GETDEL n", []string{"del n"}},
		{"GETDEL n", []string{"keymiss n"}},
		{"MSET a 1 b 2", []string{"new a", "set a", "new b", "set b"}},
		{"MSETNX a 1 c 2", nil},
		{"INCREX x EX 10", []string{"new x", "incrby x", "expire x"}},
		{"INCREX x EX 10 ENX", []string{"incrby x"}},
		{"INCREX x UBOUND 1 PERSIST", nil},
		{"INCREX x PERSIST", []string{"incrby x", "persist x"}},
		{"INCREX x PERSIST BYFLOAT 1.5", []string{"incrbyfloat x"}},
		{"INCREX x BYFLOAT 1 EXAT 1", []string{"del x"}},
		{"INCREX x EXAT 1", nil},
	} {
		r.Call(strings.Fields(step.call)...)
		r.WantEvents(step.events...)
	}
}

// What gives way to another value is published by classes of its own.
func TestReplacedValuesArePublished(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventNew | commands.EventOverwritten | commands.EventTypeChanged
	for _, step := range []struct {
		call   string
		events []string
	}{
		{"SET k v", []string{"new k"}},
		{"SET k v", []string{"overwritten k"}},
		{"GETSET k v", []string{"overwritten k"}},
		{"APPEND k v", nil},
		{"INCR n", []string{"new n"}},
		{"INCR n", nil},
		{"MSET n 1 m 2", []string{"overwritten n", "new m"}},
		{"SETNX n 1", nil},
	} {
		r.Call(strings.Fields(step.call)...)
		r.WantEvents(step.events...)
	}
}

func TestStringLengthIsLimited(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Limits.MaxBulk = 10
	r.Want("+OK\r\n", "SET", "k", "12345678")
	r.Want(":10\r\n", "APPEND", "k", "90")
	long := "-" + string(errTooLong) + "\r\n"
	r.Want(long, "APPEND", "k", "1")
	r.Want(long, "SETRANGE", "k", "10", "1")
	r.Want(long, "SETRANGE", "none", "9223372036854775807", "1")
	r.Want(":10\r\n", "SETRANGE", "k", "9223372036854775807", "")
	r.Want("$10\r\n1234567890\r\n", "GET", "k")
	r.Want("$-1\r\n", "GET", "none")
}

func TestAddLongDoubleRoundsAsX87(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"0.1", "0.2", "0.3"},
		{"3.0e3", "0", "3000"},
		{"1", "1.5", "2.5"},
		{"17179869184", "1.5", "17179869185.5"},
		{"17179869184", "17179869184", "34359738368"},
		{"3", "1.000000000000000005", "4.00000000000000001"},
		{"-1.1", "1.1", "0"},
		{"0", "-0", "0"},
		{"10.5", "0.1", "10.6"},
		{"5.0e3", "2.0e2", "5200"},
		{"+5", ".5", "5.5"},
		{"5.", "0x10", "21"},
		{"0x1p-1", "0", "0.5"},
		{"1e-18", "0", "0"},
		{"1e4000", "0", ""}, // too long to write out here, but finite
	} {
		got, err := commands.AddLongDouble([]byte(c.a), []byte(c.b))
		if err != nil || c.want != "" && string(got) != c.want {
			t.Errorf("%s + %s: got %q, %v, want %q", c.a, c.b, got, err, c.want)
		}
	}
}

func TestAddLongDoubleRefusesWhatStrtoldDoes(t *testing.T) {
	for _, s := range []string{
		"", " 1", "1 ", "1a", "nan", "NaN", "-nan", "1e", "e1", ".", "+", "-", "--1", "1_0", "0b1", "0o7", "0x", "0x_1",
		"1p3", "1e5000", "-1e5000", "1e-5000", "1e999999999999", "infinit", "i", strings.Repeat("1", 5120), "1\x00",
	} {
		if _, err := commands.AddLongDouble([]byte(s), []byte("1")); err != commands.ErrNotFloat {
			t.Errorf("%.20q: got %v, want %v", s, err, commands.ErrNotFloat)
		}
	}
	for _, s := range []string{"inf", "-inf", "+Infinity", "INF"} {
		if _, err := commands.AddLongDouble([]byte(s), []byte("1")); err != commands.ErrNaNOrInf {
			t.Errorf("%q: got %v, want %v", s, err, commands.ErrNaNOrInf)
		}
	}
	if _, err := commands.AddLongDouble([]byte("1.1e4932"), []byte("1.1e4932")); err != commands.ErrNaNOrInf {
		t.Errorf("sum beyond the range: got %v, want %v", err, commands.ErrNaNOrInf)
	}
}

func FuzzAddLongDouble(f *testing.F) {
	for _, s := range []string{"0.1", "1e10", "0x1p3", "-inf", "1e-4951", "..", "1e999999999"} {
		f.Add([]byte(s), []byte("1"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		sum, err := commands.AddLongDouble(a, b)
		if err != nil {
			return
		}
		// What is stored must be readable again, and be plain decimal.
		if x, ok := commands.ParseLongDouble(sum); !ok || bytes.ContainsAny(sum, "eEx") && !x.IsInf() {
			t.Errorf("%q + %q: sum %q cannot be read", a, b, sum)
		}
		if _, _, err := big.ParseFloat(string(sum), 10, 64, big.ToNearestEven); err != nil {
			t.Errorf("%q + %q: sum %q: %v", a, b, sum, err)
		}
	})
}

func BenchmarkString(b *testing.B) {
	for _, args := range [][]string{
		{"SET", "key", strings.Repeat("w", 100)}, {"GET", "key"}, {"INCR", "n"}, {"INCRBYFLOAT", "f", "0.1"},
	} {
		b.Run(args[0], func(b *testing.B) {
			r := commandtest.New(b, Group())
			r.Call("SET", "key", strings.Repeat("v", 100))
			call := commandtest.Argv(args...)
			b.ReportAllocs()
			for b.Loop() {
				r.Do(call)
			}
		})
	}
}

// BenchmarkCounter is a counter that expires: one call of INCREX, and the two calls of before.
func BenchmarkCounter(b *testing.B) {
	for name, calls := range map[string][][]string{"INCREX": {{"INCREX", "n", "EX", "60", "ENX"}}, "INCR+EXPIRE": {{"INCR", "n"}, {"EXPIRE", "n", "60", "NX"}}} {
		b.Run(name, func(b *testing.B) {
			r := commandtest.New(b, Group(), keys.Group())
			var argv [][][]byte
			for _, call := range calls {
				argv = append(argv, commandtest.Argv(call...))
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, call := range argv {
					r.Do(call)
				}
			}
		})
	}
}

func TestLongStringsAreComparedOffTheLocks(t *testing.T) {
	r := commandtest.New(t, Group())
	a, b := strings.Repeat("abcde", 400), strings.Repeat("badce", 400)
	r.Call("SET", "a", a)
	r.Call("SET", "b", b)
	common, matches := text.LCS([]byte(a), []byte(b), 0)
	r.Want(fmt.Sprintf("$%d\r\n%s\r\n", len(common), common), "LCS", "a", "b")
	if r.UnderLocks != 0 {
		t.Errorf("%d bytes were written under the locks", r.UnderLocks)
	}
	r.Want(fmt.Sprintf(":%d\r\n", len(common)), "LCS", "a", "b", "LEN")
	if got := r.Do(commandtest.Argv("LCS", "a", "b", "IDX")); !bytes.Contains(got, fmt.Appendf(nil, "*%d\r\n", len(matches))) {
		t.Errorf("LCS IDX has other matches than %d", len(matches))
	}
}
