package rdb

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// FuzzDecode decodes bodies in a good frame of any version. What is accepted must be dumped and
// come back the same, and take memory in proportion to the payload.
func FuzzDecode(f *testing.F) {
	for body := range forms() {
		f.Add([]byte(body), uint16(versionTimed))
	}
	for body := range streamForms() {
		f.Add([]byte(body), uint16(13))
	}
	f.Add([]byte("\x16\x02\x01f\x01v\xe8\x03\x00\x00\x00\x00\x00\x00\x01g\xc0\x0c\xff\xff\xff\xff\xff\xff\xff\xff"), uint16(versionValkey))
	f.Add([]byte("\x07\x81\xbd\xe7\x2d\xa2\xbb\x1e\xb4\x04\x00"), uint16(0xffff))
	for body := range jsonForms() {
		f.Add([]byte(body), uint16(versionPlain))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		if b := encode(f, randomValue(r)); len(b) < 4096 {
			f.Add(b[:len(b)-footerLen], uint16(versionValkey+1))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, version uint16) {
		v, err := Decode(seal(bytes.Clone(body), 0, version), Options{MaxString: 1 << 20, MaxBloom: 1 << 20, HashKeys: new(structures.HashKeys)})
		if err != nil {
			return
		}
		var again []byte
		switch {
		case v.Value != nil:
			// A list element takes a byte in LZF times 88, and a hash 16 more in
			// its index; a page of a Bloom filter is made for one bit.
			if size, limit := v.Value.Size(), 32<<10+lzfFactor*40*len(body); size > limit {
				t.Fatalf("%d bytes for a payload of %d", size, len(body))
			}
			again = encode(t, v.Value)
		case v.Kind == structures.KindString:
			again = AppendString(nil, v.Bytes)
		default:
			again = AppendOwn(nil, v.Kind, v.Bytes)
		}
		w, err := Decode(again, roomy)
		if err != nil && v.Kind == structures.KindJSON && strings.Contains(err.Error(), "recursion limit") {
			return // CBOR may nest once more than text
		}
		if err != nil {
			t.Fatalf("%q, dumped as %q: %v", body, again, err)
		}
		if got, want := describe(w), describe(v); got != want {
			t.Fatalf("%q came back as %s, was %s", body, got, want)
		}
	})
}

// FuzzLZF shrinks and expands, in one piece and drained, and expands anything.
func FuzzLZF(f *testing.F) {
	f.Add([]byte("abc\x00\x00\x00\x00d"), uint16(9))
	f.Add(append(make([]byte, 600), 1), uint16(601))
	f.Add([]byte("\x00a\xe0\x0c\x00"), uint16(22))
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		packed := shrinkZeros(nil, b)
		if got, err := expandLZF([]byte("kept"), packed, uint64(len(b))); err != nil || string(got) != "kept"+string(b) {
			t.Fatalf("%q shrunk to %q and expanded: got %q, %v", b, packed, got, err)
		}
		var s shrinker
		for _, text := range [][]byte{b, append(b, b...), b} { // the second and third after others
			packed, ok := s.shrink(text)
			if !ok {
				continue
			}
			if got, err := expandLZF([]byte("kept"), packed, uint64(len(text))); err != nil || string(got) != "kept"+string(text) || len(packed) >= len(text) {
				t.Fatalf("%q shrunk to %q and expanded: got %q, %v", text, packed, got, err)
			}
		}
		want, wantErr := expandLZF(nil, b, uint64(size))
		var got []byte
		rest, err := inflate(nil, b, int(size), func(dst []byte) ([]byte, error) {
			cut := max(len(dst)-lzfWindow, 0)
			got = append(got, dst[:cut]...)
			return dst[cut:], nil
		})
		if checkLZF(b, uint64(size)) != nil {
			return
		}
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(append(got, rest...), want) {
			t.Fatalf("%q drained: got %v, %v, want %v", b, append(got, rest...), err, wantErr)
		}
	})
}

// FuzzEachLibrary reads bodies in a good frame. What is accepted must be dumped and come
// back the same, and no source is longer than allowed.
func FuzzEachLibrary(f *testing.F) {
	f.Add([]byte("\xf5\x01a\xf5\xc0\x05\xf5\xc3\x04\x0a\x00a\xe0\x00"))
	f.Add([]byte("\xf6\x01a\x03LUA\x00\x01x"))
	f.Add([]byte("\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, body []byte) {
		const longest = 1 << 10
		read := func(payload []byte) (sources []string, err error) {
			err = EachLibrary(payload, longest, func(source string) error {
				if len(source) > longest {
					t.Errorf("a source of %d bytes", len(source))
				}
				sources = append(sources, source)
				return nil
			})
			return sources, err
		}
		sources, err := read(seal(bytes.Clone(body), 0, versionPlain))
		if err != nil {
			return
		}
		if again, err := read(AppendLibraries(nil, sources)); err != nil || !slices.Equal(again, sources) {
			t.Fatalf("%q came back as %q, %v", sources, again, err)
		}
	})
}
