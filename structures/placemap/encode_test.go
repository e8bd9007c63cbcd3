package placemap

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// The bytes on disk never change: a difference here is a new format version,
// not a new golden file.
func TestEncodingIsTheOneOnDisk(t *testing.T) {
	v, err := New(placement.Options{Strategy: "jump", Seed: 0x0102030405060708, Copies: 2})
	if err != nil {
		t.Fatal(err)
	}
	ch := new(structures.Change)
	if _, err := v.Set(ch, []placement.Unit{{Name: "alpha", Capacity: 2.5}, {Name: "beta", Capacity: 2.5, Domain: "rack"}}); err != nil {
		t.Fatal(err)
	}
	if err := v.Remove(ch, []string{"alpha"}); err != nil {
		t.Fatal(err)
	}
	got := "head " + hex.EncodeToString(v.AppendHead(nil)) + "\nrecord " + hex.EncodeToString(ch.Encoded()) + "\n"
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// samples are encoded maps with a history, one of each strategy.
func samples(t testing.TB) (heads, records [][]byte) {
	for _, spec := range placement.Strategies() {
		v, ch := made(t, spec.Name), new(structures.Change)
		play(v, ch, rand.New(rand.NewPCG(uint64(spec.Number), 2)), 30, func() {})
		heads, records = append(heads, v.AppendHead(nil)), append(records, bytes.Clone(ch.Encoded()))
	}
	return heads, records
}

func TestTruncatedAndLongerHeadsAreRefused(t *testing.T) {
	heads, _ := samples(t)
	for _, head := range heads {
		for n := range head {
			if _, err := Decode(head[:n]); !errors.Is(err, structures.ErrCorrupt) {
				t.Fatalf("%d of %d bytes: %v", n, len(head), err)
			}
		}
		if _, err := Decode(append(bytes.Clone(head), 0)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("a byte more: %v", err)
		}
		if _, err := Decode(append([]byte{version, 0x80 | head[1], 0}, head[2:]...)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("a longer number: %v", err)
		}
	}
	if err := made(t, "").SetPage(0, nil); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("a page: %v", err)
	}
}

func TestImportCountsAsAChange(t *testing.T) {
	v := made(t, "jump")
	for _, name := range strings.Fields("a b c") {
		if _, err := v.Set(nil, []placement.Unit{{Name: name, Capacity: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	data := v.Export(nil)
	for old, want := range map[*Map]uint64{nil: 1, v: 4} {
		got, err := Import(data, old)
		if err != nil || got.Version() != want || !bytes.Equal(got.Export(nil), data) {
			t.Errorf("import: version %d, want %d; %v", got.Version(), want, err)
		}
	}
	data[len(data)/2] ^= 1
	if _, err := Import(data, v); !errors.Is(err, placement.ErrCorrupt) {
		t.Errorf("corrupted import: %v", err)
	}
}

// summed puts the checksum right, without which nothing decodes.
func summed(head []byte) []byte {
	at, n := len(head)-4, 0
	if at < 2 {
		return head
	}
	if _, n = binary.Uvarint(head[1:at]); n <= 0 {
		return head
	}
	sum := crc32.Checksum(head[1+n:at], crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.AppendUint32(bytes.Clone(head[:at]), sum)
}

// FuzzDecodeMap: bytes that decode are the only encoding of what they decode to,
// and every method works on the result.
func FuzzDecodeMap(f *testing.F) {
	heads, records := samples(f)
	for i, head := range heads {
		f.Add(head, records[i])
	}
	f.Fuzz(func(t *testing.T, head, record []byte) {
		head = summed(head)
		v, err := Decode(head)
		if err != nil {
			return
		}
		if !bytes.Equal(v.AppendHead(nil), head) {
			t.Fatal("encoding is not stable")
		}
		applyAll(t, v, record)
	})
}

// FuzzApplyMap: any operation is applied or refused, and what comes out is a map
// that can be stored, loaded and used.
func FuzzApplyMap(f *testing.F) {
	_, records := samples(f)
	for i, record := range records {
		f.Add(byte(i), record)
	}
	f.Fuzz(func(t *testing.T, strategy byte, record []byte) {
		all := placement.Strategies()
		applyAll(t, made(t, all[int(strategy)%len(all)].Name), record)
	})
}

func applyAll(t *testing.T, v *Map, record []byte) {
	t.Helper()
	for range 20 {
		op, args, rest, err := structures.NextOp(record)
		if err != nil {
			break
		}
		_ = v.Apply(op, &args)
		record = rest
	}
	if where := differ(v, decoded(t, v)); where != "" {
		t.Fatalf("the loaded map: %s", where)
	}
	_ = v.Size()
}
