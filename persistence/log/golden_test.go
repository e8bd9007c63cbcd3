package log

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// goldenLog is a log of two segments, as bytes in testdata: the zeroes of heads are left out there.
func goldenLog(t *testing.T, cfg Config) {
	cfg.Head = func(dst []byte, kind byte, payload [][]byte) []byte { return append(dst, kind, 0xfe) }
	l := mustOpen(t, cfg)
	put(t, l, []byte("one"))
	put(t, l, nil)
	put(t, l, []byte("two"))
	if _, err := l.Append(200, make([]byte, pieceBytes), []byte("long")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTheFormatIsFrozen holds the bytes of a log against those in testdata. What is there never changes.
func TestTheFormatIsFrozen(t *testing.T) {
	disk := vfs.NewMem()
	goldenLog(t, small(disk))
	var s strings.Builder
	for _, n := range []uint64{1, 2} {
		b := disktest.ReadFile(t, disk, "log/"+segmentName(n))
		s.WriteString(segmentName(n) + "\n")
		for i := 0; i < len(b); {
			k := i
			for k < len(b) && b[k] == 0 {
				k++
			}
			if k-i > 32 {
				s.WriteString("zeroes " + hex.EncodeToString([]byte{byte(k - i), byte((k - i) >> 8), byte((k - i) >> 16)}) + "\n")
				i = k
				continue
			}
			k = min(i+32, len(b))
			s.WriteString(hex.EncodeToString(b[i:k]) + "\n")
			i = k
		}
	}
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil || s.String() != string(want) {
		t.Errorf("%v; the log is\n%s", err, s.String())
	}
}

// TestTheFrozenLogIsRead opens the log in testdata, as every later version must.
func TestTheFrozenLogIsRead(t *testing.T) {
	golden, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewMem()
	disk.MkdirAll("log", 0o700)
	files, name := map[string][]byte{}, ""
	for line := range strings.Lines(string(golden)) {
		line = strings.TrimSpace(line)
		if len(line) == nameDigits {
			name = line
			continue
		}
		zeroes, isZeroes := strings.CutPrefix(line, "zeroes ")
		b, err := hex.DecodeString(zeroes)
		if err != nil {
			t.Fatal(err)
		}
		if isZeroes {
			b = make([]byte, int(b[0])|int(b[1])<<8|int(b[2])<<16)
		}
		files[name] = append(files[name], b...)
	}
	for name, b := range files {
		disktest.WriteFile(t, disk, "log/"+name, b)
	}
	l := mustOpen(t, small(disk))
	got, err := contents(l, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, []byte("one"), nil, []byte("two"), append(make([]byte, pieceBytes), "long"...))
	var heads []string
	for _, s := range l.Segments() {
		heads = append(heads, hex.EncodeToString(s.Head))
	}
	if want := []string{"01fe", "c8fe"}; !slices.Equal(heads, want) {
		t.Errorf("heads %q, want %q", heads, want)
	}
}
