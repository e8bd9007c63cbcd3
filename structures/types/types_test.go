package types

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/placemap"
	"github.com/vigildb/vigil/structures/rdb"
	"github.com/vigildb/vigil/structures/schedule"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/text"
	"github.com/vigildb/vigil/structures/topk"
	"github.com/vigildb/vigil/structures/zset"
)

// samples returns a small value of each type that the table has, and of no other.
func samples(t *testing.T, keys *structures.HashKeys) map[structures.Kind]structures.Value {
	t.Helper()
	elements, fields, filter := list.New(), hash.New(keys), bloom.New()
	members := set.New(keys)
	members.Add(nil, []byte("1"))
	elements.Push(nil, list.Tail, []byte("element"))
	fields.Set(nil, []byte("field"), []byte("value"))
	if err := filter.Reserve(nil, bloom.Shape{Error: .01, Capacity: 10, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	counts := countmin.New()
	if err := counts.Init(nil, 10, 2, 1<<20); err != nil {
		t.Fatal(err)
	}
	top := topk.New()
	if err := top.Init(nil, topk.DefaultShape(3), 1<<20); err != nil {
		t.Fatal(err)
	}
	digest := tdigest.New()
	if err := digest.Init(nil, 100, 1<<20); err != nil {
		t.Fatal(err)
	}
	slots := cuckoo.New()
	if err := slots.Reserve(nil, cuckoo.Shape{Capacity: 10, BucketSize: 2, Iterations: 20, Expansion: 1}, 1<<20); err != nil {
		t.Fatal(err)
	}
	doc := json.New(keys)
	doc.SetRoot(nil, json.AppendString(nil, []byte("text")))
	sched := schedule.New(keys.Fields)
	if err := sched.Create(nil, schedule.DefaultConfig(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := sched.Add(nil, []byte("node"), scheduler.DefaultParams(), 1); err != nil {
		t.Fatal(err)
	}
	place, err := placemap.New(placement.Options{Strategy: "jump"})
	if err != nil {
		t.Fatal(err)
	}
	entries := stream.New()
	entries.Add(nil, stream.ID{Ms: 1}, [][]byte{[]byte("field"), []byte("value")}, stream.PageLimits{})
	sorted := zset.New(keys)
	sorted.Add(nil, []byte("member"), 1, 0)
	all := map[structures.Kind]structures.Value{
		structures.KindString: text.New([]byte("bytes")), structures.KindList: elements, structures.KindHash: fields,
		structures.KindSet: members, structures.KindBloom: filter, structures.KindSchedule: sched, structures.KindPlace: place,
		structures.KindStream: entries, structures.KindZSet: sorted, structures.KindJSON: doc, structures.KindCuckoo: slots, structures.KindTDigest: digest, structures.KindTopK: top, structures.KindCountMin: counts,
	}
	for _, row := range All() {
		if all[row.Kind] == nil {
			t.Fatalf("%s: there is no sample of the type: the map in samples (types_test.go) gets one", row.Name)
		}
	}
	for kind := range all {
		if Of(kind) == nil {
			t.Fatalf("kind %d has a sample and no row in the table (types.go)", kind)
		}
	}
	return all
}

func TestEachRowDecodesWhatItsTypeEncodes(t *testing.T) {
	var keys structures.HashKeys
	samples := samples(t, &keys)
	names := map[string]bool{"none": true, "unknown": true}
	for _, row := range All() {
		v := samples[row.Kind]
		if names[row.Name] || row.Plural == "" || Of(row.Kind).Name != row.Name || Name(row.Kind) != row.Name {
			t.Errorf("%s: name or kind is there twice, or incomplete", row.Name)
		}
		names[row.Name] = true
		head := v.AppendHead(nil)
		got, err := row.Decode(head, &keys)
		if err != nil || got.Kind() != row.Kind || v.Kind() != row.Kind || !bytes.Equal(got.AppendHead(nil), head) {
			t.Errorf("%s: decodes to %v, error %v", row.Name, got, err)
		}
		if _, err := row.Decode(bytes.Repeat([]byte{0xff}, 40), &keys); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: 40 bytes of garbage: error %v", row.Name, err)
		}
	}
}

// The numbers of the kinds are on disk: the page about that has them all.
func TestFormatPageHasEveryKind(t *testing.T) {
	const file = "../../docs/format.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, kinds, _ := strings.Cut(string(page), "\n## Kinds\n")
	kinds, _, _ = strings.Cut(kinds, "\n## ")
	for _, row := range All() {
		if line := fmt.Sprintf(" | %d |\n", row.Kind); !strings.Contains(kinds, line) {
			t.Errorf("%s: the table under Kinds in %s has no line that ends with %q", row.Name, file, line)
		}
	}
}

// A payload in the form of Redis comes back as the same type.
func TestDumpsInTheFormOfRedisAreRead(t *testing.T) {
	var keys structures.HashKeys
	samples := samples(t, &keys)
	for _, row := range All() {
		if row.Dump == nil {
			continue
		}
		payload, err := row.Dump(nil, samples[row.Kind])
		if err != nil {
			t.Errorf("%s: %v", row.Name, err)
			continue
		}
		v, err := rdb.Decode(payload, rdb.Options{MaxString: 1 << 20, MaxBloom: 1 << 20, HashKeys: &keys})
		if err != nil || v.Kind != row.Kind || v.Value == nil {
			t.Errorf("%s: read as kind %d, error %v", row.Name, v.Kind, err)
		}
	}
}

func TestEncodingNamesFollowTheThresholds(t *testing.T) {
	var keys structures.HashKeys
	samples := samples(t, &keys)
	for kind, want := range map[structures.Kind][2]string{
		structures.KindList: {"quicklist", "quicklist"}, structures.KindHash: {"hashtable", "listpack"},
		structures.KindZSet: {"skiplist", "listpack"}, structures.KindSet: {"hashtable", "intset"},
	} {
		encoding := Of(kind).Encoding
		small := encoding(samples[kind], &Thresholds{HashMaxEntries: 128, HashMaxValue: 64, SetMaxInts: 512, ZSetMaxEntries: 128, ZSetMaxValue: 64})
		large := encoding(samples[kind], &Thresholds{HashMaxEntries: 0, HashMaxValue: 64, ZSetMaxEntries: 128, ZSetMaxValue: 5})
		if large != want[0] || small != want[1] {
			t.Errorf("kind %d: %s and %s, want %v", kind, large, small, want)
		}
	}
}

func TestKindsWithoutRowHaveNamesAndNoType(t *testing.T) {
	if Name(structures.KindNone) != "none" || Name(structures.Kind(200)) != "unknown" || Of(structures.KindNone) != nil || Of(200) != nil {
		t.Errorf("names %q and %q", Name(structures.KindNone), Name(200))
	}
}

// The store makes an empty value of the kind that a record names.
func TestTypesWhoseValuesRestSayHowToMakeOne(t *testing.T) {
	var keys structures.HashKeys
	for kind, v := range samples(t, &keys) {
		_, can := v.(structures.Compact)
		empty := Of(kind).Compact
		if can != (empty != nil) {
			t.Errorf("kind %d: values can rest: %v, row: %v", kind, can, empty != nil)
		} else if can && empty(&keys).Kind() != kind {
			t.Errorf("kind %d: makes a value of kind %d", kind, empty(&keys).Kind())
		}
	}
}
