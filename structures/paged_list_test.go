package structures_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

type listModel struct{ elems []string }

func (m *listModel) create() structures.Paged                     { return list.New() }
func (m *listModel) decode(head []byte) (structures.Paged, error) { return list.Decode(head) }

// elem is one of a few elements, or one of a length that few others have.
func (m *listModel) elem(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return fmt.Sprint("rare-", r.IntN(30))
	}
	return fmt.Sprintf("%0*d", 1+r.IntN(900), r.IntN(5))
}

// change makes a change, and makes it in the model if it was recorded.
func (m *listModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	l, elem, n := v.(*list.List), m.elem(r), len(m.elems)
	end, before := list.End(r.IntN(2)), ch.Len()
	did := func() bool { return ch.Len() > before }
	want := func(what, got, want any) {
		t.Helper()
		if did() && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: got %.40q, want %.40q", what, got, want)
		}
	}
	op := r.IntN(40)
	if n > 0 && r.IntN(2) == 0 {
		op += 40
	}
	switch {
	case op < 45 && n < 2000:
		var elems [][]byte
		for range 1 + r.IntN(4) {
			elems = append(elems, []byte(m.elem(r)))
		}
		l.Push(ch, end, elems...)
		for i := 0; i < len(elems) && did(); i++ {
			m.put(end, string(elems[i]))
		}
	case op < 55:
		if got, _ := l.Pop(ch, end); did() {
			want("Pop", string(got), m.take(end))
		}
	case op < 58:
		var got, all []string
		count := l.PopMany(ch, end, r.IntN(60), func(e []byte) { got = append(got, string(e)) })
		for i := 0; i < count && did(); i++ {
			all = append(all, m.take(end))
		}
		want("PopMany", got, all)
	case op < 64:
		i := r.IntN(n + 1)
		if l.Set(ch, i, []byte(elem)); did() {
			m.elems[i] = elem
		}
	case op < 70:
		pivot := m.elems[r.IntN(n)]
		if l.Insert(ch, list.After, []byte(pivot), []byte(elem)); did() {
			m.elems = slices.Insert(m.elems, slices.Index(m.elems, pivot)+1, elem)
		}
	case op < 74:
		m.remove(t, l, ch, r.IntN(5)-2, elem)
	case op < 75 && n > 200:
		from := r.IntN(20)
		if l.Trim(ch, from, -1-r.IntN(20)); did() {
			m.elems = slices.Clone(m.elems[from : from+l.Len()])
		}
	default:
		got, _ := l.Rotate(ch, end, 1-end)
		if did() {
			m.put(1-end, m.take(end))
			want("Rotate", string(got), m.elems[(len(m.elems)-1)*int(1-end)])
		}
	}
}

func (m *listModel) put(end list.End, elem string) {
	if end == list.Head {
		m.elems = slices.Insert(m.elems, 0, elem)
	} else {
		m.elems = append(m.elems, elem)
	}
}

func (m *listModel) take(end list.End) (elem string) {
	at := (len(m.elems) - 1) * int(end)
	elem = m.elems[at]
	m.elems = slices.Delete(m.elems, at, at+1)
	return elem
}

func (m *listModel) remove(t testing.TB, l *list.List, ch *structures.Change, count int, elem string) {
	before, removed := ch.Len(), l.Remove(ch, count, []byte(elem))
	if ch.Len() == before {
		return
	}
	if count < 0 {
		slices.Reverse(m.elems)
	}
	left, n := max(count, -count), 0
	m.elems = slices.DeleteFunc(m.elems, func(e string) bool {
		if e != elem || count != 0 && n == left {
			return false
		}
		n++
		return true
	})
	if count < 0 {
		slices.Reverse(m.elems)
	}
	if n != removed {
		t.Fatalf("Remove: got %d, want %d", removed, n)
	}
}

func (m *listModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	l := v.(*list.List)
	var got []string
	switch r.IntN(3) {
	case 0:
		l.Range(0, -1, func(e []byte) { got = append(got, string(e)) })
	case 1:
		l.Backward(0, -1, func(e []byte) bool { got = append(got, string(e)); return true })
		slices.Reverse(got)
	default:
		for i := range m.elems {
			e, _ := l.Index(i)
			got = append(got, string(e))
		}
	}
	if !slices.Equal(got, m.elems) || l.Len() != len(m.elems) {
		t.Fatalf("got %d elements, length %d, want %d, or they differ", len(got), l.Len(), len(m.elems))
	}
	if len(got) > 0 {
		elem, first := got[len(got)/2], -1
		l.Find([]byte(elem), 1, 1, 0, func(i int) { first = i })
		if want := slices.Index(got, elem); first != want {
			t.Fatalf("Find: got %d, want %d", first, want)
		}
	}
}

// evictedList is a list of n elements of 100 bytes that begin with their indexes, without a
// page in memory.
func evictedList(t *testing.T, n int) (*list.List, *pagedDisk) {
	t.Helper()
	l, d := list.New(), &pagedDisk{pages: map[uint64][]byte{}}
	for i := range n {
		l.Push(nil, list.Tail, append(fmt.Append(nil, i), bytes.Repeat([]byte{' '}, 100-len(fmt.Sprint(i)))...))
	}
	d.store(t, l, rand.New(rand.NewPCG(1, 1)))
	l.SetPager(d)
	evictAll(l)
	return l, d
}

func evictAll(l *list.List) {
	for range 3 {
		l.Evict(1 << 30)
	}
}

func TestListReadsOnlyThePagesItNeeds(t *testing.T) {
	const pages = 125 // of 80 elements
	l, d := evictedList(t, 10_000)
	if n, size := l.Evicted(); n != pages || size != 10_000*102 || len(d.pages) != pages {
		t.Fatalf("%d pages of %d bytes are evicted, %d on disk", n, size, len(d.pages))
	}
	var ch structures.Change
	count := 0
	visit := func([]byte) { count++ }
	for _, x := range []struct {
		name    string
		do      func()
		reads   int
		evicted int // fewer than before
	}{
		{"length", func() { l.Len() }, 0, 0},
		{"push at the head", func() { l.Push(&ch, list.Head, []byte("x")) }, 1, 1},
		{"push at the tail", func() { l.Push(&ch, list.Tail, []byte("x")) }, 1, 1},
		{"pop", func() { l.Pop(&ch, list.Head) }, 1, 1},
		{"rotate", func() { l.Rotate(&ch, list.Head, list.Tail) }, 2, 2},
		{"index near the tail", func() { l.Index(-100) }, 1, 1},
		{"index in the middle", func() { l.Index(5000) }, 1, 1},
		{"set in the middle", func() { l.Set(&ch, 5000, bytes.Repeat([]byte{'y'}, 100)) }, 1, 1},
		{"set of another length", func() { l.Set(&ch, 5000, []byte("y")) }, 1, 1},
		{"range near the head", func() { l.Range(0, 99, visit) }, 2, 2},
		{"range near the tail", func() { l.Range(-100, -1, visit) }, 2, 2},
		{"range over all", func() { l.Range(0, -1, visit) }, pages, 16},
		{"range over all, backwards", func() { l.Backward(0, -1, func([]byte) bool { return true }) }, pages, 16},
		{"find near the head", func() { l.Find([]byte("x"), 1, 1, 100, func(int) {}) }, 2, 2},
		{"trim", func() { l.Trim(&ch, 1010, -1010) }, 2, 2 + 2*12},
		{"pop many", func() { l.PopMany(&ch, list.Head, 405, nil) }, 1, 1 + 5},
		{"pop and see many", func() { l.PopMany(&ch, list.Tail, 405, visit) }, 6, 1 + 5},
		{"remove nothing", func() { l.Remove(&ch, 0, []byte("not there")) }, pages, 0},
		{"remove one", func() { e, _ := l.Index(5000); l.Remove(&ch, 0, e) }, pages, 1},
	} {
		l, d = evictedList(t, 10_000)
		count, d.reads = 0, 0
		x.do()
		if n, _ := l.Evicted(); d.reads != x.reads || pages-n != x.evicted {
			t.Errorf("%s: %d reads, %d pages fewer are evicted; want %d, %d", x.name, d.reads, pages-n, x.reads, x.evicted)
		}
	}
	d.reads, d.room = 0, true
	l.Range(0, -1, visit)
	if n, _ := l.Evicted(); n != 0 {
		t.Errorf("with room %d pages are evicted after a walk over all of them", n)
	}
}

// Elements that are put between two others all the time use up the numbers between
// their pages, and those around them get others.
func TestNumbersOfPagesThatAreEvictedRunOut(t *testing.T) {
	l, d := evictedList(t, 4000)
	r := rand.New(rand.NewPCG(1, 1))
	pivot, _ := l.Index(200)
	pivot = bytes.Clone(pivot)
	for i := range 60 {
		if _, ok := l.Insert(nil, list.Before, pivot, bytes.Repeat([]byte{'x'}, 8000)); !ok {
			t.Fatalf("insertion %d did not find its place", i)
		}
		d.store(t, l, r)
		evictAll(l)
	}
	if d.failed || l.Len() != 4060 {
		t.Fatalf("failed %v, length %d", d.failed, l.Len())
	}
	count := 0
	l.Range(0, -1, func(e []byte) {
		if e[0] != 'x' {
			if string(e[:len(fmt.Sprint(count))]) != fmt.Sprint(count) {
				t.Fatalf("element %d is %.10q", count, e)
			}
			count++
		}
	})
	if count != 4000 {
		t.Errorf("%d elements are left", count)
	}
}

// Where numbers have run out, other pages get new ones, which needs them in memory: if
// they cannot be read, the list stays as it is.
func TestNumbersThatRanOutNeedPagesAround(t *testing.T) {
	for _, side := range []list.Side{list.Before, list.After} {
		l, d := evictedList(t, 4000)
		r := rand.New(rand.NewPCG(1, 1))
		at := 79 // the last element of the first page, or the first one of the second
		if side == list.Before {
			at = 80
		}
		pivot, _ := l.Index(at)
		pivot = bytes.Clone(pivot)
		refused := 0
		for i := range 60 {
			evictAll(l)
			l.Range(0, 79, func([]byte) {})
			for at := 80; side == list.Before && at <= 80+i; at++ {
				l.Index(at) // in the pages in which the pivot is looked for
			}
			head := l.AppendHead(nil)
			var ch structures.Change
			d.broken = true
			_, ok := l.Insert(&ch, side, pivot, bytes.Repeat([]byte{'x'}, 8000))
			d.broken = false
			switch {
			case ok == d.failed || ok != (ch.Len() > 0):
				t.Fatalf("side %v, insertion %d: done %v, failed %v, %d bytes recorded", side, i, ok, d.failed, ch.Len())
			case !ok:
				refused++
				if string(l.AppendHead(nil)) != string(head) {
					t.Fatalf("side %v, insertion %d changed the head though it failed", side, i)
				}
				d.failed = false
				if _, ok := l.Insert(nil, side, pivot, bytes.Repeat([]byte{'x'}, 8000)); !ok {
					t.Fatalf("side %v, insertion %d did not find its place", side, i)
				}
			}
			d.store(t, l, r)
		}
		if refused == 0 || refused == 60 {
			t.Errorf("side %v: %d insertions of 60 needed other pages", side, refused)
		}
		count := 0
		l.Range(0, -1, func(e []byte) {
			if e[0] != 'x' {
				if string(e[:len(fmt.Sprint(count))]) != fmt.Sprint(count) {
					t.Fatalf("side %v: element %d is %.10q", side, count, e)
				}
				count++
			}
		})
		if count != 4000 || l.Len() != 4060 {
			t.Errorf("side %v: %d elements are left, length %d", side, count, l.Len())
		}
	}
}

// What is left of a list with pages can be so small that it belongs into its head: then
// the page on disk must go.
func TestSmallRestOfAListWithPages(t *testing.T) {
	l, d := evictedList(t, 1000)
	r := rand.New(rand.NewPCG(1, 1))
	l.Trim(nil, 80*3, 80*4-1)
	d.store(t, l, r)
	if n, _ := l.Evicted(); n != 1 || len(d.pages) != 1 || l.IsCompact(1<<20) {
		t.Fatalf("%d pages are evicted, %d on disk, compact %v", n, len(d.pages), l.IsCompact(1<<20))
	}
	again, err := list.Decode(d.head)
	if err != nil {
		t.Fatal(err)
	}
	again.SetPager(d)
	for id, page := range d.pages {
		if err := again.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	}
	again.Clean()
	evictAll(again)
	d.store(t, again, r)
	if n, _ := again.Evicted(); n != 0 || len(d.pages) != 0 || again.Len() != 80 {
		t.Errorf("%d pages are evicted, %d on disk, %d elements", n, len(d.pages), again.Len())
	}
}

// Nothing is popped if the page at the other end cannot be read.
func TestRotationThatFailsChangesNothing(t *testing.T) {
	l, d := evictedList(t, 1000)
	first, _ := l.Index(0)
	want := string(first)
	for _, ends := range [][2]list.End{{list.Head, list.Tail}, {list.Tail, list.Head}} {
		evictAll(l)
		l.Index(-int(ends[1])) // the end to which the element goes is in memory
		d.broken, d.failed = true, false
		var ch structures.Change
		if _, ok := l.Rotate(&ch, ends[0], ends[1]); ok || ch.Len() > 0 || !d.failed || l.Len() != 1000 {
			t.Errorf("from %d: rotated %v, recorded %d bytes, failed %v, length %d", ends[0], ok, ch.Len(), d.failed, l.Len())
		}
		d.broken, d.failed = false, false
	}
	if e, _ := l.Index(0); string(e) != want {
		t.Errorf("first element %.10q, want %.10q", e, want)
	}
}

func TestRemovalReadsOnlyUpToItsCount(t *testing.T) {
	l, d := evictedList(t, 1000)
	e, _ := l.Index(100)
	elem := bytes.Clone(e)
	evictAll(l)
	d.reads = 0
	if n := l.Remove(nil, 1, elem); n != 1 || d.reads != 2 {
		t.Errorf("%d removed, %d pages read; want 1, 2", n, d.reads)
	}
}

// What is left in a node joins the one before it only if that is in memory.
func TestNodesDoNotJoinOnesThatAreEvicted(t *testing.T) {
	l, d := evictedList(t, 400)
	r := rand.New(rand.NewPCG(1, 1))
	for _, page := range []int{2, 3} { // so that both fit into half a node
		for i := range 60 {
			l.Set(nil, 80*page+i, []byte("gone"))
		}
	}
	l.Remove(nil, 100, []byte("gone"))
	d.store(t, l, r)
	evictAll(l)
	before := l.Len()
	at := 0
	l.Range(0, -1, func(e []byte) {
		if string(e) == "gone" {
			at++
		}
	})
	evictAll(l)
	if n := l.Remove(nil, 0, []byte("gone")); n != at || l.Len() != before-n {
		t.Fatalf("%d removed of %d, length %d", n, at, l.Len())
	}
	d.store(t, l, r)
	var got []string
	l.Range(0, -1, func(e []byte) { got = append(got, string(bytes.TrimSpace(e))) })
	if len(got) != before-at || slices.Contains(got, "gone") || d.failed {
		t.Errorf("%d elements, failed %v", len(got), d.failed)
	}
}

// Numbers next to 0 are such that no node can be opened before: all pages are read.
func TestNumbersBeyondTheEndRunOut(t *testing.T) {
	elems := func(first byte) []byte {
		return bytes.Repeat(append([]byte{99}, bytes.Repeat([]byte{first}, 99)...), 80)
	}
	head := []byte{2, 160, 1, 2} // 160 elements in 2 pages, of 80 elements and 8080 bytes
	for range 2 {
		head = append(head, 1, 80, 0xf0, 0x3e)
	}
	const used = 80 * 101
	head[6], head[7] = byte(used&0x7f|0x80), byte(used>>7)
	head[10], head[11] = byte(used&0x7f|0x80), byte(used>>7)
	l, err := list.Decode(head)
	if err != nil {
		t.Fatal(err)
	}
	d := &pagedDisk{pages: map[uint64][]byte{1: elems('a'), 2: elems('b')}, head: head}
	l.SetPager(d)
	l.Clean()
	for range 4 {
		l.Push(nil, list.Head, bytes.Repeat([]byte{'n'}, 8000))
	}
	if n, _ := l.Evicted(); n != 0 || d.failed || l.Len() != 164 {
		t.Fatalf("%d pages evicted, failed %v, length %d", n, d.failed, l.Len())
	}
	d.store(t, l, rand.New(rand.NewPCG(1, 2)))
	if e, _ := l.Index(4); e[0] != 'a' {
		t.Errorf("element 4 begins with %c", e[0])
	}
}

// A list that does not change while it is encoded in parts is encoded once.
func TestPartsOfAListEnd(t *testing.T) {
	l, d := evictedList(t, 4000)
	l.LoadAll()
	for i := range 40 {
		l.Set(nil, i*100, []byte("x"))
	}
	parts, pages := 0, map[uint64]bool{}
	for more := true; more; parts++ {
		more = l.Flush(7, func(id uint64, _ []byte) {
			if pages[id] {
				t.Errorf("page %x comes twice", id)
			}
			pages[id] = true
		})
		if parts > 10 {
			t.Fatal("parts do not end")
		}
	}
	l.Pages(false, func(id uint64, _ []byte) { pages[id] = true })
	if len(pages) < 30 || len(pages) > len(d.pages) {
		t.Errorf("%d pages in %d parts", len(pages), parts)
	}
}
