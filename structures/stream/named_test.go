package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// nameModel is what a stream remembers of named entries, kept the obvious way.
type nameModel struct {
	list              []namedModel // in the order in which they were given
	added, duplicates uint64
}

type namedModel struct {
	pid, text string
	id        ID
	time      int64
}

func dumpNames(b *strings.Builder, s *Stream) {
	if s.names == nil {
		return
	}
	n := s.names
	fmt.Fprintf(b, "names %v, %d kept, %d added\n", n.window, n.kept, n.added)
	for i := range n.list {
		if e := &n.list[i]; e.producer != nil && !n.old(e) {
			fmt.Fprintf(b, " %s %s %v %d\n", e.producer.name, e.text, e.id, e.time)
		}
	}
}

// name adds an entry under a name, or finds that it was added.
func (m *model) name() {
	pid, text := fmt.Sprint("p", m.rng.IntN(3)), fmt.Sprint("n", m.rng.IntN(25))
	w := m.s.Window()
	known := slices.IndexFunc(m.names.list, func(e namedModel) bool {
		return e.pid == pid && e.text == text && m.now-e.time < w.Seconds*1000
	})
	id, ok := m.s.Named([]byte(pid), []byte(text), m.now)
	if ok != (known >= 0) || ok && id != m.names.list[known].id {
		m.t.Fatalf("Named %s %s: got %v %v, want %d of %v", pid, text, id, ok, known, m.names.list)
	}
	if ok {
		m.s.Again()
		m.names.duplicates++
		m.done["again"]++
		return
	}
	before := m.last
	if m.add(); m.last == before {
		return
	}
	m.s.Name(&m.ch, []byte(pid), []byte(text), m.last, m.now)
	m.names.list = slices.DeleteFunc(m.names.list, func(e namedModel) bool { return m.now-e.time >= w.Seconds*1000 })
	m.names.list = append(m.names.list, namedModel{pid, text, m.last, m.now})
	m.forgetNames(pid, w.Most)
	m.names.added++
	m.done["name"]++
}

// forgetNames forgets the oldest of a producer that has too many.
func (m *model) forgetNames(pid string, most int) {
	n := 0
	for _, e := range m.names.list {
		if e.pid == pid {
			n++
		}
	}
	m.names.list = slices.DeleteFunc(m.names.list, func(e namedModel) bool {
		if e.pid != pid || n <= most {
			return false
		}
		n--
		return true
	})
}

func (m *model) window() {
	w := Window{int64(1 + m.rng.IntN(2)), 5 + m.rng.IntN(200)}
	if w == m.s.Window() {
		return
	}
	if err := m.s.SetWindow(&m.ch, w); err != nil {
		m.t.Fatal(err)
	}
	m.names.list = nil
	m.done["window"]++
}

// checkNames compares what is remembered, and returns its memory.
func (m *model) checkNames() (memory int) {
	s, w := m.s, m.s.Window()
	if s.names == nil {
		return 0
	}
	producers, live := map[string]bool{}, 0
	for _, e := range m.names.list {
		if m.now-e.time < w.Seconds*1000 {
			producers[e.pid] = true
			live++
		}
	}
	if got, want := s.Naming(m.now), (Naming{len(producers), live, m.names.added, s.names.duplicates}); got != want {
		m.t.Fatalf("names: got %+v, want %+v", got, want)
	}
	memory = namesSize
	n, count, kept, inList := s.names, 0, 0, map[*producer]int{}
	for i := range n.list {
		if e := &n.list[i]; e.producer != nil {
			memory += nameSize + len(e.text)
			count++
			inList[e.producer]++
		}
	}
	for _, p := range n.producers {
		memory += producerSize + len(p.name)
		kept += min(p.count, w.Most)
		if p.count == 0 || p.count != inList[p] {
			m.t.Fatalf("%d names of %d are in the list", inList[p], p.count)
		}
	}
	if count != n.count || kept != n.kept || count > 2*kept+2*sweepNames {
		m.t.Fatalf("%d names of %d, %d kept of %d", n.count, count, n.kept, kept)
	}
	return memory
}

// What is remembered counts as memory, and is forgotten with the window.
func TestNamesAreForgottenWithTheirWindow(t *testing.T) {
	s := New()
	empty := s.Size()
	for i := range 500 {
		s.Name(nil, fmt.Append(nil, "producer", i%7), fmt.Append(nil, i), ID{1, uint64(i)}, int64(i))
	}
	if got := s.Naming(500); got.Producers != 7 || got.Names != 500 || got.Added != 500 {
		t.Errorf("Naming: %+v", got)
	}
	if got := s.Naming(100_000 + 250); got.Names != 249 {
		t.Errorf("half of the time later: %+v", got)
	}
	if s.Size() < empty+500*nameSize {
		t.Errorf("%d bytes more", s.Size()-empty)
	}
	if err := s.SetWindow(nil, Window{1, 1}); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Named([]byte("producer0"), []byte("0"), 0); ok || s.memory != namesSize {
		t.Errorf("after another window: known %v, %d bytes", ok, s.memory)
	}
}

// A group below the level of names has a stream without them.
func TestNamesAndReleasesAreOfALaterForm(t *testing.T) {
	s := New()
	g := s.CreateGroup(nil, []byte("g"), ID{}, 0)
	s.Add(nil, ID{1, 1}, [][]byte{nil, nil}, PageLimits{})
	g.Deliver(nil, g.CreateConsumer(nil, []byte("c"), 1), 1, 1, false, nil)
	if s.Form() != 0 || s.AppendHead(nil)[0] != streamPaged {
		t.Errorf("form %d of a stream as there were", s.Form())
	}
	g.Release(nil, []Pending{{ID: ID{1, 1}}})
	if s.Form() != 1 || s.AppendHead(nil)[0] != streamPaged+streamNamed {
		t.Errorf("form %d of a stream with a released entry", s.Form())
	}
	var ch structures.Change
	limit := structures.Limit{Ops: opClaim, Err: structures.ErrCorrupt}
	ch.Limit(&limit)
	if MayRelease(&ch) == nil || MayName(&ch) == nil || s.SetWindow(&ch, Window{1, 1}) == nil {
		t.Error("a limited change has what is above it")
	}
}

// When the clock goes back, a name can be forgotten amid others that are not: it is given anew, and all are found.
func TestNamesAreGivenAnewWhenTheClockHasGoneBack(t *testing.T) {
	s := New()
	if err := s.SetWindow(nil, Window{1, 2000}); err != nil {
		t.Fatal(err)
	}
	pid, first, again := []byte("p"), []byte("first"), []byte("again")
	s.Name(nil, pid, first, ID{1, 0}, 1e9)
	for i := range uint64(1000) {
		now := int64(i) * 5000
		if id, ok := s.Named(pid, again, now); ok {
			t.Fatalf("at %d it is still known, as %v", now, id)
		}
		s.Name(nil, pid, again, ID{2, i}, now)
		if id, ok := s.Named(pid, again, now); !ok || id != (ID{2, i}) {
			t.Fatalf("at %d it is %v, %v", now, id, ok)
		}
		if id, ok := s.Named(pid, first, now); !ok || id != (ID{1, 0}) {
			t.Fatalf("at %d the first one is %v, %v", now, id, ok)
		}
	}
	if got := s.Naming(4995_000); got.Producers != 1 || got.Names != 2 {
		t.Errorf("Naming: %+v", got)
	}
}

// BenchmarkNamedEntries adds entries to a thousand streams, without names and with.
func BenchmarkNamedEntries(b *testing.B) {
	for _, named := range []bool{false, true} {
		b.Run(fmt.Sprintf("named=%v", named), func(b *testing.B) {
			all := make([]*Stream, 1000)
			for i := range all {
				all[i] = New()
			}
			var name []byte
			ch, pid, pair := new(structures.Change), []byte("p"), [][]byte{[]byte("f"), []byte("value")}
			for i := 0; b.Loop(); i++ {
				s, id := all[uint32(i)*2654435761>>12%1000], ID{1, uint64(i) + 1}
				ch.Reset(1 << 10)
				if named {
					name = strconv.AppendInt(name[:0], int64(i), 10)
					if _, ok := s.Named(pid, name, 0); ok {
						b.Fatal("it is known")
					}
				}
				s.Add(ch, id, pair, PageLimits{})
				if named {
					s.Name(ch, pid, name, id, 0)
				}
			}
		})
	}
}
