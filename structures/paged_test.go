package structures_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/structurestest"
)

// pagedModel is a value, what it should hold, and how it is told.
type pagedModel interface {
	decode(head []byte) (structures.Paged, error)
	change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change)
	check(t testing.TB, r *rand.Rand, v structures.Paged)
	create() structures.Paged
}

// TestPagesComeAndGo works on values whose pages leave memory all the time, and
// which are made anew from their head.
func TestPagesComeAndGo(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for name, create := range map[string]func() pagedModel{
		"hash":            func() pagedModel { return &hashModel{fields: map[string]string{}} },
		"set":             func() pagedModel { return &setModel{members: map[string]bool{}, words: 3} },
		"set of integers": func() pagedModel { return &setModel{members: map[string]bool{}} },
		"list":            func() pagedModel { return &listModel{} },
		"bloom":           func() pagedModel { return &bloomModel{items: map[string]bool{}} },
		"count-min":       func() pagedModel { return &countModel{counts: map[string]uint32{}} },
		"cuckoo":          func() pagedModel { return &cuckooModel{items: map[string]int{}} },
		"zset":            func() pagedModel { return &zsetModel{scores: map[string]float64{}} },
		"json":            func() pagedModel { return &jsonModel{} },
		"stream": func() pagedModel {
			return &streamModel{groups: map[string]*groupModel{}, limits: stream.PageLimits{Bytes: 4096, Entries: 20}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			var evicted, evict, amid int
			for range 4 {
				a, s, m := pagedLife(t, r, create())
				evicted, evict, amid = evicted+a, evict+s, amid+m
			}
			// In one life a value may stay small, and no page of it go while it is stored.
			if evicted < 400 || evict == 0 || amid == 0 {
				t.Errorf("pages were evicted in %d steps only, %d bytes left memory, and %d while the value was stored", evicted, evict, amid)
			}
		})
	}
}

// pagedLife returns in how many steps pages were evicted, and how many bytes left memory: between
// changes, and while the value was stored.
func pagedLife(t *testing.T, r *rand.Rand, m pagedModel) (evicted, evict, amid int) {
	d := &pagedDisk{pages: map[uint64][]byte{}}
	v, twin := m.create(), m.create()
	v.SetPager(d)
	for step := range 1500 {
		d.room, d.tight = r.IntN(2) == 0, r.IntN(4) == 0
		change := func() {
			var ch structures.Change
			m.change(t, r, v, &ch)
			d.journal = append(d.journal, ch.Encoded()...)
			replay(t, twin, ch.Encoded())
		}
		change()
		switch r.IntN(12) {
		case 0, 1:
			d.storeAmid(t, v, r, func() {
				change()
				freed, _ := v.Evict(r.IntN(64 << 10))
				amid += freed
			})
		case 2:
			d.store(t, v, r)
			v = d.start(t, m)
		case 4:
			// A batch that could not be written, or was about to be. Then all may end.
			d.gather(t, v, r, func() {
				change()
				v.Evict(r.IntN(64 << 10))
			})
			if d.head != nil && r.IntN(2) == 0 {
				d.batch, d.staged = nil, nil
				v = d.start(t, m)
			}
		case 3:
			if r.IntN(4) == 0 && !v.LoadAll() {
				t.Fatal("not gathered")
			}
		default:
			freed, _ := v.Evict(r.IntN(64 << 10))
			evict += freed
		}
		n, bytes := v.Evicted()
		if n > 0 {
			evicted++
		}
		if n > 0 != (bytes > 0) {
			t.Fatalf("step %d: %d pages of %d bytes are evicted", step, n, bytes)
		}
		if step%10 == 0 {
			m.check(t, r, v)
			m.check(t, r, twin)
		}
		if d.failed {
			t.Fatal("a page is missing")
		}
	}
	if d.head != nil {
		d.store(t, v, r)
	}
	words, isSet := m.(*setModel)
	if _, ok := v.(structures.Incremental); ok && d.deltas < 20 && !(isSet && words.words == 0) {
		t.Errorf("%d deltas were written", d.deltas)
	}
	// With a disk that cannot be read a change is made or not, and recorded if it is.
	for i := range 100 {
		d.store(t, v, r)
		for v.SetPager(d); ; {
			if f, _ := v.Evict(1 << 30); f == 0 {
				break
			}
		}
		var ch structures.Change
		d.broken, d.failed, d.good = true, false, r.IntN(4)
		v.Evict(1 << 30)
		n, _ := v.Evicted()
		before := v.AppendHead(nil)
		m.change(t, r, v, &ch)
		failed := d.failed
		d.broken, d.failed = false, false
		if failed && (n == 0 || ch.Len() > 0) {
			t.Fatalf("%d pages evicted: a change that failed recorded %d bytes", n, ch.Len())
		}
		if failed && string(v.AppendHead(nil)) != string(before) {
			t.Fatal("a change that failed changed the head")
		}
		d.journal = append(d.journal, ch.Encoded()...)
		replay(t, twin, ch.Encoded())
		if i%20 == 0 {
			m.check(t, r, v)
			m.check(t, r, twin)
		}
	}
	return evicted, evict, amid
}

// start makes a value anew of what the disk has.
func (d *pagedDisk) start(t testing.TB, m pagedModel) structures.Paged {
	t.Helper()
	v, err := m.decode(d.head)
	if err != nil {
		t.Fatal(err)
	}
	v.SetPager(d)
	if n, _ := v.Evicted(); n < len(d.pages) {
		for id, page := range d.pages {
			if from, ok := v.(interface{ ResidentFrom() uint64 }); n == 0 || ok && id >= from.ResidentFrom() {
				err = errors.Join(err, v.SetPage(id, page))
			}
		}
	}
	if err = errors.Join(err, v.(interface{ Complete() error }).Complete()); err != nil {
		t.Fatal(err)
	}
	v.Clean()
	replay(t, v, d.journal)
	return v
}

// replay makes recorded changes.
func replay(t testing.TB, v structures.Paged, recorded []byte) {
	t.Helper()
	for len(recorded) > 0 {
		var op byte
		var args structures.Args
		var err error
		if op, args, recorded, err = structures.NextOp(recorded); err == nil {
			err = v.Apply(op, &args)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

type hashModel struct{ fields map[string]string }

var pagedKeys structures.HashKeys

func (m *hashModel) create() structures.Paged { return hash.New(&pagedKeys) }
func (m *hashModel) decode(head []byte) (structures.Paged, error) {
	return hash.Decode(head, &pagedKeys)
}

func (m *hashModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	h := v.(*hash.Hash)
	name := fmt.Sprint("field-", r.IntN(600))
	before := ch.Len()
	switch r.IntN(6) {
	case 0:
		if h.Delete(ch, []byte(name)) {
			delete(m.fields, name)
		}
	case 1:
		h.ExpireAt(ch, []byte(name), 1<<40)
	case 2:
		if field, _, ok := h.Random(0, r.IntN); ok {
			if _, there := m.fields[string(field)]; !there {
				t.Fatalf("random field %q is not there", field)
			}
		}
	case 3:
		// A new field gets another value before its page is read.
		first, second := fmt.Sprintf("%0*d", r.IntN(600), r.IntN(100)), fmt.Sprintf("%0*d", r.IntN(600), r.IntN(100))
		if h.ReadyPut(2, []byte(name), []byte(first), []byte(name), []byte(second)) {
			h.Set(ch, []byte(name), []byte(first))
			h.Set(ch, []byte(name), []byte(second))
			m.fields[name] = second
		}
	default:
		value := fmt.Sprintf("%0*d", r.IntN(600), r.IntN(100))
		h.SetKeepTTL(ch, []byte(name), []byte(value))
		if ch.Len() > before {
			m.fields[name] = value
		}
	}
}

func (m *hashModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	h := v.(*hash.Hash)
	got := map[string]string{}
	switch r.IntN(3) {
	case 0:
		h.Each(0, func(field, value []byte, _ int64) { got[string(field)] = string(value) })
	case 1:
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return h.Scan(cursor, 10, 0, func(field, value []byte) { got[string(field)] = string(value) })
		})
	default:
		for name := range m.fields {
			value, _ := h.Get([]byte(name), 0)
			got[name] = string(value)
		}
	}
	if !maps.Equal(got, m.fields) || h.Len() != len(m.fields) {
		t.Fatalf("got %d fields, length %d, want %d", len(got), h.Len(), len(m.fields))
	}
}

type setModel struct {
	members map[string]bool
	words   int // of four changes
}

func (m *setModel) create() structures.Paged { return set.New(&pagedKeys) }
func (m *setModel) decode(head []byte) (structures.Paged, error) {
	return set.Decode(head, &pagedKeys)
}

func (m *setModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	s := v.(*set.Set)
	member := func() string {
		switch {
		case r.IntN(4) < m.words:
			return fmt.Sprintf("member-%0300d", r.IntN(400))
		case r.IntN(8) == 0:
			return fmt.Sprint(int64(r.IntN(100)-50) << 53) // runs of few members
		}
		return fmt.Sprint(r.IntN(8000) * 1_000_000_007)
	}
	switch n := r.IntN(12); {
	case n < 3:
		m.remove(s, ch, member())
	case n == 3:
		if drawn, ok := s.Random(r.IntN); ok && !m.members[string(drawn)] {
			t.Fatalf("random member %q is not there", drawn)
		} else if ok {
			m.remove(s, ch, string(drawn))
		}
	case n == 4 && len(m.members) > 0:
		m.removeSome(t, r, s, ch)
	default:
		added := [][]byte{[]byte(member())}
		for m.words == 0 && len(added) < 10 {
			added = append(added, []byte(member()))
		}
		if !s.Ready(added...) {
			return
		}
		for _, name := range added {
			if s.Add(ch, name) {
				m.members[string(name)] = true
			} else if !m.members[string(name)] {
				t.Fatalf("%s is not added though the set said that it is ready", name)
			}
		}
	}
}

func (m *setModel) remove(s *set.Set, ch *structures.Change, member string) {
	if s.Remove(ch, []byte(member)) {
		delete(m.members, member)
	}
}

// removeSome removes the least integers, all of several pages at times, or the greatest, in
// one command: all of them or none.
func (m *setModel) removeSome(t testing.TB, r *rand.Rand, s *set.Set, ch *structures.Change) {
	var sorted []int64
	for member := range m.members {
		if v, err := strconv.ParseInt(member, 10, 64); err == nil {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	n := min(1+r.IntN(8), len(sorted))
	if r.IntN(200) == 0 {
		n = len(sorted) - min(len(sorted), r.IntN(3))
	}
	chosen := sorted[:n]
	if r.IntN(2) == 0 {
		chosen = sorted[len(sorted)-n:]
	}
	var names [][]byte
	for _, v := range chosen {
		names = append(names, fmt.Append(nil, v))
	}
	if !s.Ready(names...) {
		return
	}
	for _, name := range names {
		if !s.Remove(ch, name) {
			t.Fatalf("%s is not removed though the set said that it is ready", name)
		}
		delete(m.members, string(name))
	}
}

func (m *setModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	s := v.(*set.Set)
	got := map[string]bool{}
	visit := func(member []byte) bool { got[string(member)] = true; return true }
	switch r.IntN(7) {
	case 0:
		s.Each(visit)
	case 1:
		set.Intersect([]*set.Set{s}, visit)
	case 2:
		set.Subtract(s, []*set.Set{set.New(&pagedKeys)}, &pagedKeys, visit)
	case 3:
		s.Sample(len(m.members), r.IntN, func(member []byte) { visit(member) })
	case 4:
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return s.Scan(cursor, 10, func(member []byte) { visit(member) })
		})
	case 5:
		n := len(m.members) / 2
		drawn := 0
		s.Sample(n, r.IntN, func(member []byte) {
			if drawn++; !m.members[string(member)] {
				t.Fatalf("sampled %q is not there", member)
			}
		})
		if drawn != n {
			t.Fatalf("%d members sampled, want %d", drawn, n)
		}
		return
	default:
		for member := range m.members {
			if s.Has([]byte(member)) {
				got[member] = true
			}
		}
	}
	if !maps.Equal(got, m.members) || s.Len() != len(m.members) {
		t.Fatalf("got %d members, length %d, want %d", len(got), s.Len(), len(m.members))
	}
}
