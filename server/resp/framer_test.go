package resp

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// feed gives input to a fresh Framer in pieces and returns the commands, the
// error text if any, and the bytes left over.
func feed(input []byte, piece func() int) (commands []string, failure string, left int) {
	var f Framer
	var buf []byte
	for in := bytes.Clone(input); len(in) > 0; {
		k := min(max(piece(), 1), len(in))
		buf, in = append(buf, in[:k]...), in[k:]
		for {
			argv, n, err := f.Next(buf, nil)
			buf = buf[n:]
			if err != nil {
				return commands, err.Error(), 0
			}
			if argv == nil {
				break
			}
			commands = append(commands, fmt.Sprintf("%q", argv))
		}
	}
	return commands, "", len(buf)
}

func whole(n int) func() int { return func() int { return n } }

func TestPipelineGivesEachCommandInOrder(t *testing.T) {
	input := bytes.Join([][]byte{
		request("SET", "k", "v"), []byte("\r\n"), request(""), []byte("get k\n"),
		request("ECHO", "a\r\nb"), []byte("*0\r\n"), request("A", "", "\x00"),
	}, nil)
	want := []string{`["SET" "k" "v"]`, `[""]`, `["get" "k"]`, `["ECHO" "a\r\nb"]`, `["A" "" "\x00"]`}
	for _, size := range []int{len(input), 1, 2, 3, 5, 11} {
		got, failure, left := feed(input, whole(size))
		if fmt.Sprint(got) != fmt.Sprint(want) || failure != "" || left != 0 {
			t.Errorf("pieces of %d: got %v, %q, %d left, want %v", size, got, failure, left, want)
		}
	}
}

func TestIgnoredRequestsAreConsumedBeforeAnIncompleteOne(t *testing.T) {
	var f Framer
	argv, n, err := f.Next([]byte("*0\r\n\r\n*-1\r\n*2\r\n$4\r\nEC"), nil)
	if argv != nil || n != 11 || err != nil {
		t.Fatalf("got %q, %d, %v, want nil, 11, nil", argv, n, err)
	}
	argv, n, err = f.Next([]byte("*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"), nil)
	if fmt.Sprintf("%q", argv) != `["ECHO" "x"]` || n != 21 || err != nil {
		t.Fatalf("got %q, %d, %v", argv, n, err)
	}
}

func TestErrorIsFinal(t *testing.T) {
	var f Framer
	if _, _, err := f.Next([]byte("*x\r\n"), nil); err == nil {
		t.Fatal("no error")
	}
	argv, n, err := f.Next(request("PING"), nil)
	if argv != nil || n != 0 || err == nil || err.Error() != "Protocol error: invalid multibulk length" {
		t.Errorf("after an error: got %q, %d, %v", argv, n, err)
	}
}

func TestArgumentsAliasBufferAndReuseSlice(t *testing.T) {
	var f Framer
	buf := append(request("SET", "k", "v"), "GET 'k'\r\n"...)
	args := make([][]byte, 0, 8)
	for len(buf) > 0 {
		argv, n, err := f.Next(buf, args)
		if err != nil || &argv[:1][0] != &args[:1][0] {
			t.Fatalf("slice not reused: %q, %v", argv, err)
		}
		at := bytes.Index(buf, []byte("k"))
		buf[at] = 'z'
		if string(argv[1]) != "z" {
			t.Errorf("argument %q is a copy", argv[1])
		}
		buf = buf[n:]
	}
}

func TestLineOverLimitFailsHoweverItArrives(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"*" + strings.Repeat("1", MaxLine) + "\r\n", "Protocol error: too big mbulk count string"},
		{"*" + strings.Repeat("1", MaxLine-1) + "\r\n", "Protocol error: invalid multibulk length"},
		{"*1\r\n$" + strings.Repeat("1", MaxLine) + "\r\n", "Protocol error: too big bulk count string"},
		{strings.Repeat("x", MaxLine+1) + "\n", "Protocol error: too big inline request"},
		{strings.Repeat("x", MaxLine) + "\n", ""},
	} {
		for _, size := range []int{len(c.input), 1, 4096} {
			if _, got, _ := feed([]byte(c.input), whole(size)); got != c.want {
				t.Errorf("%.10q... of %d bytes in pieces of %d: got %q, want %q", c.input, len(c.input), size, got, c.want)
			}
		}
	}
}

func TestBulkLimitFollowsSetting(t *testing.T) {
	for _, c := range []struct {
		limit int64
		size  int
		ok    bool
	}{
		{0, DefaultMaxBulk, true}, {0, DefaultMaxBulk + 1, false}, {-1, DefaultMaxBulk, true},
		{100, 100, true}, {100, 101, false}, {1<<63 - 1, 1 << 30, true},
	} {
		var f Framer
		f.SetMaxBulk(c.limit)
		if _, _, err := f.Next(fmt.Appendf(nil, "*1\r\n$%d\r\n", c.size), nil); (err == nil) != c.ok {
			t.Errorf("limit %d, size %d: %v", c.limit, c.size, err)
		}
		if c.size > 1000 {
			continue
		}
		var whole Framer
		whole.SetMaxBulk(c.limit)
		if _, _, err := whole.Next(request(strings.Repeat("x", c.size)), nil); (err == nil) != c.ok {
			t.Errorf("limit %d, a whole command of size %d: %v", c.limit, c.size, err)
		}
	}
}

// TestTricklingIsLinear counts the bytes that a command arriving byte by byte
// makes the framer look at: the state advances with every byte and is never
// set back. A quadratic scan of these inputs would take minutes.
func TestTricklingIsLinear(t *testing.T) {
	args := make([]string, 20_000)
	for i := range args {
		args[i] = "abcdefgh"
	}
	inputs := [][]byte{
		request(args...),
		request("SET", "k", strings.Repeat("x", 1<<20)),
		[]byte("ECHO " + strings.Repeat("x", 60_000) + "\r\n"),
	}
	for _, input := range inputs {
		var f Framer
		for i := 1; i < len(input); i++ {
			before := f.pos + f.seen
			argv, n, err := f.Next(input[:i], nil)
			if argv != nil || n != 0 || err != nil {
				t.Fatalf("%.20q after %d bytes: %q, %d, %v", input, i, argv, n, err)
			}
			if f.pos+f.seen < before {
				t.Fatalf("%.20q after %d bytes: went back from %d to %d", input, i, before, f.pos+f.seen)
			}
		}
		if argv, n, err := f.Next(input, nil); argv == nil || n != len(input) || err != nil {
			t.Fatalf("%.20q: not complete: %d, %v", input, n, err)
		}
	}
}

func TestNeedNeverExceedsWhatIsMissing(t *testing.T) {
	input := request("SET", "key", strings.Repeat("x", 300), "EX", "10")
	var f Framer
	for i := 1; i < len(input); i++ {
		if _, _, err := f.Next(input[:i], nil); err != nil {
			t.Fatal(err)
		}
		if need := f.Need(); need < 1 || need > len(input)-i {
			t.Fatalf("after %d of %d bytes: need %d", i, len(input), need)
		}
	}
}

func TestAnnouncedSizeIsNotAllocatedBeforeItArrives(t *testing.T) {
	var f Framer
	buf := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\nx")
	if _, _, err := f.Next(buf, nil); err != nil {
		t.Fatal(err)
	}
	if need, want := f.Need(), 512<<20+2-1; need != want {
		t.Errorf("need: got %d, want %d", need, want)
	}
	if got := f.Room(len(buf)); got != 16<<10 {
		t.Errorf("room behind %d bytes: got %d, want 16 KiB", len(buf), got)
	}
	if got := f.Room(1<<20 - 1); got != 1<<20-1 {
		t.Errorf("room behind almost 1 MiB: got %d, want no more than has arrived", got)
	}
	if got := f.Room(1 << 20); got != 7<<20 {
		t.Errorf("room behind 1 MiB: got %d, want seven times as much", got)
	}
	f = Framer{}
	if _, _, err := f.Next([]byte("*2147483647\r\n$9"), nil); err != nil || f.Need() < 1 {
		t.Errorf("need for 2^31-1 arguments: %d, %v", f.Need(), err)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	var f Framer
	input := bytes.Repeat(append(request("SET", "key", "value"), "SET key 'value'\r\n"...), 10)
	buf := bytes.Clone(input)
	args := make([][]byte, 0, 8)
	allocs := testing.AllocsPerRun(100, func() {
		copy(buf, input)
		for rest := buf; len(rest) > 0; {
			_, n, err := f.Next(rest, args)
			if n == 0 || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for 20 commands", allocs)
	}
}

// TestRandomCommandsSurviveAnySplitting encodes random commands and reads
// them back in random pieces.
func TestRandomCommandsSurviveAnySplitting(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewSource(seed))
	var input []byte
	var want []string
	for range 500 {
		args := make([]string, 1+r.Intn(6))
		for i := range args {
			b := make([]byte, r.Intn(40))
			r.Read(b)
			args[i] = string(b)
		}
		input = append(input, request(args...)...)
		want = append(want, fmt.Sprintf("%q", args))
	}
	for range 50 {
		got, failure, left := feed(input, func() int { return 1 + r.Intn(200) })
		if failure != "" || left != 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %d commands of %d, error %q, %d bytes left", seed, len(got), len(want), failure, left)
		}
	}
}

// FuzzFramer checks that any bytes in any splitting give the same commands
// and the same error as all at once, and that redcon never disagrees.
func FuzzFramer(f *testing.F) {
	f.Add([]byte("*1\r\n$9223372036854775807\r\n"), int64(1))
	f.Add([]byte("*9000000000000000000\r\n"), int64(2))
	f.Add(append(request("SET", "k", "v"), "\r\n*0\r\nECHO \"\\x41\" 'b'\r\n*1\r\nx\r\n"...), int64(3))
	f.Add([]byte("*2\rX$4\rXECHO\r\n$3\r\rabc\n\n"), int64(4))
	f.Add([]byte("ECHO \"a\\\r\n"), int64(5))
	f.Fuzz(func(t *testing.T, input []byte, seed int64) {
		want, failure, left := feed(input, whole(len(input)))
		if failure == "Protocol error: invalid request" {
			t.Fatalf("%q: redcon refused a proven frame", input)
		}
		r := rand.New(rand.NewSource(seed))
		got, failure2, left2 := feed(input, func() int { return 1 + r.Intn(8) })
		if fmt.Sprint(got) != fmt.Sprint(want) || failure != failure2 || left != left2 {
			t.Fatalf("%q: whole %q, %q, %d left; in pieces %q, %q, %d left",
				input, want, failure, left, got, failure2, left2)
		}
	})
}

// A framer that looks ahead and forgets what it saw finds the same commands as one
// that does not.
func FuzzNextArray(f *testing.F) {
	f.Add(append(request("SET", "k", "v"), "\r\n*0\r\nECHO \"\\x41\" 'b'\r\n*1\r\nx\r\n"...), uint(1))
	f.Add(append(request("GET", "k"), request("DEL", "a", "b")...), uint(2))
	f.Add([]byte("*0\r\nECHO \"a\"\r\n*1\r\n$4\r\nPINGXX*2\r\n"), uint(3))
	f.Fuzz(func(t *testing.T, input []byte, ahead uint) {
		want, failure, left := feed(bytes.Clone(input), whole(len(input)))
		var got []string
		var fr Framer
		buf := bytes.Clone(input)
		for {
			at, found := 0, 0
			for uint(found) < ahead%4 {
				_, n := fr.NextArray(buf[at:], nil)
				if n == 0 {
					break
				}
				at += n
				found++
			}
			fr.Forget()
			argv, n, err := fr.Next(buf, nil)
			if err != nil {
				if err.Error() != failure {
					t.Fatalf("%q: got %q, want %q", input, err, failure)
				}
				break
			}
			buf = buf[n:]
			if argv == nil {
				if failure != "" || len(buf) != left {
					t.Fatalf("%q: %d bytes are left, want %d and %q", input, len(buf), left, failure)
				}
				break
			}
			got = append(got, fmt.Sprintf("%q", argv))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: got %q, want %q", input, got, want)
		}
	})
}
