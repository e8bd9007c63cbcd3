package list

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// listModel is a list next to the plain slice that it must equal, the pages
// that a store would hold, and a copy that is fed with the records.
type listModel struct {
	t      *testing.T
	r      *rand.Rand
	list   *List
	want   []string
	ch     structures.Change
	pages  structurestest.Shelf
	copied *List
	sizes  int // bound on random element sizes
}

func (m *listModel) elem() string {
	switch n := m.r.IntN(100); {
	case n < 60:
		return fmt.Sprint(m.r.IntN(50))
	case n < 95:
		return string(bytes.Repeat([]byte{byte('a' + m.r.IntN(3))}, m.r.IntN(m.sizes)))
	default:
		return string(bytes.Repeat([]byte{'x'}, m.r.IntN(3*m.sizes)))
	}
}

func (m *listModel) index() int { return m.r.IntN(2*len(m.want)+3) - len(m.want) - 1 }

func (m *listModel) step(growing bool) {
	n := m.r.IntN(100)
	switch {
	case n < 55 && growing || n < 30:
		m.push()
	case n < 65:
		m.pop()
	case n < 75:
		m.set()
	case n < 88:
		m.insert()
	case n < 94:
		m.remove()
	case n < 95:
		m.trim()
	default:
		m.rotate()
	}
}

func (m *listModel) push() {
	end := End(m.r.IntN(2))
	var elems [][]byte
	for range 1 + m.r.IntN(4) {
		e := m.elem()
		elems = append(elems, []byte(e))
		if end == Head {
			m.want = slices.Insert(m.want, 0, e)
		} else {
			m.want = append(m.want, e)
		}
	}
	m.list.Push(&m.ch, end, elems...)
}

func (m *listModel) pop() {
	end := End(m.r.IntN(2))
	take := func() string {
		var e string
		if end == Head {
			e, m.want = m.want[0], m.want[1:]
		} else {
			e, m.want = m.want[len(m.want)-1], m.want[:len(m.want)-1]
		}
		return e
	}
	if m.r.IntN(3) == 0 {
		count := m.r.IntN(5)
		want := min(count, len(m.want))
		got := m.list.PopMany(&m.ch, end, count, func(e []byte) {
			if w := take(); w != string(e) {
				m.t.Fatalf("PopMany: got %q, want %q", e, w)
			}
		})
		if got != want {
			m.t.Fatalf("PopMany(%d): got %d, want %d", count, got, want)
		}
		return
	}
	got, ok := m.list.Pop(&m.ch, end)
	if ok != (len(m.want) > 0) {
		m.t.Fatalf("Pop: got %v with %d elements", ok, len(m.want))
	}
	if ok {
		if w := take(); w != string(got) {
			m.t.Fatalf("Pop: got %q, want %q", got, w)
		}
	}
}

func (m *listModel) set() {
	i, e := m.index(), m.elem()
	at := i
	if at < 0 {
		at += len(m.want)
	}
	want := at >= 0 && at < len(m.want)
	if got := m.list.Set(&m.ch, i, []byte(e)); got != want {
		m.t.Fatalf("Set(%d) of %d: got %v", i, len(m.want), got)
	}
	if want {
		m.want[at] = e
	}
}

func (m *listModel) insert() {
	pivot, e, side := m.elem(), m.elem(), Side(m.r.IntN(2))
	if len(m.want) > 0 {
		pivot = m.want[m.r.IntN(len(m.want))]
	}
	at := slices.Index(m.want, pivot)
	if at >= 0 {
		m.want = slices.Insert(m.want, at+int(side), e)
	}
	n, found := m.list.Insert(&m.ch, side, []byte(pivot), []byte(e))
	if found != (at >= 0) || n != len(m.want) {
		m.t.Fatalf("Insert: got %d %v, want %d %v", n, found, len(m.want), at >= 0)
	}
}

func (m *listModel) remove() {
	e, count := m.elem(), m.r.IntN(5)-2
	want, left := 0, count
	if count < 0 {
		slices.Reverse(m.want)
		left = -count
	}
	m.want = slices.DeleteFunc(m.want, func(s string) bool {
		if s != e || count != 0 && left == 0 {
			return false
		}
		left--
		want++
		return true
	})
	if count < 0 {
		slices.Reverse(m.want)
	}
	if got := m.list.Remove(&m.ch, count, []byte(e)); got != want {
		m.t.Fatalf("Remove(%d, %q): got %d, want %d", count, e, got, want)
	}
}

func (m *listModel) trim() {
	start, stop := m.r.IntN(len(m.want)/4+2), -1-m.r.IntN(len(m.want)/4+2)
	m.list.Trim(&m.ch, start, stop)
	stop += len(m.want)
	if start > stop {
		m.want = nil
	} else {
		m.want = slices.Clone(m.want[start : stop+1])
	}
}

func (m *listModel) rotate() {
	from, to := End(m.r.IntN(2)), End(m.r.IntN(2))
	got, ok := m.list.Rotate(&m.ch, from, to)
	if ok != (len(m.want) > 0) {
		m.t.Fatalf("Rotate: got %v with %d elements", ok, len(m.want))
	}
	if !ok {
		return
	}
	last := len(m.want) - 1
	if from == Tail && to == Head {
		m.want = append([]string{m.want[last]}, m.want[:last]...)
	} else if from == Head && to == Tail {
		m.want = append(slices.Clone(m.want[1:]), m.want[0])
	}
	want := m.want[0]
	if to == Tail {
		want = m.want[last]
	}
	if string(got) != want {
		m.t.Fatalf("Rotate: got %q, want %q", got, want)
	}
}

func elements(l *List) []string {
	var all []string
	l.Range(0, -1, func(e []byte) { all = append(all, string(e)) })
	return all
}

// check compares everything that can be read, and the ways of storing it.
func (m *listModel) check() {
	m.t.Helper()
	if m.list.Len() != len(m.want) || m.list.Empty() != (len(m.want) == 0) {
		m.t.Fatalf("Len: got %d, want %d", m.list.Len(), len(m.want))
	}
	if got := elements(m.list); !slices.Equal(got, m.want) {
		m.t.Fatalf("elements: got %q, want %q", got, m.want)
	}
	m.checkReads()
	m.checkNodes(m.list)
	structurestest.Replay(m.t, m.copied, m.ch.Encoded())
	m.ch.Reset(1 << 20)
	if got := elements(m.copied); !slices.Equal(got, m.want) {
		m.t.Fatalf("replayed: got %q, want %q", got, m.want)
	}
	m.pages.Store(m.t, m.list)
	head := m.list.AppendHead(nil)
	l, err := Decode(head)
	if err != nil {
		m.t.Fatal(err)
	}
	m.pages.Load(m.t, l)
	if err := l.Complete(); err != nil {
		m.t.Fatal(err)
	}
	m.checkNodes(l)
	if got := elements(l); !slices.Equal(got, m.want) {
		m.t.Fatalf("stored: got %q, want %q", got, m.want)
	}
	if m.r.IntN(4) == 0 {
		m.list = l
	}
}

func (m *listModel) checkReads() {
	m.t.Helper()
	var back []string
	m.list.Backward(0, -1, func(e []byte) bool { back = append(back, string(e)); return true })
	slices.Reverse(back)
	if !slices.Equal(back, m.want) {
		m.t.Fatalf("backward: got %q, want %q", back, m.want)
	}
	for range 10 {
		i := m.index()
		got, ok := m.list.Index(i)
		at := i
		if at < 0 {
			at += len(m.want)
		}
		if ok != (at >= 0 && at < len(m.want)) || ok && string(got) != m.want[at] {
			m.t.Fatalf("Index(%d): got %q %v", i, got, ok)
		}
		start, stop := m.index(), m.index()
		var part []string
		m.list.Range(start, stop, func(e []byte) { part = append(part, string(e)) })
		from, n := m.list.Span(start, stop)
		if !slices.Equal(part, m.want[from:from+n]) {
			m.t.Fatalf("Range(%d, %d): got %q", start, stop, part)
		}
	}
}

// checkNodes checks what the code takes for granted about nodes and memory.
func (m *listModel) checkNodes(l *List) {
	m.t.Helper()
	memory, count, evicted, changed := len(l.array)*nodeSize+len(l.spare), 0, 0, 0
	for i := range l.nodes {
		n := l.node(i)
		if n.Evicted {
			evicted++
		}
		if n.Dirty {
			changed++
		}
		if n.Evicted == (n.buf != nil) || n.Evicted && (n.Dirty || !n.Stored || n.Recent) {
			m.t.Fatalf("node %d of %d bytes: evicted %v, changed %v, stored %v, recent %v", i, len(n.buf), n.Evicted, n.Dirty, n.Stored, n.Recent)
		}
		memory += len(n.buf)
		count += int(n.count)
		if n.count == 0 || n.count > 1 && n.used() > nodeBytes {
			m.t.Fatalf("node %d has %d elements, %d bytes", i, n.count, n.used())
		}
		if i > 0 && l.node(i-1).id >= n.id {
			m.t.Fatalf("node %d: number %d after %d", i, n.id, l.node(i-1).id)
		}
	}
	if evicted != l.pages.Count() || changed != l.pages.Changed() {
		m.t.Fatalf("%d nodes evicted, counted %d; %d changed, counted %d", l.pages.Count(), evicted, l.pages.Changed(), changed)
	}
	if memory != l.memory || count != l.len {
		m.t.Fatalf("memory %d, counted %d; length %d, counted %d", l.memory, memory, l.len, count)
	}
}

func TestListEqualsSlice(t *testing.T) {
	for _, sizes := range []int{10, 200, 6000} {
		t.Run(fmt.Sprintf("sizes=%d", sizes), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := &listModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), list: New(), copied: New(),
				pages: structurestest.Shelf{}, sizes: sizes}
			for i := range 6000 {
				m.step(i/1000%2 == 0)
				if i%37 == 0 {
					m.check()
				}
			}
			m.check()
		})
	}
}

func TestFindFollowsRankCountAndLimit(t *testing.T) {
	l := New()
	for _, e := range []string{"a", "b", "c", "1", "2", "3", "c", "c"} {
		l.Push(nil, Tail, []byte(e))
	}
	for _, c := range []struct {
		rank, count, limit int
		want               []int
	}{
		{1, 1, 0, []int{2}}, {2, 1, 0, []int{6}}, {-1, 1, 0, []int{7}}, {1, 0, 0, []int{2, 6, 7}},
		{-1, 2, 0, []int{7, 6}}, {-2, 0, 0, []int{6, 2}}, {1, 0, 7, []int{2, 6}}, {-1, 0, 2, []int{7, 6}},
		{4, 0, 0, nil}, {math.MinInt, 1, 0, nil}, {0, 1, 3, []int{2}}, {1, 1, 2, nil},
	} {
		var got []int
		l.Find([]byte("c"), c.rank, c.count, c.limit, func(i int) { got = append(got, i) })
		if !slices.Equal(got, c.want) {
			t.Errorf("rank %d count %d limit %d: got %v, want %v", c.rank, c.count, c.limit, got, c.want)
		}
	}
}

func TestNumbersOfNodesStayInOrderWhenTheyRunOut(t *testing.T) {
	l := New()
	big := bytes.Repeat([]byte{'x'}, nodeBytes)
	for i := range 40 {
		l.Push(nil, Tail, append(fmt.Append(nil, i, " "), big...))
	}
	l.Clean()
	pages := structurestest.Shelf{}
	l.Pages(true, func(id uint64, page []byte) { pages[id] = string(page) })
	pivot, _ := l.Index(20)
	pivot = bytes.Clone(pivot)
	for i := range 100 {
		l.Insert(nil, Before, pivot, append(fmt.Append(nil, "n", i, " "), big...))
		pages.Store(t, l)
	}
	l.node(0).id = 5 // as if pushed at the head for ever
	pages = structurestest.Shelf{}
	l.Pages(true, func(id uint64, page []byte) { pages[id] = string(page) })
	l.Push(nil, Head, big)
	pages.Store(t, l)
	m := &listModel{t: t}
	m.checkNodes(l)
	if l.Len() != 141 {
		t.Fatalf("Len: got %d, want 141", l.Len())
	}
}
