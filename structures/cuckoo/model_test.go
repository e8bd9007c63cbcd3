package cuckoo

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
	"github.com/vigildb/vigil/structures/structurestest"
)

// model is a filter as plain slices of slots.
type model struct {
	subs                     [][]byte
	size, iterations, growth uint64
	items, deletes           uint64
}

func (m *model) bucket(k int, h uint64) []byte {
	n := uint64(len(m.subs[k])) / m.size
	at := h % n * m.size
	return m.subs[k][at : at+m.size]
}

func (m *model) put(k int, h1, h2 uint64, fp byte) bool {
	for _, h := range []uint64{h1, h2} {
		if i := bytes.IndexByte(m.bucket(k, h), 0); i >= 0 {
			m.bucket(k, h)[i] = fp
			return true
		}
	}
	return false
}

func (m *model) insert(item string) bool {
	h := structures.Murmur64A([]byte(item), 0)
	fp := byte(h%255 + 1)
	for {
		for k := len(m.subs) - 1; k >= 0; k-- {
			if m.put(k, h, h^uint64(fp)*mixer, fp) {
				m.items++
				return true
			}
		}
		top := len(m.subs) - 1
		before := slices.Clone(m.subs[top])
		n := uint64(len(before)) / m.size
		i, hand, v := h%n, fp, uint64(0)
		for range m.iterations {
			b := m.bucket(top, i)
			b[v], hand = hand, b[v]
			i = (i ^ uint64(hand)*mixer) % n
			if e := bytes.IndexByte(m.bucket(top, i), 0); e >= 0 {
				m.bucket(top, i)[e] = hand
				m.items++
				return true
			}
			v = (v + 1) % m.size
		}
		m.subs[top] = before
		if m.growth == 0 {
			return false
		}
		m.subs = append(m.subs, make([]byte, uint64(len(before))*m.growth))
	}
}

func (m *model) remove(item string) bool {
	h := structures.Murmur64A([]byte(item), 0)
	fp := byte(h%255 + 1)
	for k := len(m.subs) - 1; k >= 0; k-- {
		for _, x := range []uint64{h, h ^ uint64(fp)*mixer} {
			i := bytes.IndexByte(m.bucket(k, x), fp)
			if i < 0 {
				continue
			}
			m.bucket(k, x)[i] = 0
			m.items, m.deletes = m.items-1, m.deletes+1
			if len(m.subs) > 1 && float64(m.deletes) > 0.1*float64(m.items) {
				m.compact(false)
			}
			return true
		}
	}
	return false
}

func (m *model) compact(all bool) {
	for k := len(m.subs) - 1; k > 0; k-- {
		stays := false
		for slot, fp := range m.subs[k] {
			if fp == 0 {
				continue
			}
			b, moved := uint64(slot)/m.size, false
			for older := 0; older < k && !moved; older++ {
				moved = m.put(older, b, b^uint64(fp)*mixer, fp)
			}
			if moved {
				m.subs[k][slot] = 0
			}
			stays = stays || !moved
		}
		if !stays && k == len(m.subs)-1 {
			m.subs = m.subs[:k]
		}
		if stays && !all {
			break
		}
	}
	m.deletes = 0
}

func (m *model) check(t *testing.T, f *Filter) {
	t.Helper()
	if i := f.Info(); i.Items != m.items || i.Deletes != m.deletes || i.Filters != len(m.subs) {
		t.Fatalf("got %+v, want %d items, %d deletes, %d sub-filters", i, m.items, m.deletes, len(m.subs))
	}
	for k, sub := range m.subs {
		if got, _ := f.Array(k).Append(nil, 0, f.Array(k).Size()); !bytes.Equal(got, sub) {
			t.Fatalf("sub-filter %d of %d differs", k, len(m.subs))
		}
	}
}

// randomFilter returns a filter of a random shape, and its model.
func randomFilter(t testing.TB, r *rand.Rand, ch *structures.Change) (*Filter, *model) {
	t.Helper()
	s := Shape{BucketSize: uint64(1 + r.IntN(6)), Iterations: uint64(1 + r.IntN(40)), Expansion: uint64(r.IntN(4))}
	s.Capacity = 2*s.BucketSize + r.Uint64N(400)
	f := New()
	if err := f.Reserve(ch, s, 1<<30); err != nil {
		t.Fatal(err)
	}
	m := &model{size: s.BucketSize, iterations: s.Iterations, growth: []uint64{0, 1, 2, 4}[s.Expansion]}
	n := uint64(1)
	for n < s.Capacity/s.BucketSize {
		n *= 2
	}
	m.subs = [][]byte{make([]byte, n*s.BucketSize)}
	return f, m
}

// Slots, counters and results are those of the model, through replay, disk and records.
func TestFilterDoesWhatTheModelDoes(t *testing.T) {
	r := structurestest.Seeded(t)
	grown, compacted, full := 0, 0, 0
	for range 60 {
		var ch structures.Change
		f, m := randomFilter(t, r, &ch)
		shelf := structurestest.Shelf{}
		live := map[string]bool{}
		for step := range 1500 {
			item := fmt.Sprint(r.IntN(600))
			filters := len(m.subs)
			switch r.IntN(12) + step/500%2*-6 {
			case -6, -5, -4, -3, -2, -1:
				for one := range live { // items of this filter, so that it shrinks
					item = one
					break
				}
				fallthrough
			case 0, 1, 2, 3:
				if got := f.Delete(&ch, []byte(item)); got != m.remove(item) {
					t.Fatalf("Delete %s: got %v", item, got)
				}
				delete(live, item)
				compacted += filters - len(m.subs)
			case 4:
				if r.IntN(20) == 0 {
					f.Compact(&ch)
					m.compact(true)
				}
			case 5:
				shelf.Store(t, f)
			default:
				if len(m.subs) > 8 {
					continue
				}
				f.Insert(&ch, [][]byte{[]byte(item)}, Every, 1<<30, func(got Result) {
					if added := m.insert(item); added != (got == Added) {
						t.Fatalf("Insert %s: got %d", item, got)
					}
					if got == Full {
						full++
					} else {
						live[item] = true
					}
				})
				grown += len(m.subs) - filters
			}
		}
		m.check(t, f)
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		m.check(t, again)
		m.check(t, structurestest.Again(t, f, Decode))
		if f.IsCompact(1 << 20) {
			again.LoadCompact(f.AppendCompact(nil))
			m.check(t, again)
		}
		m.check(t, throughDump(t, f))
	}
	if grown == 0 || compacted == 0 || full == 0 {
		t.Errorf("grown %d times, compacted %d times, full %d times", grown, compacted, full)
	}
}

// throughDump carries a filter over as clients do.
func throughDump(t *testing.T, f *Filter) *Filter {
	t.Helper()
	if f.Items() == 0 {
		return f
	}
	var ch structures.Change
	loaded := New()
	_, header := f.DumpChunk(nil, 0)
	if err := loaded.LoadHeader(&ch, header, 1<<30); err != nil {
		t.Fatal(err)
	}
	for iter := int64(1); ; {
		next, chunk := f.DumpChunk(nil, iter)
		if next == 0 {
			break
		}
		if err := loaded.LoadChunk(&ch, next, chunk); err != nil {
			t.Fatal(err)
		}
		iter = next
	}
	again := New()
	structurestest.Replay(t, again, ch.Encoded())
	return again
}

// While nothing is deleted that was not added, what was added is there.
func TestNoItemIsEverMissing(t *testing.T) {
	r := structurestest.Seeded(t)
	f, _ := randomFilter(t, r, nil)
	f.expansion = max(f.expansion, 1)
	live := map[string]int{}
	for range 20_000 {
		item := fmt.Sprint(r.IntN(2000))
		switch {
		case live[item] > 0 && r.IntN(2) == 0:
			if !f.Delete(nil, []byte(item)) {
				t.Fatalf("%s cannot be deleted", item)
			}
			live[item]--
		case f.Arrays() < 200:
			f.Insert(nil, [][]byte{[]byte(item)}, Every, 1<<30, func(Result) {})
			live[item]++
		}
	}
	for item, n := range live {
		if n > 0 && (!f.Exists([]byte(item)) || f.Count([]byte(item)) < uint64(n)) {
			t.Fatalf("%s was added %d times, and is counted %d times", item, n, f.Count([]byte(item)))
		}
	}
}

// A million items leave as many false positives as their buckets promise: 2 * bucket size / 255 for
// each sub-filter.
func TestFalsePositivesOfAMillionItems(t *testing.T) {
	for size, n := range map[uint64]int{1: 100_000, 2: 1_000_000, 4: 100_000} {
		f := New()
		if err := f.Reserve(nil, Shape{Capacity: uint64(n), BucketSize: size, Iterations: 20, Expansion: 1}, 1<<30); err != nil {
			t.Fatal(err)
		}
		item := func(i int) []byte { return fmt.Append(nil, "item:", i) }
		for i := range n {
			f.Insert(nil, [][]byte{item(i)}, Every, 1<<30, func(Result) {})
		}
		wrong := 0
		for i := range n {
			if !f.Exists(item(i)) {
				t.Fatalf("item %d is missing", i)
			}
			if f.Exists(item(-1 - i)) {
				wrong++
			}
		}
		if bound := 2 * float64(size) * float64(f.Arrays()) / 255 * float64(n); float64(wrong) > bound {
			t.Errorf("buckets of %d: %d of %d false positives, want up to %.0f", size, wrong, n, bound)
		}
		t.Logf("buckets of %d: %d sub-filters, %.2f %% false positives", size, f.Arrays(), float64(wrong)/float64(n)*100)
	}
}

// Items without end for a filter that is full, or that grows by tiny steps, with as many moves for each as
// there can be: the call ends soon, and replay leaves the same slots.
func TestItemsWithoutRoomEndSoon(t *testing.T) {
	var items [][]byte
	for i := range 30_000 {
		items = append(items, fmt.Append(nil, i))
	}
	for _, s := range []Shape{
		{Capacity: 1000, BucketSize: 2, Iterations: MaxIterations, Expansion: 0}, {Capacity: 8, BucketSize: 2, Iterations: MaxIterations, Expansion: 1},
	} {
		var ch structures.Change
		f, refused := New(), 0
		if err := f.Reserve(&ch, s, noLimit); err != nil {
			t.Fatal(err)
		}
		f.Insert(&ch, items, Every, 20_000, func(r Result) {
			if r != Added {
				refused++
			}
		})
		if maxMoves-f.moves > maxMoves+MaxIterations || f.moves > 0 || refused == 0 {
			t.Errorf("%+v: %d moves are left, %d items were refused", s, f.moves, refused)
		}
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		if throughChunks(f) != throughChunks(again) || f.Info() != again.Info() {
			t.Errorf("%+v: replay leaves other slots", s)
		}
	}
}

const noLimit = 1 << 30

// throughChunks is all that a dump has.
func throughChunks(f *Filter) string {
	var out []byte
	for iter := int64(0); ; {
		next, chunk := f.DumpChunk(nil, iter)
		if next == 0 {
			return string(out)
		}
		out, iter = append(out, chunk...), next
	}
}

func TestReserveChecksShapeAndLimit(t *testing.T) {
	good := Shape{Capacity: 1000, BucketSize: 2, Iterations: 20, Expansion: 3}
	for _, change := range []func(*Shape){
		func(s *Shape) { s.Capacity = 3 }, func(s *Shape) { s.Capacity = MaxCapacity + 1 }, func(s *Shape) { s.BucketSize = 0 },
		func(s *Shape) { s.BucketSize = 256 }, func(s *Shape) { s.Iterations = 0 }, func(s *Shape) { s.Iterations = 65536 },
		func(s *Shape) { s.Expansion = 32769 },
	} {
		s := good
		change(&s)
		if err := New().Reserve(nil, s, 1<<30); !errors.Is(err, ErrParams) {
			t.Errorf("%+v: got %v", s, err)
		}
	}
	f := New()
	if err := f.Reserve(nil, good, 1023); !errors.Is(err, ErrMemory) {
		t.Errorf("1024 slots where 1023 are allowed: got %v", err)
	}
	if err := f.Reserve(nil, good, 1024); err != nil || f.Info().Expansion != 4 || f.Info().Buckets != 512 || f.Info().Bytes != 1080 {
		t.Errorf("1024 slots where 1024 are allowed: got %v, %+v", err, f.Info())
	}
	refused := 0
	for i := range 3000 {
		f.Insert(nil, [][]byte{fmt.Append(nil, i)}, Every, 5119, func(r Result) {
			if r == Memory {
				refused++
			}
		})
	}
	if refused == 0 || f.Arrays() != 1 {
		t.Errorf("%d refused for memory, %d sub-filters", refused, f.Arrays())
	}
	large := New()
	if err := large.Reserve(nil, Shape{Capacity: 1 << 30, BucketSize: 2, Iterations: 20, Expansion: 1}, 1<<30); err != nil || large.Size() > 1000 {
		t.Errorf("an empty filter of 1 GB: %v, %d bytes", err, large.Size())
	}
}

func TestHeadersThatLieAreRefusedBeforeMemoryIsAskedFor(t *testing.T) {
	f := New()
	if err := f.Reserve(nil, Shape{Capacity: 100, BucketSize: 2, Iterations: 20, Expansion: 2}, 1<<30); err != nil {
		t.Fatal(err)
	}
	good := f.appendHeader(nil)
	with := func(off int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[off:], b)
		return out
	}
	for name, header := range map[string][]byte{
		"short": good[:37], "long": append(bytes.Clone(good), 0), "no sub-filters": with(24, 0), "65537 sub-filters": with(24, 1, 0, 1),
		"bucket size 0": with(32, 0), "bucket size 256": with(32, 0, 1), "iterations 0": with(34, 0, 0), "expansion": with(36, 1, 0x80),
		"two that do not grow": with(24, append(append([]byte{2}, make([]byte, 7)...), 2, 0, 20, 0, 0, 0)...),
		"buckets 0":            with(8, 0), "buckets 3": with(8, 3), "2^56 buckets": with(8, 0, 0, 0, 0, 0, 0, 0, 1),
	} {
		if err := New().LoadHeader(nil, header, 1<<40); !errors.Is(err, ErrBadHeader) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, header := range map[string][]byte{
		"2^55 buckets": with(8, 0, 0, 0, 0, 0, 0, 0x80), "65536 doublings": with(24, 0, 0, 1), "32768^12": with(24, append(append([]byte{12}, make([]byte, 7)...), 2, 0, 20, 0, 0, 0x80)...),
	} {
		if err := New().LoadHeader(nil, header, 1<<40); !errors.Is(err, ErrMemory) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	f.Insert(nil, [][]byte{[]byte("a")}, Every, 1<<30, func(Result) {})
	for _, c := range []struct {
		iter int64
		n    int
	}{{0, 0}, {-5, 1}, {5, 0}, {3, 3}, {1 + 129, 2}, {1 << 62, 5}, {1 + 128, 129}} {
		if err := f.LoadChunk(nil, c.iter, make([]byte, c.n)); !errors.Is(err, ErrBadChunk) {
			t.Errorf("chunk %d of %d bytes: got %v", c.iter, c.n, err)
		}
	}
}

func TestEncodingIsFrozen(t *testing.T) {
	var ch structures.Change
	f := New()
	if err := f.Reserve(&ch, Shape{Capacity: 4, BucketSize: 2, Iterations: 20, Expansion: 1}, 1<<30); err != nil {
		t.Fatal(err)
	}
	f.Insert(&ch, [][]byte{[]byte("a"), []byte("b")}, Every, 1<<30, func(Result) {})
	f.Delete(&ch, []byte("b"))
	f.Compact(&ch)
	if err := f.LoadChunk(&ch, 4, []byte("x")); err != nil {
		t.Fatal(err)
	}
	want := "\x10\x04\x01\x04\x01\x02\x01\x14\x01\x01" + "\x11\x02\x01a\x01b" + "\x12\x01\x01b" + "\x13\x00" + "\x15\x02\x01\x02\x01x"
	if got := string(ch.Encoded()); got != want {
		t.Errorf("record: got %q, want %q", got, want)
	}
	head := "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x14\x00\x01\x00" + "\x00\x01\x00\x03"
	if got := string(f.AppendHead(nil)); got[:len(head)] != head || len(got) != len(head)+3 {
		t.Errorf("head: got %q, want %q and 3 slots", got, head)
	}
}

func FuzzDecodeCuckoo(f *testing.F) {
	small := New()
	if err := small.Reserve(nil, Shape{Capacity: 100, BucketSize: 2, Iterations: 20, Expansion: 2}, 1<<20); err != nil {
		f.Fatal(err)
	}
	small.Insert(nil, [][]byte{[]byte("a")}, Every, 1<<20, func(Result) {})
	f.Add(small.AppendHead(nil), []byte("\x11\x01\x01a\x12\x01\x01a\x13\x00"))
	f.Add(New().AppendHead(nil), []byte("\x10\x04\x01\x04\x01\x02\x01\x14\x01\x01\x11\x02\x01a\x01b"))
	f.Add(New().AppendHead(nil), append([]byte("\x14\x01\x26"), small.appendHeader(nil)...))
	f.Fuzz(func(t *testing.T, head, record []byte) {
		c, err := Decode(head)
		if err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if c.Size() > 1<<24+200*len(head) {
			t.Fatalf("%d bytes of a head of %d", c.Size(), len(head))
		}
		if pages, _ := c.Evicted(); pages > 0 {
			return
		}
		_ = structurestest.Apply(c, record)
		c.Exists([]byte("x"))
		if c.Bytes() > 1<<20 {
			return
		}
		structurestest.Again(t, c, Decode)
	})
}

func BenchmarkInsert(b *testing.B) {
	f := New()
	if err := f.Reserve(nil, Shape{Capacity: 1 << 24, BucketSize: 2, Iterations: 20, Expansion: 1}, cells.MaxBytes); err != nil {
		b.Fatal(err)
	}
	var ch structures.Change
	item := [][]byte{nil}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ch.Reset(1 << 20)
		item[0] = fmt.Append(item[0][:0], "item:", i)
		f.Insert(&ch, item, Every, cells.MaxBytes, func(Result) {})
	}
}
