package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/topk"
	"github.com/vigildb/vigil/structures/zset"
)

var roomy = Options{MaxString: 512 << 20, MaxBloom: 1 << 30, HashKeys: new(structures.HashKeys)}

// encode is the payload of a value; a []byte is a string.
func encode(t testing.TB, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case []byte:
		return AppendString(nil, v)
	case structures.Value:
		b, err := Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatalf("%T has no payload", v)
	return nil
}

// describe is all that can be seen of a decoded value. How long a page of a filter is, and whether the head has it,
// depends on the changes that made the filter, and is left out.
func describe(v Decoded) string {
	var b []byte
	switch v := v.Value.(type) {
	case *list.List:
		v.Range(0, -1, func(elem []byte) { b = fmt.Appendf(b, "%q ", elem) })
	case *hash.Hash:
		fields := map[string]string{} // fmt prints maps in order
		v.Each(0, func(f, value []byte, expiry int64) { fields[string(f)] = fmt.Sprintf("%q@%d", value, expiry) })
		b = fmt.Append(b, fields)
	case *set.Set:
		members := map[string]bool{}
		v.Each(func(member []byte) bool { members[string(member)] = true; return true })
		b = fmt.Append(b, members)
	case *zset.Set:
		v.Range(0, v.Len(), func(member []byte, score float64) bool {
			b = fmt.Appendf(b, "%q@%v ", member, score)
			return true
		})
	case *stream.Stream:
		b = append(b, describeStream(v)...)
	case *json.Document:
		b = json.AppendText(nil, v.Root())
	case *bloom.Filter:
		for at, piece := v.DumpChunk(nil, 0); at != 0; at, piece = v.DumpChunk(nil, at) {
			b = fmt.Appendf(b, "%x ", piece)
		}
	case *topk.List:
		b, _ = v.Array(0).Append(fmt.Append(b, v.Shape()), 0, v.Array(0).Size())
		v.Places(func(p topk.Place) { b = fmt.Append(b, p) })
	case *tdigest.Digest:
		v.Dump(func(p tdigest.Payload, mean, weight func(i int) float64) {
			b = fmt.Append(b, p)
			for i := range int(p.Merged) {
				b = fmt.Append(b, mean(i), weight(i))
			}
		})
	case *countmin.Sketch:
		width, depth := v.Shape()
		b, _ = v.Array(0).Append(fmt.Append(b, width, depth, v.Count()), 0, v.Array(0).Size())
	case *cuckoo.Filter:
		b = fmt.Append(b, v.Info())
		for k := range v.Arrays() {
			b, _ = v.Array(k).Append(b, 0, v.Array(k).Size())
		}
	}
	return fmt.Sprintf("%d %x %s", v.Kind, v.Bytes, b)
}

func sealed(body string) []byte { return seal([]byte(body), 0, versionPlain) }

func randomText(r *rand.Rand) []byte {
	switch r.IntN(6) {
	case 0:
		return strconv.AppendInt(nil, int64(r.Uint64())>>r.IntN(64), 10)
	case 1:
		return []byte([]string{"", "0", "-0", "007", "+1", "-129", "2147483648", "-2147483648", "1e3", "- 1"}[r.IntN(10)])
	case 2:
		return bytes.Repeat([]byte{byte(r.Uint32())}, []int{63, 64, 16383, 16384, 20000}[r.IntN(5)])
	}
	b := make([]byte, r.IntN(30))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func randomScore(r *rand.Rand) float64 {
	return []float64{0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), r.NormFloat64(), float64(r.IntN(1000))}[r.IntN(8)]
}

// randomValue makes a string, a list, a hash, a set, a sorted set, a stream or a Bloom filter.
func randomValue(r *rand.Rand) any {
	switch r.IntN(12) {
	case 0:
		return randomText(r)
	case 11:
		d := tdigest.New()
		if d.Init(nil, float64(1+r.IntN(200)), math.MaxUint64) != nil {
			panic("a compression that cannot be")
		}
		for range r.IntN(500) {
			if d.Add(nil, []float64{r.NormFloat64(), float64(r.IntN(3))}) != nil {
				panic("values that cannot be added")
			}
		}
		return d
	case 10:
		l := topk.New()
		if l.Init(nil, topk.Shape{K: 1 + r.Uint64N(20), Width: 1 + r.Uint64N(300), Depth: 1 + r.Uint64N(8), Decay: 0.9}, math.MaxUint64) != nil {
			panic("a shape that cannot be")
		}
		for range r.IntN(500) {
			item := append(randomText(r), 'x')
			l.Add(nil, r.Uint64(), []topk.Pair{{Item: item, N: 1 + uint32(r.IntN(9))}}, func([]byte, bool) {})
		}
		return l
	case 9:
		s := countmin.New()
		if s.Init(nil, 1+r.Uint64N(3000), 1+r.Uint64N(8), math.MaxUint64) != nil {
			panic("a shape that cannot be")
		}
		for range r.IntN(500) {
			s.Add(nil, randomText(r), r.Uint64N(1<<20))
		}
		return s
	case 8:
		f := cuckoo.New()
		shape := cuckoo.Shape{Capacity: 512 + uint64(r.IntN(20000)), BucketSize: 1 + uint64(r.IntN(255)), Iterations: 20, Expansion: uint64(r.IntN(3))}
		if f.Reserve(nil, shape, math.MaxUint64) != nil {
			panic("a shape that cannot be")
		}
		for range r.IntN(500) {
			f.Insert(nil, [][]byte{randomText(r)}, cuckoo.Every, math.MaxUint64, func(cuckoo.Result) {})
		}
		return f
	case 3:
		s := set.New(new(structures.HashKeys))
		for range 1 + r.IntN(200) {
			s.Add(nil, randomText(r))
		}
		return s
	case 1:
		l := list.New()
		for range 1 + r.IntN(200) {
			l.Push(nil, list.Tail, randomText(r))
		}
		return l
	case 2:
		f := bloom.New()
		shape := bloom.Shape{Error: 0.01, Capacity: 1 + uint64(r.IntN(5000)), Expansion: uint32(r.IntN(3))}
		if f.Reserve(nil, shape, math.MaxUint64) != nil {
			panic("a shape that cannot be")
		}
		for range r.IntN(500) {
			f.Add(nil, randomText(r), math.MaxUint64) // a full filter stays as it is
		}
		return f
	case 7:
		return randomStream(r)
	case 4:
		s := zset.New(new(structures.HashKeys))
		for range 1 + r.IntN(200) {
			s.Add(nil, randomText(r), randomScore(r), 0)
		}
		return s
	}
	h, timed := hash.New(new(structures.HashKeys)), r.IntN(2) == 0
	for range 1 + r.IntN(200) {
		field := randomText(r)
		h.Set(nil, field, randomText(r))
		if timed && r.IntN(2) == 0 {
			h.ExpireAt(nil, field, 1+r.Int64N(maxFieldExpiry))
		}
	}
	return h
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 80 {
		v := randomValue(r)
		payload := encode(t, v)
		got, err := Decode(payload, roomy)
		if err != nil {
			t.Fatalf("seed %d, value %d, payload %.200q: %v", seed, i, payload, err)
		}
		want := Decoded{Kind: structures.KindString}
		if s, ok := v.([]byte); ok {
			want.Bytes = s
		} else {
			want.Value = v.(structures.Value)
			want.Kind = want.Value.Kind()
		}
		if describe(got) != describe(want) {
			t.Fatalf("seed %d, value %d:\n got %.2000s\nwant %.2000s", seed, i, describe(got), describe(want))
		}
		if kept := append([]byte("kept"), payload...); !bytes.Equal(appendAny(t, []byte("kept"), v), kept) {
			t.Fatalf("seed %d, value %d: a payload depends on what is before it", seed, i)
		}
	}
}

func appendAny(t *testing.T, dst []byte, v any) []byte {
	t.Helper()
	if s, ok := v.([]byte); ok {
		return AppendString(dst, s)
	}
	dst, err := Append(dst, v.(structures.Value))
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestOwnKindsComeBackUnseen(t *testing.T) {
	payload := AppendOwn(nil, structures.KindSchedule, []byte("anything"))
	v, err := Decode(payload, roomy)
	if err != nil || v.Kind != structures.KindSchedule || string(v.Bytes) != "anything" || v.Value != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	for kind := range structures.KindTDigest + 1 {
		if kind == structures.KindSet || kind == structures.KindStream { // those that are private
			continue
		}
		if _, err := Decode(AppendOwn(nil, kind, []byte("x")), roomy); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("kind %d, which has a form of its own: got %v", kind, err)
		}
	}
	if _, err := Decode(sealed("\xc8"), roomy); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("no kind: got %v", err)
	}
}

func TestChecksumIsThatOfRedis(t *testing.T) {
	// The value that Redis's own test of its CRC-64 checks for.
	if got := checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("got %#x", got)
	}
	const payload = "\x00\x03bar\n\x00\xe6\xbeI`\xeef\xfd\x17" // DUMP by redis-server 7.0.15
	if got := AppendString(nil, []byte("bar")); string(got) != payload {
		t.Errorf("got %q, want %q", got, payload)
	}
}

func TestFramesThatDoNotFitAreRefused(t *testing.T) {
	good := AppendString(nil, []byte("bar"))
	for n := range len(good) {
		if _, err := Decode(good[:n], roomy); !errors.Is(err, ErrFrame) {
			t.Errorf("first %d bytes: got %v", n, err)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := Decode(bad, roomy); !errors.Is(err, ErrFrame) {
			t.Errorf("byte %d changed: got %v", i, err)
		}
	}
}

// Types that exist stay as they are in every version, but for one number that Valkey uses
// for something else.
func TestEveryVersionIsRead(t *testing.T) {
	bodies := forms()
	maps.Copy(bodies, streamForms())
	for body, want := range bodies {
		for _, version := range []uint16{0, 1, 6, 10, 12, 13, 14, 16, 79, 80, 81, 0xffff} {
			v, err := Decode(seal([]byte(body), 0, version), roomy)
			if body[0] == typeHashValkey && version >= versionValkey {
				if !errors.Is(err, structures.ErrCorrupt) {
					t.Errorf("%q of version %d: got %s, %v", body, version, describe(v), err)
				}
			} else if err != nil || describe(v) != want {
				t.Errorf("%q of version %d: got %s, %v, want %s", body, version, describe(v), err, want)
			}
		}
	}
}

// A checksum of zero stands for none, as RDB files may have it, but a payload that has
// another one is checked.
func TestChecksumOfZeroIsNone(t *testing.T) {
	for end, want := range map[string]error{"\x00\x00\x00\x00\x00\x00\x00\x00": nil, "\x00\x00\x00\x00\x00\x00\x00\x01": ErrFrame} {
		if v, err := Decode([]byte("\x00\x03bar\x10\x00"+end), roomy); !errors.Is(err, want) || want == nil && string(v.Bytes) != "bar" {
			t.Errorf("checksum %q: got %s, %v, want %v", end, describe(v), err, want)
		}
	}
}

func TestTypesThatAreNotKnownAreNamed(t *testing.T) {
	for body, want := range map[string]string{
		"\x08":     "type 8",
		"\x1c\x01": "type 28 (array)",
		"\xf3":     "type 243 (key with metadata)",
		"\x07\x81\xbd\xe7\x2d\xa2\xbb\x1e\xb4\x04\x00": "type 7 (module vectorset, encoding 4)",
		"\x07\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x05\x00": "type 7 (module MBbloom--, encoding 5)",
	} {
		var unknown *UnknownError
		if _, err := Decode(seal([]byte(body), 0, 17), roomy); !errors.As(err, &unknown) || *unknown != (UnknownError{want, 17}) || !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%q: got %v, want %s", body, err, want)
		}
	}
	var unknown *UnknownError
	if _, err := Decode(seal([]byte("\x07\x81\x30"), 0, 17), roomy); errors.As(err, &unknown) || !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("a module whose name is cut short: got %v", err)
	}
}

// Valkey's hashes have no time before which no field expires, and its expiries stand
// behind the values.
func TestHashesOfValkeyAreRead(t *testing.T) {
	none := strings.Repeat("\xff", 8)
	for body, want := range map[string]string{
		"\x16\x02\x01f\x01v\xe8\x03\x00\x00\x00\x00\x00\x00\x01g\xc0\x0c" + none: `3  map[f:"v"@1000 g:"12"@0]`,
		"\x16\x01\x01f\x01v\xff\xff\xff\xff\xff\xff\x00\x00":                     `3  map[f:"v"@281474976710655]`,
		"\x16\x00":                                           "",
		"\x16\x01\x01f\x01v" + none + "\x00":                 "",
		"\x16\x01\x01f\x01v" + none[:7]:                      "",
		"\x16\x02\x01f\x01v" + none:                          "",
		"\x16\x02\x01f\x01v" + none + "\x01f\x01w" + none:    "",
		"\x16\x01\x01f\x01v\x00\x00\x00\x00\x00\x00\x00\x00": "", // expiry 0
		"\x16\x01\x01f\x01v\xfe" + none[:7]:                  "", // -2
		"\x16\x01\x01f\x01v\x00\x00\x00\x00\x00\x00\x01\x00": "", // too late
		"\x16\x81" + none + "\x01f\x01v" + none:              "",
	} {
		v, err := Decode(seal([]byte(body), 0, versionValkey), roomy)
		if want == "" && !errors.Is(err, structures.ErrCorrupt) || want != "" && (err != nil || describe(v) != want) {
			t.Errorf("%q: got %s, %v, want %q", body, describe(v), err, want)
		}
	}
}

func TestBoundsHold(t *testing.T) {
	small := Options{MaxString: 4, MaxBloom: 64}
	for _, body := range []string{"\x00\x05abcde", "\x01\x01\x05abcde", "\x04\x01\x01f\x05abcde", "\x00\xc3\x05\x16\x00a\xe0\x0c\x00"} {
		if _, err := Decode(sealed(body), small); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%q: got %v", body, err)
		}
		if _, err := Decode(sealed(body), roomy); err != nil {
			t.Errorf("%q without bound: %v", body, err)
		}
	}
	f := bloom.New()
	if err := f.Reserve(nil, bloom.Shape{Error: 0.01, Capacity: 1000, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(encode(t, f), small); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("a large Bloom filter: got %v", err)
	}
}

// What Append writes is fixed: a Redis, or a vigil of another version, reads it.
func TestPayloadsAreFrozen(t *testing.T) {
	l, h, timed, f := list.New(), hash.New(new(structures.HashKeys)), hash.New(new(structures.HashKeys)), bloom.New()
	l.Push(nil, list.Tail, []byte("a"), []byte("-129"), nil)
	h.Set(nil, []byte("f"), []byte("v"))
	timed.Set(nil, []byte("f"), []byte("v"))
	timed.Set(nil, []byte("g"), []byte("w"))
	timed.ExpireAt(nil, []byte("g"), 1000)
	if err := f.Reserve(nil, bloom.Shape{Error: 0.01, Capacity: 10, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add(nil, []byte("item"), 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    structures.Value
		want string // without the checksum
	}{
		{l, "\x01\x03\x01a\xc1\x7f\xff\x00\x0a\x00"},
		{h, "\x04\x01\x01f\x01v\x0a\x00"},
		{timed, "\x18\xe8\x03\x00\x00\x00\x00\x00\x00\x02\x00\x01f\x01v\x01\x01g\x01w\x0c\x00"},
		{f, frozenBloom},
	} {
		b := encode(t, c.v)
		if got := string(b[:len(b)-8]); got != c.want {
			t.Errorf("kind %d: got %q, want %q", c.v.Kind(), got, c.want)
		}
	}
}

// frozenBloom is laid out by hand: the name MBbloom-- and version 4, then parts
// tagged 2 (number), 4 (double) and 5 (string), then 0.
const frozenBloom = "\x07\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04" +
	"\x02\x01\x02\x01\x02\x05\x02\x02" + // items, layers, options, growth
	"\x02\x0a\x04\x7b\x14\xae\x47\xe1\x7a\x74\x3f\x02\x08\x04\xe9\x86\x2f\xb2\x35\x0e\x26\x40" + // entries, error, hashes, bits per entry
	"\x02\x40\x80\x02\x00\x05\x10\x00\x88\x08\x00\x00\x00\x80\x88\x00\x00\x00\x00\x88\x00\x00\x00" + // bits, n2, the bits
	"\x02\x01\x00\x0a\x00" // items of the layer, end, version

func TestBloomModuleIsNamedAsRedisBloomDoes(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	id := uint64(0)
	for _, c := range []byte("MBbloom--") {
		id = id<<6 | uint64(bytes.IndexByte([]byte(letters), c))
	}
	if want := id<<10 | 4; bloomModule != want {
		t.Errorf("got %#x, want %#x", uint64(bloomModule), want)
	}
}

// A filter with a large reservation and few items is a short payload and takes
// little memory where it is restored.
func TestSparseBloomFilterStaysSmall(t *testing.T) {
	f := bloom.New()
	if err := f.Reserve(nil, bloom.Shape{Error: 0.01, Capacity: 30 << 20, Expansion: 2}, 1<<30); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := f.Add(nil, binary.AppendUvarint(nil, uint64(i)), 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	bits := f.Info().Bytes
	payload := encode(t, f)
	if limit := bits / 80; uint64(len(payload)) > limit {
		t.Errorf("payload of %d bytes for %d, want at most %d", len(payload), bits, limit)
	}
	v, err := Decode(payload, roomy)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Value.Size(), f.Size(); got > want {
		t.Errorf("takes %d bytes, took %d", got, want)
	}
	for i := range 5 {
		if !v.Value.(*bloom.Filter).Exists(binary.AppendUvarint(nil, uint64(i))) {
			t.Errorf("item %d is gone", i)
		}
	}
}
