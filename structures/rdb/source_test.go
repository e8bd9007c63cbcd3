package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vigildb/vigil/structures"
)

// A source reads every form as a payload is read, however few bytes arrive at a time, and
// skips just what it would read.
func TestSourceReadsAndSkipsEveryForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bodies := map[string]string{}
	for body, want := range forms() {
		bodies[body] = want
	}
	for body, want := range streamForms() {
		bodies[body] = want
	}
	for range 20 {
		b := encode(t, randomValue(r))
		v, err := Decode(b, roomy)
		if err != nil {
			t.Fatal(err)
		}
		bodies[string(b[:len(b)-footerLen])] = describe(v)
	}
	for body, want := range bodies {
		if body[0] == typeOwn {
			continue // a string in a file
		}
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(body + "!"), "byte by byte": iotest.OneByteReader(strings.NewReader(body + "!")),
		} {
			s := NewSource(in, -1, roomy)
			s.SetVersion(versionTimed)
			v := s.Value(s.Byte(), nil)
			if err := s.Err(); err != nil || s.Byte() != '!' {
				t.Fatalf("%q %s: %v, then %v", body, name, err, s.Err())
			}
			if got := describe(v); got != want {
				t.Errorf("%q %s: got %s, want %s", body, name, got, want)
			}
		}
		s := NewSource(strings.NewReader(body+"!"), int64(len(body))+1, roomy)
		s.SetVersion(versionTimed)
		s.Skip(s.Byte())
		if s.Byte() != '!' || s.Offset() != int64(len(body))+1 {
			t.Errorf("%q: skipped to %d of %d: %v", body, s.Offset(), len(body), s.Err())
		}
	}
}

// A value is handed over while it grows, and what it then is does not depend on that.
func TestSourceTellsHowAValueGrows(t *testing.T) {
	for _, body := range []string{manyOf(typeList, 1), manyOf(typeSet, 1), manyOf(typeHash, 2), manyScores()} {
		s := NewSource(strings.NewReader(body), -1, roomy)
		calls := 0
		v := s.Value(s.Byte(), func(structures.Value) error { calls++; return nil })
		whole, err := Decode(sealed(body), roomy)
		if s.Err() != nil || err != nil || describe(v) != describe(whole) {
			t.Errorf("type %d: %v, %v, or another value", body[0], s.Err(), err)
		}
		if calls < 10 {
			t.Errorf("type %d: told %d times", body[0], calls)
		}
		stop := errors.New("stop")
		s = NewSource(strings.NewReader(body), -1, roomy)
		if s.Value(s.Byte(), func(structures.Value) error { return stop }); s.Err() != stop {
			t.Errorf("type %d: got %v, want the caller's error", body[0], s.Err())
		}
	}
}

const many = 20_000

func manyOf(t byte, strings int) string {
	b := appendLength([]byte{t}, many)
	for i := range many {
		for range strings {
			b = append(append(b, 6, 'm'), binary.BigEndian.AppendUint32(nil, uint32(i))...)
			b = append(b, 'z')
		}
	}
	return string(b)
}

func manyScores() string {
	b := appendLength([]byte{typeZSetBinary}, many)
	for i := range many {
		b = append(append(b, 5, 'm'), binary.BigEndian.AppendUint32(nil, uint32(i))...)
		b = binary.LittleEndian.AppendUint64(b, uint64(many-i)<<40)
	}
	return string(b)
}

// Strings that reach over many windows arrive whole, and the checksum is that of all.
func TestSourceReadsLongStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{sourceWindow - 6, sourceWindow, 3*sourceWindow + 1, sourceStep + 1, 3*sourceStep + 7} {
		long := make([]byte, n)
		for i := range long {
			long[i] = byte(r.Uint32())
		}
		b := append(appendLength(nil, uint64(n)), long...)
		b = append(appendLength(b, 3), "end"...)
		for _, size := range []int64{-1, int64(len(b))} {
			s := NewSource(bytes.NewReader(b), size, roomy)
			var room []byte
			if got := s.String(&room); !bytes.Equal(got, long) {
				t.Fatalf("%d bytes, of %d: got %d, %v", n, size, len(got), s.Err())
			}
			if end := s.String(&room); string(end) != "end" || s.Checksum() != checksum(b) || s.Offset() != int64(len(b)) {
				t.Errorf("%d bytes: then %q, checksum %x of %x at %d", n, end, s.Checksum(), checksum(b), s.Offset())
			}
		}
	}
}

// What is not there is an error that says so, and asks for no memory.
func TestSourceTakesNoMemoryForClaims(t *testing.T) {
	for _, body := range []string{
		"\x00\x81\x00\x00\x00\x00\x1f\xff\xff\xffabc",
		"\x00\xc3\x80\x1f\xff\xff\xff\x80\x1f\xff\xff\xffabc",
		"\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"\x20\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"\x07\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04\x05\x81\x00\x00\x00\x00\x1f\xff\xff\xffabc",
	} {
		body := body
		if n := testing.AllocsPerRun(1, func() {
			s := NewSource(strings.NewReader(body), int64(len(body)), roomy)
			if s.Value(s.Byte(), nil); !errors.Is(s.Err(), structures.ErrCorrupt) {
				t.Errorf("%q: got %v", body, s.Err())
			}
		}); n > 200 {
			t.Errorf("%q: %v allocations", body, n)
		}
		if used := allocated(func() {
			s := NewSource(strings.NewReader(body), -1, roomy)
			s.Value(s.Byte(), nil)
		}); used > 3*sourceStep {
			t.Errorf("%q: %d bytes", body, used)
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a file has and vigil does not is passed over by its name.
func TestSourcePassesOverForeignValues(t *testing.T) {
	for body, want := range map[string]string{
		"\x1c\x04\x01\x09\x00\x01\x07\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\xf8\x3f\x02\x03\x03abc\x04\x00\x01x": "array",
		"\x1c\x01\x00\x00\x00\x01x": "array",
		"\x07\x81\x82\xb6\xa9\x85\xd6\xad\x68\x0e\x01\x05\x02\x06\x03abcd\x04abcdefgh\x05\x02xy\x00": "module graphdata, encoding 14",
	} {
		s := NewSource(strings.NewReader(body+"!"), -1, roomy)
		v := s.Value(s.Byte(), nil)
		if v.Foreign != want || s.Byte() != '!' {
			t.Errorf("%q: got %q, %v", body, v.Foreign, s.Err())
		}
		if _, err := Decode(sealed(body), roomy); !errors.As(err, new(*UnknownError)) {
			t.Errorf("%q in a payload: got %v, want UnknownError", body, err)
		}
	}
}

// Hashes of a template have its fields, and no other number of values.
func TestTemplatesGiveHashesTheirFields(t *testing.T) {
	names := "\x07\x02\x01a\x01b"
	for body, want := range map[string]string{
		"\x20\x07\x01x\xc0\x05":                                       `map[a:"x"@0 b:"5"@0]`,
		"\x1e" + text1(packListpack("\x07", "\x81x", "\x05")):         `map[a:"x"@0 b:"5"@0]`,
		"\x1e" + text1(packListpack("\x07", "\x81x")):                 "",
		"\x1e" + text1(packListpack("\x07", "\x81x", "\x05", "\x06")): "",
		"\x1e" + text1(packListpack("\x81x", "\x81x", "\x05")):        "",
		"\x1e" + text1(packListpack()):                                "",
		"\x20\x08\x01x\xc0\x05":                                       "",
	} {
		s := NewSource(strings.NewReader(names+body), -1, roomy)
		s.Template()
		v := s.Value(s.Byte(), nil)
		if want == "" {
			if !errors.Is(s.Err(), structures.ErrCorrupt) {
				t.Errorf("%q: got %v, %v", body, describe(v), s.Err())
			}
		} else if got := describe(v); s.Err() != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %s, %v", body, got, s.Err())
		}
	}
}

// Fields that are expired are left out and counted when the source is told the time.
func TestSourceLeavesOutExpiredFields(t *testing.T) {
	body := "\x18\xe8\x03\x00\x00\x00\x00\x00\x00\x03\x01\x01a\x01x\x00\x01b\x01y\x02\x01c\x01z"
	o := roomy
	o.Now = 1000
	s := NewSource(strings.NewReader(body), -1, o)
	v := s.Value(s.Byte(), nil)
	if got := describe(v); !strings.HasSuffix(got, `map[b:"y"@0 c:"z"@1001]`) || v.Expired != 1 {
		t.Errorf("got %s, %d expired, %v", got, v.Expired, s.Err())
	}
}
