package commands

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func TestStringHotPathsAllocateNothing(t *testing.T) {
	r := newRig(t, StringGroup())
	r.call("SET", "key", strings.Repeat("v", 100))
	r.call("SET", "n", "123456789")
	for _, args := range [][]string{
		{"SET", "key", strings.Repeat("w", 100)}, {"GET", "key"}, {"INCR", "n"}, {"MGET", "key", "n"},
		{"SET", "key", strings.Repeat("w", 100), "EX", "100"}, {"STRLEN", "key"}, {"SETRANGE", "key", "3", "abc"},
	} {
		call := argv(args...)
		// The journal's chunks are allocated now and then.
		if n := testing.AllocsPerRun(200, func() { r.do(call) }); n >= 1 {
			t.Errorf("%v: got %v allocations, want 0", args[0], n)
		}
	}
}

func TestBigStringIsCopiedOnce(t *testing.T) {
	// Lengths at which the string just fills the memory that it asks for: if
	// the line end made it grow again, it would grow by a quarter.
	b := make([]byte, 1<<20)
	for n := 1<<20 - 40; n <= 1<<20; n++ {
		r := NewReply(nil, 2)
		r.Bulk(b[:n])
		if got := cap(r.Encoded()); got > 9<<17 {
			t.Fatalf("bulk of %d: got a buffer of %d, want it to grow once", n, got)
		}
	}
}

func TestStringEventsAreThoseOfRedis(t *testing.T) {
	r := newRig(t, StringGroup())
	r.classes = EventAll | EventNew | EventMissed
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
	} {
		r.call(strings.Fields(step.call)...)
		r.wantEvents(step.events...)
	}
}

func TestStringLengthIsLimited(t *testing.T) {
	r := newRig(t, StringGroup())
	r.limits.MaxBulk = 10
	r.want("+OK\r\n", "SET", "k", "12345678")
	r.want(":10\r\n", "APPEND", "k", "90")
	long := "-" + string(ErrStringTooLong) + "\r\n"
	r.want(long, "APPEND", "k", "1")
	r.want(long, "SETRANGE", "k", "10", "1")
	r.want(long, "SETRANGE", "none", "9223372036854775807", "1")
	r.want(":10\r\n", "SETRANGE", "k", "9223372036854775807", "")
	r.want("$10\r\n1234567890\r\n", "GET", "k")
	r.want("$-1\r\n", "GET", "none")
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
		got, err := AddLongDouble([]byte(c.a), []byte(c.b))
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
		if _, err := AddLongDouble([]byte(s), []byte("1")); err != ErrNotFloat {
			t.Errorf("%.20q: got %v, want %v", s, err, ErrNotFloat)
		}
	}
	for _, s := range []string{"inf", "-inf", "+Infinity", "INF"} {
		if _, err := AddLongDouble([]byte(s), []byte("1")); err != ErrNaNOrInf {
			t.Errorf("%q: got %v, want %v", s, err, ErrNaNOrInf)
		}
	}
	if _, err := AddLongDouble([]byte("1.1e4932"), []byte("1.1e4932")); err != ErrNaNOrInf {
		t.Errorf("sum beyond the range: got %v, want %v", err, ErrNaNOrInf)
	}
}

func FuzzAddLongDouble(f *testing.F) {
	for _, s := range []string{"0.1", "1e10", "0x1p3", "-inf", "1e-4951", "..", "1e999999999"} {
		f.Add([]byte(s), []byte("1"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		sum, err := AddLongDouble(a, b)
		if err != nil {
			return
		}
		// What is stored must be readable again, and be plain decimal.
		if x, ok := ParseLongDouble(sum); !ok || bytes.ContainsAny(sum, "eEx") && !x.IsInf() {
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
			r := newRig(b, StringGroup())
			r.call("SET", "key", strings.Repeat("v", 100))
			call := argv(args...)
			b.ReportAllocs()
			for b.Loop() {
				r.do(call)
			}
		})
	}
}

func TestLongStringsAreComparedOffTheLocks(t *testing.T) {
	r := newRig(t, StringGroup())
	a, b := strings.Repeat("abcde", 400), strings.Repeat("badce", 400)
	r.call("SET", "a", a)
	r.call("SET", "b", b)
	common, matches := structures.LCS([]byte(a), []byte(b), 0)
	r.want(fmt.Sprintf("$%d\r\n%s\r\n", len(common), common), "LCS", "a", "b")
	if r.underLocks != 0 {
		t.Errorf("%d bytes were written under the locks", r.underLocks)
	}
	r.want(fmt.Sprintf(":%d\r\n", len(common)), "LCS", "a", "b", "LEN")
	if got := r.do(argv("LCS", "a", "b", "IDX")); !bytes.Contains(got, fmt.Appendf(nil, "*%d\r\n", len(matches))) {
		t.Errorf("LCS IDX has other matches than %d", len(matches))
	}
}
