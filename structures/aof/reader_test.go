package aof

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vigildb/vigil/structures"
)

var limits = Limits{Arg: 512 << 20, Args: 1 << 20}

// read reads the commands of a file and says what they are.
func read(in io.Reader) (string, *Reader, error) {
	r := NewReader(in, 0, limits)
	var b strings.Builder
	for {
		args, err := r.Next()
		if err != nil {
			return b.String(), r, err
		}
		fmt.Fprintf(&b, "%d@%d %q; ", r.Time, r.Offset(), args)
	}
}

func TestCommandsAreRead(t *testing.T) {
	long := strings.Repeat("x", step+17)
	for file, want := range map[string]string{
		"":                            "",
		"*1\r\n$4\r\nPING\r\n":        `0@0 ["PING"]; `,
		"*2\r\n$0\r\n\r\n$1\r\n*\r\n": `0@0 ["" "*"]; `,
		"#TS:1700000000\r\n*1\r\n$1\r\na\r\n# note\n*1\r\n$1\r\nb\r\n": `1700000000@16 ["a"]; 1700000000@34 ["b"]; `,
		"*1\r\n$4194321\r\n" + long + "\r\n":                           `0@0 ["` + long + `"]; `,
	} {
		for _, in := range []io.Reader{strings.NewReader(file), iotest.HalfReader(strings.NewReader(file))} {
			if got, _, err := read(in); err != io.EOF || got != want {
				t.Errorf("%.60q: got %.60s, %v, want %.60s", file, got, err, want)
			}
		}
	}
}

// A command that the end cuts short is told from damage, and from the end between two.
func TestTornCommandsAreToldFromDamage(t *testing.T) {
	first, second := "*1\r\n$4\r\nPING\r\n", "#TS:17\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	for cut := 1; cut < len(second); cut++ {
		got, r, err := read(strings.NewReader(first + second[:cut]))
		if cut == len("#TS:17\r\n") {
			if err != io.EOF {
				t.Errorf("%q: got %v", second[:cut], err)
			}
			continue
		}
		if !errors.Is(err, ErrTorn) || got != `0@0 ["PING"]; ` || r.Offset() != int64(len(first)) && r.Offset() != int64(len(first)+8) {
			t.Errorf("%q: got %s, %v at %d", second[:cut], got, err, r.Offset())
		}
	}
	for _, damage := range []string{"PING\r\n", "*0\r\n", "*-1\r\n", "*x\r\n", "*1\r\n+OK\r\n", "*1\r\n$-1\r\n", "*1\r\n$1\r\nabc", "*1\r\n$1\r\nab\r\n",
		"*1048577\r\n", "*1\r\n$536870913\r\n", "#TS:x\r\n", "*" + strings.Repeat("1", 100), "REDIS0011"} {
		_, _, err := read(strings.NewReader(first + damage))
		if e := new(Error); !errors.As(err, &e) || e.Offset != int64(len(first)) || !errors.Is(err, structures.ErrCorrupt) || errors.Is(err, ErrTorn) {
			t.Errorf("%q: got %v", damage, err)
		}
	}
}

func TestManifestsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"file a.rdb seq 2 type b\nfile b.aof seq 2 type i\n":                          "a.rdb b.aof",
		"# note\n\nseq 1 type i file \"a b\\x41\" extra yes\r\nfile 'c' seq 9 type i": "a bA c",
		"file old.aof seq 1 type h\nfile a.aof seq 1 type i\n":                        "a.aof",
		"file a.rdb seq 2 type b\n":                                                   "a.rdb",
	} {
		m, err := ReadManifest(strings.NewReader(text))
		if err != nil || strings.Join(m.Files(), " ") != want {
			t.Errorf("%q: got %v, %v, want %s", text, m, err, want)
		}
	}
	for _, text := range []string{"", "file a seq 1 type b\nfile b seq 2 type b\n", "file a seq 2 type i\nfile b seq 2 type i\n", "file a seq 2\n", "file a type b\n",
		"file a/b seq 1 type b\n", "file .. seq 1 type b\n", "file a seq 0 type b\n", "file a seq 1 type x\n", "file a seq 1 type\n", "file \"a seq 1 type b\n",
		"file old.aof seq 1 type h\n", "file " + strings.Repeat("a", 2000) + " seq 1 type b\n"} {
		if m, err := ReadManifest(strings.NewReader(text)); !errors.Is(err, ErrManifest) {
			t.Errorf("%.60q: got %v, %v", text, m, err)
		}
	}
}

// FuzzReader reads anything. What is accepted is written as it was, but for annotations,
// and memory is in proportion to what arrives.
func FuzzReader(f *testing.F) {
	f.Add([]byte("#TS:17\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"))
	f.Add([]byte("*1\r\n$536870912\r\nabc"))
	f.Add([]byte("*1048576\r\n$1\r\na\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(strings.NewReader(string(b)))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(3*step+1<<20+400*len(b)) {
			t.Errorf("%d bytes for %d", used, len(b))
		}
		if err == nil {
			t.Error("no end")
		}
	})
}

// FuzzManifest reads anything as a manifest: names that it returns lead nowhere else.
func FuzzManifest(f *testing.F) {
	f.Add("file a.rdb seq 2 type b\nfile b.aof seq 2 type i\n")
	f.Add("file \"a\\\"b\" seq 1 type i")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadManifest(strings.NewReader(text))
		if err != nil {
			return
		}
		if slices.ContainsFunc(m.Files(), func(name string) bool { return name == "" || strings.ContainsAny(name, "/\x00") }) {
			t.Errorf("got %q", m.Files())
		}
	})
}

// In a stream, line feeds may stand between commands and annotations may not, and a command has a length.
func TestStreamsHaveLineFeedsAndLimits(t *testing.T) {
	ping := "*1\r\n$4\r\nPING\r\n"
	stream := limits
	stream.Stream = true
	r := NewReader(strings.NewReader("\n\n"+ping+"\n"+ping), 100, stream)
	for _, want := range [][2]int64{{102, 116}, {117, 131}} {
		if _, err := r.Next(); err != nil || r.Offset() != want[0] || r.End() != want[1] {
			t.Errorf("a command from %d to %d, %v, want %d to %d", r.Offset(), r.End(), err, want[0], want[1])
		}
	}
	if _, err := NewReader(strings.NewReader("#TS:1\r\n"+ping), 0, stream).Next(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("an annotation in a stream: got %v", err)
	}
	if _, err := NewReader(strings.NewReader("\n"+ping), 0, limits).Next(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("a line feed in a file: got %v", err)
	}
	stream.Total = 4 + argumentBytes
	if _, err := NewReader(strings.NewReader(ping), 0, stream).Next(); err != nil {
		t.Errorf("a command of the greatest length: %v", err)
	}
	stream.Total--
	if _, err := NewReader(strings.NewReader(ping), 0, stream).Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("a command that is too long: got %v", err)
	}
}
