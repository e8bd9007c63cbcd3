package schedule

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// register is a directory with its names, as a schedule has them.
type register struct {
	names names
	slots directory
}

func newRegister(seed uint64) *register {
	r := &register{slots: directory{key: structures.NewHashKey([16]byte{byte(seed), byte(seed >> 8)})}}
	r.slots.names = &r.names
	return r
}

func (r *register) put(slot int, name string) {
	r.names.put(slot, []byte(name))
	r.slots.insert([]byte(name), slot)
}

func (r *register) drop(slot int) {
	r.slots.remove(slot)
	r.names.drop(slot)
}

// check compares with a map from names to slots, and the accounts with a count.
func (r *register) check(t *testing.T, model map[string]int) {
	t.Helper()
	for name, slot := range model {
		if at, ok := r.slots.find([]byte(name)); !ok || at != slot || r.names.of(slot) != name {
			t.Fatalf("%q: got slot %d %v, want %d, which is called %q", name, at, ok, slot, r.names.of(slot))
		}
	}
	text, bytes := 0, 0
	for _, p := range r.names.pages {
		if p != nil {
			text += len(p.text)
			bytes += p.bytes()
		}
	}
	want := 0
	for name := range model {
		want += len(name)
	}
	if text != want || bytes != r.names.bytes {
		t.Fatalf("names: %d bytes of text, want %d; %d in the accounts, want %d", text, want, r.names.bytes, bytes)
	}
	used, bytes := 0, 0
	for i, b := range r.slots.dir {
		if i > 0 && r.slots.dir[i-1] == b {
			continue
		}
		used += int(b.used)
		bytes += bucketBytes + 4*len(b.entries)
	}
	if used != len(model) || r.slots.used != used || bytes != r.slots.bytes {
		t.Fatalf("directory: %d entries, %d counted, want %d; %d bytes, %d counted",
			used, r.slots.used, len(model), bytes, r.slots.bytes)
	}
}

// randomName is mostly of some letters, sometimes empty, sometimes long.
func randomName(rng *rand.Rand) string {
	switch rng.IntN(50) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("x", rng.IntN(MaxName)) + fmt.Sprint(rng.IntN(100))
	}
	return fmt.Sprint("n", rng.IntN(5000))
}

func TestADirectoryThatIsBuiltAtOnceIsThatOfAllItsNames(t *testing.T) {
	for seed := range uint64(4) {
		for _, n := range []int{0, 1, 7, 500, 2049, 30_000} {
			t.Logf("seed %d, %d names", seed, n)
			rng := rand.New(rand.NewPCG(seed, 12))
			r, model := newRegister(seed), map[string]int{}
			slots := rng.Perm(2*n + 1)[:n]
			taken := map[int]bool{}
			r.slots.after = func(slot int) int {
				for ; slot <= 2*n; slot++ {
					if taken[slot] {
						return slot
					}
				}
				return -1
			}
			r.slots.postpone()
			for i, slot := range slots {
				name := fmt.Sprint("name", i)
				r.put(slot, name)
				model[name], taken[slot] = slot, true
				if i%5 == 4 { // and one that is gone before it is sought
					delete(model, name)
					delete(taken, slot)
					r.drop(slot)
				}
			}
			r.slots.build()
			r.check(t, model)
			// It grows and shrinks as one that was never built.
			for i := range n {
				name := fmt.Sprint("later", i)
				r.put(2*n+1+i, name)
				model[name] = 2*n + 1 + i
			}
			r.check(t, model)
			for name, slot := range model {
				r.drop(slot)
				delete(model, name)
				if len(model)%5000 == 0 {
					r.check(t, model)
				}
			}
			if r.slots.twice {
				t.Errorf("a name was found twice")
			}
		}
	}
}

func TestAScheduleWithANameTwiceIsCorrupt(t *testing.T) {
	s := busy(t, "index", 3)
	head := s.AppendHead(nil)
	var page []byte
	s.Pages(true, func(_ uint64, p []byte) { page = append(page, p...) })
	for _, ids := range [][]uint64{{0}, {0, 0}, {0, 1}, {5, 9}} {
		read, err := Decode(head, testKey)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if err := read.SetPage(id, page); err != nil {
				t.Fatal(err)
			}
		}
		err = read.Complete()
		if twice := len(ids) > 1 && ids[0] != ids[1]; errors.Is(err, structures.ErrCorrupt) != twice {
			t.Errorf("pages %v: got %v", ids, err)
		}
	}
}

func TestNamesAreFoundAsInAMap(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 11))
		r, model, taken := newRegister(seed), map[string]int{}, map[int]string{}
		var slots []int // in use
		for op := range 20_000 {
			grow := op/4000%2 == 0
			name := randomName(rng)
			want, there := model[name]
			if at, ok := r.slots.find([]byte(name)); ok != there || at != want {
				t.Fatalf("seed %d, operation %d: %q in slot %d %v, want %d %v", seed, op, name, at, ok, want, there)
			}
			slot := rng.IntN(4000)
			if _, used := taken[slot]; !there && !used && (grow || rng.IntN(4) == 0) {
				r.put(slot, name)
				model[name], taken[slot] = slot, name
				slots = append(slots, slot)
			} else if len(slots) > 0 && (!grow || rng.IntN(4) == 0) {
				k := rng.IntN(len(slots))
				r.drop(slots[k])
				delete(model, taken[slots[k]])
				delete(taken, slots[k])
				slots = slices.Delete(slots, k, k+1)
			}
			if op%997 == 0 {
				r.check(t, model)
			}
		}
		r.check(t, model)
	}
}

func TestManyNamesFillAndLeaveTheDirectory(t *testing.T) {
	const n = 50_000 // a dozen splits
	r, model := newRegister(7), map[string]int{}
	for i := range n {
		name := fmt.Sprintf("host-%d.example", i)
		r.put(i, name)
		model[name] = i
	}
	r.check(t, model)
	if perName := float64(r.slots.size()) / n; perName > 8 {
		t.Errorf("the directory takes %.1f bytes a name, want 8 at the most", perName)
	}
	for _, b := range r.slots.dir {
		if len(b.entries) > maxEntries {
			t.Fatalf("a bucket has %d entries", len(b.entries))
		}
	}
	for _, slot := range slices.Sorted(maps.Values(model)) {
		if slot%10 > 0 {
			name := r.names.of(slot)
			r.drop(slot)
			delete(model, name)
		}
	}
	r.check(t, model)
	if perName := float64(r.slots.size()) / n; perName > 3 {
		t.Errorf("a tenth of the names still takes %.1f bytes for each there was", perName)
	}
	for _, slot := range model {
		r.drop(slot)
	}
	if r.slots.size() != 0 {
		t.Errorf("an empty directory takes %d bytes", r.slots.size())
	}
}

// Names whose hashes agree in the bits that choose a bucket must not make it
// split for ever.
func TestNamesOfOneBucketGrowIt(t *testing.T) {
	r := newRegister(0)
	r.slots.depth = maxDepth
	r.slots.dir = make([]*bucket, 1<<maxDepth)
	for i := range r.slots.dir {
		r.slots.dir[i] = r.slots.bucketFor(0, maxDepth)
	}
	b := &bucket{entries: make([]uint32, maxEntries), depth: maxDepth}
	slot := 0
	for i := 0; slot < 2; i++ {
		name := fmt.Appendf(nil, "%d", i)
		if r.slots.position(r.slots.hash(name)) == 5 {
			r.names.put(slot, name)
			r.slots.dir[5] = b
			b.used = maxEntries * 4 / 5 // as if full
			r.slots.insert(name, slot)
			b = r.slots.dir[5]
			slot++
		}
	}
	if len(b.entries) <= maxEntries || b.depth != maxDepth {
		t.Errorf("the full bucket has %d entries and depth %d", len(b.entries), b.depth)
	}
}

func TestNamesHandedOutNeverChange(t *testing.T) {
	var n names
	kept := map[string]string{}
	for round := range 20 {
		for slot := range scheduler.PageSize {
			name := fmt.Sprintf("%d-%d", round, slot)
			n.put(slot, []byte(name))
			kept[name] = n.of(slot)
		}
		for slot := range scheduler.PageSize {
			n.drop((slot*7 + round) % scheduler.PageSize)
		}
	}
	for want, got := range kept {
		if got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
}

func TestPagesOfLongNamesAreTold(t *testing.T) {
	var n names
	for slot := range scheduler.PageSize {
		n.put(slot, []byte(strings.Repeat(string(rune('a'+slot%26)), MaxName-slot)))
	}
	n.drop(3)
	for slot := range scheduler.PageSize {
		want := strings.Repeat(string(rune('a'+slot%26)), MaxName-slot)
		if slot == 3 {
			want = ""
		}
		if got := n.of(slot); got != want {
			t.Errorf("slot %d: %d bytes, want %d", slot, len(got), len(want))
		}
	}
}

// BenchmarkDirectory reports the longest insertion beside the mean.
func BenchmarkDirectory(b *testing.B) {
	const n = 1 << 20
	names := make([][]byte, n)
	for i := range names {
		names[i] = fmt.Appendf(nil, "node-%07d", i)
	}
	b.Run("find", func(b *testing.B) {
		r := newRegister(1)
		for i, name := range names {
			r.put(i, string(name))
		}
		b.ReportAllocs()
		i := uint32(0)
		for b.Loop() {
			i = i*1664525 + 1013904223
			if _, ok := r.slots.find(names[i%n]); !ok {
				b.Fatal("lost")
			}
		}
	})
	b.Run("insert", func(b *testing.B) {
		r, i := newRegister(1), 0
		longest := int64(0)
		for b.Loop() {
			if i == n {
				r, i = newRegister(1), 0
			}
			before := b.Elapsed()
			r.put(i, string(names[i]))
			longest = max(longest, int64(b.Elapsed()-before))
			i++
		}
		b.ReportMetric(float64(longest)/1e6, "max-ms")
	})
}
