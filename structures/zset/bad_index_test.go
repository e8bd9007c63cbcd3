package zset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures"
)

// indexHead is the head of an indexed set.
type indexHead struct {
	members, leaves, bytes, longest, buckets uint64
	depths                                   []byte
	used, branches                           []uint64
}

func (h *indexHead) encode() []byte {
	b := []byte{formIndexed}
	for _, v := range []uint64{h.members, h.leaves, h.bytes, h.longest, h.buckets} {
		b = binary.AppendUvarint(b, v)
	}
	for i, depth := range h.depths {
		b = binary.AppendUvarint(append(b, depth), h.used[i])
	}
	for _, num := range h.branches {
		b = binary.AppendUvarint(b, num)
	}
	return b
}

// leafStub is what the page of a branch has of a leaf.
func leafStub(num, entries, size uint64, score float64, member string) (b []byte) {
	for _, v := range []uint64{num, entries, size} {
		b = binary.AppendUvarint(b, v)
	}
	b = binary.BigEndian.AppendUint64(b, scoreBits(score))
	return append(binary.AppendUvarint(b, uint64(len(member))), member...)
}

// indexedPair returns an indexed set as it is stored: the leaf 0 has a and b with the
// score 1, the leaf 1 has c with 2, bucket has all of them, and the branch is the first
// one.
func indexedPair() (h *indexHead, pages map[uint64][]byte) {
	const two = "\xc0\x00\x00\x00\x00\x00\x00\x00" // the score 2
	h = &indexHead{members: 3, leaves: 2, bytes: 30, longest: 1, buckets: 1, depths: []byte{0}, used: []uint64{3}, branches: []uint64{1}}
	return h, map[uint64][]byte{
		0:               []byte(one + "\x01a" + one + "\x01b"),
		1:               []byte(two + "\x01c"),
		onlyBucket:      bucketPage(map[string]uint64{"a": 0, "b": 0, "c": 1}),
		firstBranch + 1: append(leafStub(0, 2, 20, 1, "a"), leafStub(1, 1, 10, 2, "c")...),
	}
}

// onlyBucket is the page of the only bucket.
const onlyBucket = firstBucket | 1<<32

// bucketPage is the page of a bucket that is the only one, in which members are in leaves.
func bucketPage(members map[string]uint64) []byte {
	s := New(testKeys(1))
	hashes := map[uint64]uint64{}
	for member, num := range members {
		hashes[uint64(s.hashOf([]byte(member)))] = num
	}
	b := binary.AppendUvarint(nil, uint64(len(hashes)))
	before := uint64(0)
	for _, hash := range slices.Sorted(maps.Keys(hashes)) {
		b = binary.AppendUvarint(b, hash-before)
		b = binary.AppendUvarint(b, hashes[hash])
		before = hash
	}
	return b
}

// loadIndexed makes a set of a head and of pages, which it is given if given says so, else
// they are evicted.
func loadIndexed(head []byte, d *disk, given func(id uint64) bool) (*Set, error) {
	s, err := Decode(head, testKeys(1))
	if err != nil {
		return nil, err
	}
	s.SetPager(d)
	for _, id := range slices.Sorted(maps.Keys(d.pages)) {
		if id >= s.ResidentFrom() || given(id) {
			if err := s.SetPage(id, d.pages[id]); err != nil {
				return nil, err
			}
		}
	}
	return s, s.Complete()
}

func TestIndexedSetOnDiskIsFrozen(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(1))
	s, d := evictedSet()
	want := map[uint64]string{firstBranch + 1: ""}
	for i := range uint64(2) {
		member := fmt.Sprintf("%01500d", i)
		s.Add(nil, []byte(member), float64(i+1), 0)
		want[i] = string(binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, scoreBits(float64(i+1))), 1500)) + member
		want[firstBranch+1] += string(leafStub(i, 1, 1510, float64(i+1), member[:stubBytes]))
	}
	want[onlyBucket] = string(bucketPage(map[string]uint64{fmt.Sprintf("%01500d", 0): 0, fmt.Sprintf("%01500d", 1): 1}))
	s.Evict(1)
	d.store(s)
	h := indexHead{members: 2, leaves: 2, bytes: 3020, longest: 1500, buckets: 1, depths: []byte{0}, used: []uint64{2}, branches: []uint64{1}}
	if got := s.AppendHead(nil); string(got) != string(h.encode()) {
		t.Errorf("head: got %q, want %q", got, h.encode())
	}
	for id, page := range d.pages {
		if string(page) != want[id] {
			t.Errorf("page %x: got %q, want %q", id, page, want[id])
		}
	}
	if len(d.pages) != len(want) {
		t.Errorf("%d pages, want %d", len(d.pages), len(want))
	}
}

// What head and branches say is checked when the set is loaded.
func TestIndexedSetRefusesBadHeadsAndBranches(t *testing.T) {
	branch := func(leaves ...[]byte) func(*indexHead, map[uint64][]byte) {
		return func(_ *indexHead, pages map[uint64][]byte) { pages[firstBranch+1] = slices.Concat(leaves...) }
	}
	a, c := leafStub(0, 2, 20, 1, "a"), leafStub(1, 1, 10, 2, "c")
	for name, spoil := range map[string]func(h *indexHead, pages map[uint64][]byte){
		"a member too many":       func(h *indexHead, _ map[uint64][]byte) { h.members, h.used[0] = 4, 4 },
		"entries of no member":    func(h *indexHead, _ map[uint64][]byte) { h.used[0] = 4 },
		"a leaf too few":          func(h *indexHead, _ map[uint64][]byte) { h.leaves = 3 },
		"one leaf":                func(h *indexHead, _ map[uint64][]byte) { h.leaves = 1 },
		"another number of bytes": func(h *indexHead, _ map[uint64][]byte) { h.bytes = 31 },
		"half of the buckets":     func(h *indexHead, _ map[uint64][]byte) { h.depths[0] = 1 },
		"buckets of no end":       func(h *indexHead, _ map[uint64][]byte) { h.buckets = math.MaxUint64 },
		"more buckets than there": func(h *indexHead, _ map[uint64][]byte) { h.buckets = 1 << maxDepth },
		"a deep bucket":           func(h *indexHead, _ map[uint64][]byte) { h.depths[0] = 23 },
		"a bucket out of place": func(h *indexHead, _ map[uint64][]byte) {
			h.buckets, h.depths, h.used = 3, []byte{2, 1, 2}, []uint64{1, 1, 1}
		},
		"no branch":           func(h *indexHead, _ map[uint64][]byte) { h.branches = nil },
		"a branch too many":   func(h *indexHead, _ map[uint64][]byte) { h.branches = []uint64{1, 2} },
		"a branch twice":      func(h *indexHead, _ map[uint64][]byte) { h.branches = []uint64{1, 1} },
		"a branch missing":    func(_ *indexHead, pages map[uint64][]byte) { delete(pages, firstBranch+1) },
		"a branch not named":  func(_ *indexHead, pages map[uint64][]byte) { pages[firstBranch+2] = c },
		"an empty branch":     branch(),
		"half a branch":       branch(a, c[:5]),
		"a leaf twice":        branch(a, leafStub(0, 1, 10, 2, "c")),
		"leaves out of order": branch(c, a),
		"members out of order": func(_ *indexHead, pages map[uint64][]byte) {
			pages[firstBranch+1] = slices.Concat(leafStub(0, 2, 20, 2, "d"), c)
		},
		"an empty leaf":          branch(leafStub(0, 0, 20, 1, "a"), leafStub(1, 3, 10, 2, "c")),
		"a leaf of few bytes":    branch(leafStub(0, 2, 5, 1, "a"), leafStub(1, 1, 25, 2, "c")),
		"a long first member":    branch(leafStub(0, 2, 20, 1, fmt.Sprintf("%025d", 0)), c),
		"a score that is none":   branch(leafStub(0, 2, 20, math.NaN(), "a"), c),
		"a distant number":       branch(a, leafStub(1<<30, 1, 10, 2, "c")),
		"a number that is wider": branch(a, leafStub(1<<31, 1, 10, 2, "c")),
	} {
		h, pages := indexedPair()
		spoil(h, pages)
		if _, err := loadIndexed(h.encode(), &disk{pages: pages, left: 100}, func(uint64) bool { return false }); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h, _ := indexedPair()
	for i := range h.encode() {
		if s, err := Decode(h.encode()[:i], testKeys(1)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%d bytes of a head: got %v, %v", i, s, err)
		}
	}
}

// Leaves and buckets are checked when they are read, with the set or for a command.
func TestIndexedSetRefusesBadPages(t *testing.T) {
	const two = "\xc0\x00\x00\x00\x00\x00\x00\x00"
	long := append([]byte{3}, slices.Repeat([]byte{0xff}, 30)...)
	for name, page := range map[string]struct {
		id   uint64
		page []byte
	}{
		"an empty leaf":              {1, nil},
		"half an entry":              {1, []byte(two + "\x02c")},
		"another member":             {1, []byte(two + "\x01d")},
		"another score":              {1, []byte(one + "\x01c")},
		"a leaf of more entries":     {1, []byte(two + "\x01c" + two + "\x01d")},
		"a leaf of fewer":            {0, []byte(one + "\x0ba" + one + "\x01b")},
		"a leaf out of order":        {0, []byte(one + "\x01a" + one + "\x01a")},
		"a member not in the index":  {0, []byte(one + "\x01a" + one + "\x01z")},
		"an empty bucket":            {onlyBucket, nil},
		"entries missing":            {onlyBucket, bucketPage(map[string]uint64{"a": 0, "b": 0})},
		"no end of a bucket":         {onlyBucket, long},
		"more bytes":                 {onlyBucket, append(bucketPage(map[string]uint64{"a": 0, "b": 0, "c": 1}), 0)},
		"a leaf that is not there":   {onlyBucket, bucketPage(map[string]uint64{"a": 0, "b": 0, "c": 2})},
		"a leaf with a great number": {onlyBucket, bucketPage(map[string]uint64{"a": 0, "b": 0, "c": 1 << 31})},
	} {
		h, pages := indexedPair()
		d := &disk{pages: pages, left: 100}
		pages[page.id] = page.page
		if _, err := loadIndexed(h.encode(), d, func(uint64) bool { return true }); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: given to the set: got %v", name, err)
		}
		s, err := loadIndexed(h.encode(), d, func(uint64) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		if read := s.LoadAll(); (read || !d.failed) && name != "a member not in the index" {
			t.Errorf("%s: was read", name)
		}
	}
	h, pages := indexedPair()
	s, err := loadIndexed(h.encode(), &disk{pages: pages, left: 100}, func(uint64) bool { return false })
	if err != nil || !s.LoadAll() {
		t.Fatal("pages that nothing is wrong with:", err)
	}
	check(t, s)
}

// A set whose pages differ from what they were when it stored them fails commands, or has
// other members, but does nothing worse.
func TestSetOfSpoiltPagesIsNotFatal(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(1))
	defer setSparser(sparser, spareNumbers)
	setSparser(64, 1000)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s, d := evictedSet()
	for i := range 1500 {
		s.Add(nil, fmt.Appendf(nil, "%0*d", r.IntN(10), i), float64(r.IntN(300)), 0)
	}
	s.Evict(1)
	d.store(s)
	head, stored := s.AppendHead(nil), d.pages
	ids := slices.Sorted(maps.Keys(stored))
	loaded := 0
	for range 150 {
		d := &disk{pages: maps.Clone(stored), left: 1 << 60}
		for range 1 + r.IntN(3) {
			id, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
			page := slices.Clone(d.pages[id])
			switch at := r.IntN(len(page)); r.IntN(4) {
			case 0: // of a bucket: another leaf, if it is in the right place
				page[at] = page[at]&0x80 | byte(r.IntN(40))
			case 1:
				page[at] = byte(r.IntN(256))
			case 2:
				page = page[:at]
			default:
				page = slices.Clone(d.pages[other])
			}
			d.pages[id] = page
		}
		if s, err := loadIndexed(head, d, func(uint64) bool { return r.IntN(8) == 0 }); err == nil {
			loaded++
			useSpoilt(r, s, d)
		} else if !errors.Is(err, structures.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if loaded < 20 {
		t.Errorf("%d sets were loaded", loaded)
	}
}

// useSpoilt works on a set whose pages may be anything, as commands do.
func useSpoilt(r *rand.Rand, s *Set, d *disk) {
	see := func([]byte, float64) {}
	for range 40 {
		member, score := fmt.Appendf(nil, "%0*d", r.IntN(10), r.IntN(1500)), float64(r.IntN(300))
		d.failed = false
		switch r.IntN(12) {
		case 0:
			s.Rank(member)
		case 1:
			s.Remove(nil, member)
		case 2:
			s.Pop(nil, End(r.IntN(2)), 1+r.IntN(50), see)
		case 3:
			s.RemoveRange(nil, s.Before(BeforeScore(score)), r.IntN(60))
		case 4:
			for cursor, n := uint64(0), 0; n < 20; n++ {
				cursor = s.Scan(cursor, 10, see)
			}
		case 5:
			s.Reverse(r.IntN(s.Len()+1)-1, 80, func([]byte, float64) bool { return true })
		case 6:
			d.store(s)
			evictAll(s)
		case 7:
			s.Add(nil, fmt.Appendf(nil, "%01500d", r.IntN(100)), score, 0)
		default:
			s.Add(nil, member, score, 0)
		}
	}
}

// FuzzDecodeIndexed gives a set pages of any kind: of each the number, the length (2 bytes),
// and the bytes. Those of branches and every other page are given with the head.
func FuzzDecodeIndexed(f *testing.F) {
	h, pages := indexedPair()
	var b []byte
	for id, page := range pages {
		b = binary.BigEndian.AppendUint64(b, id)
		b = binary.BigEndian.AppendUint16(b, uint16(len(page)))
		b = append(b, page...)
	}
	f.Add(h.encode()[1:], b, uint64(1))
	f.Fuzz(func(t *testing.T, head, pages []byte, seed uint64) {
		d := &disk{pages: map[uint64][]byte{}, left: 1 << 60}
		input := len(head) + len(pages)
		for len(pages) > 10 {
			id, size := binary.BigEndian.Uint64(pages), int(binary.BigEndian.Uint16(pages[8:]))
			size = min(size, len(pages)-10)
			d.pages[id], pages = pages[10:10+size], pages[10+size:]
		}
		s, err := loadIndexed(append([]byte{formIndexed}, head...), d, func(id uint64) bool { return id%2 == 0 })
		if err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		// The table of buckets is as large as the deepest of them says.
		if size, most := s.Size(), 8<<maxDepth+9*spareNumbers+5000*input; size > most {
			t.Fatalf("%d bytes of memory for %d of input", size, input)
		}
		useSpoilt(rand.New(rand.NewPCG(seed, 1)), s, d)
	})
}
