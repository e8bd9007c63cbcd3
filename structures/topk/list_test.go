package topk

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

func made(t testing.TB, ch *structures.Change, s Shape) *List {
	t.Helper()
	l := New()
	if err := l.Init(ch, s, 1<<30); err != nil {
		t.Fatal(err)
	}
	return l
}

// model is a list as plain slices.
type model struct {
	s       Shape
	buckets []uint64
	heap    []entry
}

func (m *model) sink(i int) {
	for first := true; ; first = false {
		c := 2*i + 1
		if c >= len(m.heap) {
			return
		}
		if c+1 < len(m.heap) && m.heap[c+1].count < m.heap[c].count {
			c++
		}
		if m.heap[c].count > m.heap[i].count || m.heap[c].count == m.heap[i].count && !first {
			return
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
}

func (m *model) add(src *source, item string, n uint32) (dropped string, ok bool) {
	print, most := structures.Murmur32([]byte(item), 1919), uint32(0)
	for row := range m.s.Depth {
		b := &m.buckets[row*m.s.Width+uint64(structures.Murmur32([]byte(item), uint32(row)))%m.s.Width]
		fp, c := uint32(*b), uint32(*b>>32)
		switch {
		case c == 0:
			fp, c = print, n
		case fp == print:
			c += n
		default:
			for left := n; left > 0; left-- {
				chance := 1.0
				for range c {
					chance *= m.s.Decay
				}
				if chance < 0x1p-60 {
					break
				}
				if src.draw() < chance {
					if c--; c == 0 {
						fp, c = print, left
						break
					}
				}
			}
		}
		*b = uint64(c)<<32 | uint64(fp)
		if fp == print {
			most = max(most, c)
		}
	}
	if most < m.heap[0].count {
		return "", false
	}
	for i := range m.heap {
		if m.heap[i].used && string(m.heap[i].item) == item {
			m.heap[i].count = most
			m.sink(i)
			return "", false
		}
	}
	dropped, ok = string(m.heap[0].item), m.heap[0].used
	m.heap[0] = entry{print, most, true, []byte(item)}
	m.sink(0)
	return dropped, ok
}

// Buckets, places in the heap and what falls out are those of the model, through replay, disk and records.
func TestListDoesWhatTheModelDoes(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 60 {
		var ch structures.Change
		s := Shape{K: 1 + r.Uint64N(200), Width: 1 + r.Uint64N(300), Depth: 1 + r.Uint64N(6), Decay: 0.5 + r.Float64()/2}
		l, m := made(t, &ch, s), &model{s: s, buckets: make([]uint64, s.Width*s.Depth), heap: make([]entry, s.K)}
		z, shelf := rand.NewZipf(r, 1.2, 1, 2000), structurestest.Shelf{}
		for range 400 {
			seed, pairs := r.Uint64(), make([]Pair, 1+r.IntN(3))
			for i := range pairs {
				pairs[i] = Pair{fmt.Append(nil, z.Uint64()), uint32(r.IntN(2) * r.IntN(20))}
			}
			src, i := source{seed}, 0
			l.Add(&ch, seed, pairs, func(dropped []byte, ok bool) {
				want, wantOK := m.add(&src, string(pairs[i].Item), pairs[i].N)
				if string(dropped) != want || ok != wantOK {
					t.Fatalf("dropped %q, %v, want %q, %v", dropped, ok, want, wantOK)
				}
				i++
			})
			if r.IntN(20) == 0 {
				shelf.Store(t, l)
			}
		}
		check := func(what string, l *List) {
			t.Helper()
			for i, e := range m.heap {
				if got := l.heap.at(uint64(i)); string(got.item) != string(e.item) || got.count != e.count || got.print != e.print || got.used != e.used {
					t.Fatalf("%s, place %d: got %+v, want %+v", what, i, got, e)
				}
				if e.used && !l.Has(e.item) {
					t.Fatalf("%s: %q is not found", what, e.item)
				}
			}
			for i, b := range m.buckets {
				if got := l.Array(0).Uint64(uint64(i) * 8); got != b {
					t.Fatalf("%s, bucket %d: got %x, want %x", what, i, got, b)
				}
			}
		}
		check("list", l)
		again := New()
		structurestest.Replay(t, again, ch.Encoded())
		check("replayed", again)
		check("stored", structurestest.Again(t, l, Decode))
	}
}

// The ten most frequent items of a Zipf stream are in a list of ten.
func TestHeavyHittersOfAZipfStreamAreFound(t *testing.T) {
	r := structurestest.Seeded(t)
	l := made(t, nil, Shape{K: 10, Width: 1000, Depth: 5, Decay: 0.9})
	z, truth := rand.NewZipf(r, 1.1, 1, 1<<20), map[uint64]int{}
	for range 1_000_000 {
		x := z.Uint64()
		truth[x]++
		l.Add(nil, r.Uint64(), []Pair{{fmt.Append(nil, x), 1}}, func([]byte, bool) {})
	}
	var order []uint64
	for x := range truth {
		order = append(order, x)
	}
	sort.Slice(order, func(i, j int) bool { return truth[order[i]] > truth[order[j]] })
	missing := 0
	for _, x := range order[:10] {
		if !l.Has(fmt.Append(nil, x)) {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of the ten most frequent items are missing: %v", missing, l.Entries())
	}
	for _, e := range l.Entries() {
		var x uint64
		fmt.Sscan(string(e.Item), &x)
		if n := truth[x]; int(e.Count) > n {
			t.Errorf("%d was counted %d times, the list says %d", x, n, e.Count)
		}
	}
}

func TestInitRefusesWhatIsTooLarge(t *testing.T) {
	good := DefaultShape(10)
	for _, change := range []func(*Shape){
		func(s *Shape) { s.K = 0 }, func(s *Shape) { s.K = 1 << 32 }, func(s *Shape) { s.K = 1 << 26 }, func(s *Shape) { s.Width = 0 }, func(s *Shape) { s.Depth = 1 << 31 },
		func(s *Shape) { s.Width, s.Depth = math.MaxUint32, math.MaxUint32 }, func(s *Shape) { s.Decay = 0 }, func(s *Shape) { s.Decay = 1.5 }, func(s *Shape) { s.Decay = math.NaN() },
	} {
		s := good
		change(&s)
		if err := New().Init(nil, s, 1<<30); !errors.Is(err, ErrMemory) {
			t.Errorf("%+v: got %v", s, err)
		}
	}
	large := made(t, nil, Shape{K: 10_000_000, Width: 1 << 20, Depth: 50, Decay: 1})
	large.Add(nil, 1, []Pair{{[]byte("a"), 5}}, func([]byte, bool) {})
	if large.Size() > 1<<23 || len(large.Entries()) != 1 {
		t.Errorf("one of ten million items takes %d bytes", large.Size())
	}
}

func TestEncodingIsFrozen(t *testing.T) {
	var ch structures.Change
	l := made(t, &ch, Shape{K: 2, Width: 1, Depth: 1, Decay: 0.5})
	l.Add(&ch, 7, []Pair{{[]byte("a"), 300}}, func([]byte, bool) {})
	if got, want := string(ch.Encoded()), "\x10\x04\x01\x02\x01\x01\x01\x01\x08\x00\x00\x00\x00\x00\x00\xe0\x3f\x11\x03\x01\x07\x01a\x02\x2c\x01"; got != want {
		t.Errorf("record: got %q, want %q", got, want)
	}
	p := printOf([]byte("a"))
	print := string([]byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24)})
	want := "\x02\x01\x01\x00\x00\x00\x00\x00\x00\xe0\x3f\x01\x00" + "\x01\xac\x02" + print + "\x01a" + "\x00\x01\x00\x06" + print + "\x2c\x01"
	if got := string(l.AppendHead(nil)); got != want {
		t.Errorf("head: got %q, want %q", got, want)
	}
	s := source{1}
	if got := []float64{s.draw(), s.draw(), s.draw()}; fmt.Sprintf("%x", got) != "[0x1.22145bd91204bp-01 0x1.7dd71b42cb1ddp-01 0x1.f12745ddf664ap-01]" {
		t.Errorf("drawn: %x", got)
	}
}

func FuzzDecodeTopK(f *testing.F) {
	l := made(f, nil, Shape{K: 10, Width: 8, Depth: 7, Decay: 0.9})
	l.Add(nil, 1, []Pair{{[]byte("a"), 5}, {[]byte("b"), 1}}, func([]byte, bool) {})
	f.Add(l.AppendHead(nil), []byte{}, []byte("\x11\x03\x01\x07\x01a\x02\x2c\x01"))
	f.Add(New().AppendHead(nil), []byte{}, []byte("\x10\x04\x01\x02\x01\x01\x01\x01\x08\x00\x00\x00\x00\x00\x00\xe0\x3f"))
	f.Add([]byte("\x02\x01\x01\x00\x00\x00\x00\x00\x00\xe0\x3f\x01\x01\x00\x00"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x08\x01\x05abcd\x01a"), []byte{})
	f.Fuzz(func(t *testing.T, head, pages, record []byte) {
		l, err := Decode(head)
		if err != nil {
			if !errors.Is(err, structures.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		structurestest.FuzzPages(l, pages)
		if l.Complete() != nil || l.shape.Depth > 1000 {
			return
		}
		_ = structurestest.Apply(l, record)
		if l.shape.Depth > 1000 {
			return
		}
		l.Has([]byte("a"))
		l.Count([]byte("a"))
		l.Entries()
		structurestest.Again(t, l, Decode)
	})
}
