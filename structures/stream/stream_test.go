package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
	"github.com/vigildb/vigil/structures/testscale"
)

// dump is all that can be seen of a stream.
func dump(s *Stream) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d last %v deleted %v added %d first %v\n", s.Len(), s.Last(), s.MaxDeleted(), s.Added(), s.First())
	s.Each(ID{}, MaxID, func(e *Entry) bool {
		fmt.Fprintln(&b, line(e))
		return true
	})
	dumpNames(&b, s)
	for _, g := range s.Groups() {
		lag, ok := g.Lag()
		fmt.Fprintf(&b, "group %s last %v read %d pending %d released %d lag %d %v\n", g.Name(), g.Last(), g.Read(), g.Pending(), g.Released(), lag, ok)
		for _, c := range g.Consumers() {
			fmt.Fprintf(&b, " %s seen %d active %d pending %d\n", c.Name(), c.Seen(), c.Active(), c.Pending())
			g.EachPendingOf(c, ID{}, MaxID, func(p Pending) bool {
				fmt.Fprintf(&b, "  %v\n", p.ID)
				return true
			})
		}
		g.EachPending(ID{}, MaxID, func(p Pending) bool {
			fmt.Fprintf(&b, " %v %s %d %d %d\n", p.ID, holder(p), p.Time, p.Deliveries, p.place)
			return true
		})
	}
	return b.String()
}

func line(e *Entry) string {
	var b strings.Builder
	fmt.Fprint(&b, e.ID)
	e.Each(func(field, value []byte) { fmt.Fprintf(&b, " %q=%q", field, value) })
	return b.String()
}

// disk is what was stored of a stream.
type disk struct {
	head  []byte
	pages map[uint64]string
}

// store writes what changed, in parts of n pages if n is not 0.
func (d *disk) store(s *Stream, n int) {
	write := func(id uint64, page []byte) {
		if page == nil {
			delete(d.pages, id)
			return
		}
		d.pages[id] = string(page)
	}
	for n > 0 && s.Flush(n, write) {
	}
	before := uint64(0)
	s.Pages(false, func(id uint64, page []byte) {
		if id <= before {
			panic(fmt.Sprintf("page %x behind page %x", id, before))
		}
		before = id
		write(id, page)
	})
	d.head = s.AppendHead(nil)
	s.Clean()
}

func (d *disk) load(t *testing.T) *Stream {
	t.Helper()
	s, err := Decode(d.head)
	if err != nil {
		t.Fatal(err)
	}
	for id, page := range d.pages {
		if err := s.SetPage(id, []byte(page)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	s.Clean()
	return s
}

// entryModel, pendingModel and groupModel are the obvious ways to keep a stream.
type entryModel struct {
	id   ID
	line string
}

type pendingModel struct {
	consumer   string
	time       int64
	deliveries int64
}

type groupModel struct {
	last      ID
	pending   map[ID]pendingModel
	consumers map[string]bool
}

type model struct {
	t          *testing.T
	rng        *rand.Rand
	s          *Stream
	ch         structures.Change
	entries    []entryModel
	last       ID
	maxDeleted ID
	added      uint64
	groups     map[string]*groupModel
	names      nameModel
	now        int64
	done       map[string]int // operations that changed something
}

func (m *model) has(id ID) bool {
	return slices.ContainsFunc(m.entries, func(e entryModel) bool { return e.id == id })
}

// someID is mostly that of an entry.
func (m *model) someID() ID {
	if len(m.entries) == 0 || m.rng.IntN(8) == 0 {
		return ID{uint64(m.rng.IntN(int(m.last.Ms + 2))), uint64(m.rng.IntN(3))}
	}
	return m.entries[m.rng.IntN(len(m.entries))].id
}

func (m *model) add() {
	id := m.last
	switch m.rng.IntN(12) {
	case 0:
		id.Ms, id.Seq = id.Ms+uint64(m.rng.IntN(1<<20)), 0
	case 1, 2, 3:
		id.Ms, id.Seq = id.Ms+1, uint64(m.rng.IntN(300))
	case 4:
		id.Seq -= min(id.Seq, 1) // too small
	default:
		id.Seq += 1 + uint64(m.rng.IntN(2))
	}
	n := 1 + m.rng.IntN(3)
	if m.rng.IntN(3) > 0 {
		n = 2
	}
	var pairs [][]byte
	text := id.String()
	for k := range n {
		field, value := []byte{'a' + byte(k)}, make([]byte, m.rng.IntN(12))
		if m.rng.IntN(20) == 0 {
			field = []byte("another")
			value = make([]byte, m.rng.IntN(400))
		}
		pairs = append(pairs, field, value)
		text += fmt.Sprintf(" %q=%q", field, value)
	}
	ok := m.s.Add(&m.ch, id, pairs, PageLimits{Bytes: 700, Entries: 30})
	if ok != m.last.Less(id) {
		m.t.Fatalf("Add %v behind %v: %v", id, m.last, ok)
	}
	if ok {
		m.entries = append(m.entries, entryModel{id, text})
		m.last = id
		m.added++
		m.done["add"]++
	}
}

func (m *model) delete() {
	var ids []ID
	for range 1 + m.rng.IntN(5) {
		ids = append(ids, m.someID())
	}
	if m.rng.IntN(10) == 0 && len(m.entries) > 0 { // many in a row
		from := m.rng.IntN(len(m.entries))
		for _, e := range m.entries[from:min(from+60, len(m.entries))] {
			ids = append(ids, e.id)
		}
	}
	want := 0
	for _, id := range ids {
		before := len(m.entries)
		m.entries = slices.DeleteFunc(m.entries, func(e entryModel) bool { return e.id == id })
		if len(m.entries) < before {
			want++
			if m.maxDeleted.Less(id) {
				m.maxDeleted = id
			}
		}
	}
	if got := m.s.Delete(&m.ch, ids); got != want {
		m.t.Fatalf("Delete: got %d, want %d", got, want)
	}
	m.done["delete"] += want
}

func (m *model) trim() {
	tr := Trim{ByID: m.rng.IntN(2) == 0, Min: m.someID(), Len: m.rng.IntN(200), Pages: m.rng.IntN(2) == 0}
	if m.rng.IntN(3) == 0 {
		tr.Limit = 1 + m.rng.IntN(40)
	}
	if m.rng.IntN(20) == 0 {
		tr.Len, tr.Min = 0, MaxID
	}
	if tr.References = References(m.rng.IntN(3)); tr.References == OnlyAcked && len(m.groups) > 0 {
		m.trimAcked(tr)
		return
	}
	most := max(0, len(m.entries)-tr.Len)
	if tr.ByID {
		most = 0
		for most < len(m.entries) && m.entries[most].id.Less(tr.Min) {
			most++
		}
	}
	got := m.s.Trim(&m.ch, tr)
	if got > most || tr.Limit > 0 && got > tr.Limit || !tr.Pages && tr.Limit == 0 && got != most {
		m.t.Fatalf("Trim %+v of %d: got %d, want %d", tr, len(m.entries), got, most)
	}
	if tr.References == DropReferences {
		m.forgetTrimmed(tr, got)
	}
	m.entries = m.entries[got:]
	m.done["trim"] += got
}

func (m *model) setID() {
	last := m.last
	last.Ms += uint64(m.rng.IntN(3))
	m.s.SetID(&m.ch, last, m.added+1, m.maxDeleted)
	m.last = last
	m.added++
	m.done["setid"]++
}

// check compares the stream with the model.
func (m *model) check() {
	m.t.Helper()
	s := m.s
	if s.Len() != len(m.entries) || s.Last() != m.last || s.MaxDeleted() != m.maxDeleted || s.Added() != m.added {
		m.t.Fatalf("%d entries, last %v, deleted %v, added %d; want %d, %v, %v, %d", s.Len(), s.Last(), s.MaxDeleted(), s.Added(),
			len(m.entries), m.last, m.maxDeleted, m.added)
	}
	from, to := m.someID(), m.someID()
	var want, got, back, lent []string
	for _, e := range m.entries {
		if !e.id.Less(from) && !to.Less(e.id) {
			want = append(want, e.line)
		}
	}
	s.Each(from, to, func(e *Entry) bool { got = append(got, line(e)); return true })
	s.Backward(from, to, func(e *Entry) bool { back = append(back, line(e)); return true })
	count := m.rng.IntN(50)
	s.Lend(from, to, count, true).Each(func(e *Entry) bool { lent = append(lent, line(e)); return len(lent) < count })
	slices.Reverse(back)
	if !slices.Equal(got, want) || !slices.Equal(back, want) {
		m.t.Fatalf("from %v to %v: got %q, backward %q, want %q", from, to, got, back, want)
	}
	slices.Reverse(lent)
	if len(lent) < min(count, len(want)) || count > 0 && !slices.Equal(lent, want[len(want)-len(lent):]) {
		m.t.Fatalf("lent %d from %v to %v: got %q, want the last of %q", count, from, to, lent, want)
	}
	m.checkGroups()
	memory := 0
	for _, p := range s.every() {
		switch p := p.(type) {
		case *page:
			memory += p.memory()
			if p.live == 0 {
				m.t.Fatal("page without entries")
			}
		case *pendingPage:
			memory += p.memory()
			if len(p.records) == 0 || len(p.records) > pageRecords {
				m.t.Fatalf("page of %d records", len(p.records))
			}
		case *Group:
			memory += p.fixedMemory()
			for _, c := range p.consumers {
				memory += c.memory()
			}
			memory += 8 * cap(p.nobody.pages)
		case *namePage:
			left := 0
			for i := range p.of.list[p.from:p.end] {
				if p.of.list[p.from+int32(i)].producer != nil {
					left++
				}
			}
			if left == 0 || left != int(p.left) || left > pageNames {
				m.t.Fatalf("page of %d names, %d of them remembered", p.end-p.from, left)
			}
		}
	}
	if memory += m.checkNames(); memory != s.memory {
		m.t.Fatalf("memory %d, counted %d", s.memory, memory)
	}
}

// Random operations give what a simple model gives; what they recorded, replayed on
// the stream as it was, and what is read back from its pages give the same stream.
func TestStreamEqualsItsModel(t *testing.T) {
	done := map[string]int{}
	for seed := range max(2, testscale.Rounds(uint64(8))) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: New(), groups: map[string]*groupModel{}, now: 1000, done: done}
			m.run(3000, seed%4 == 0) // every fourth has no groups, so that it may be small
		})
	}
	for _, name := range []string{"add", "delete", "trim", "setid", "group", "destroy", "groupset", "deliver", "redeliver", "ack", "claim", "delconsumer", "compact",
		"release", "name", "again", "window", "trimacked", "unreferenced", "forget", "claimable"} {
		if done[name] < 50/testscale.By {
			t.Errorf("%s took effect %d times", name, done[name])
		}
	}
}

func (m *model) run(steps int, plain bool) {
	twin, d := New(), &disk{pages: map[uint64]string{}}
	d.store(m.s, 0)
	ops := []func(){m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.add, m.delete, m.trim, m.setID,
		m.changeGroup, m.changeGroup, m.deliver, m.deliver, m.deliver, m.redeliver, m.ack, m.ack, m.claim, m.deleteConsumer, m.forgetSome, m.release, m.name, m.name, m.window}
	rare := []int{13, 14, 24, 29}
	if plain {
		ops, rare = append(ops[:15], m.delete, m.trim), []int{14}
	}
	for range steps {
		m.now++
		k := m.rng.IntN(len(ops))
		if slices.Contains(rare, k) && m.rng.IntN(4) > 0 {
			k = 0
		}
		ops[k]()
		m.checkOldest()
		if m.rng.IntN(20) > 0 {
			continue
		}
		m.check()
		structurestest.Replay(m.t, twin, m.ch.Take())
		want := dump(m.s)
		if got := dump(twin); got != want {
			m.t.Fatalf("replayed:\n%s\nwant\n%s", got, want)
		}
		if m.rng.IntN(2) == 0 {
			d.store(m.s, m.rng.IntN(8))
			read := d.load(m.t)
			if got := dump(read); got != want {
				m.t.Fatalf("read back:\n%s\nwant\n%s", got, want)
			}
			whole := &disk{read.AppendHead(nil), map[uint64]string{}}
			read.Pages(true, func(id uint64, page []byte) { whole.pages[id] = string(page) })
			if len(whole.pages) != len(d.pages) {
				m.t.Fatalf("%d pages on disk, %d are needed", len(d.pages), len(whole.pages))
			}
			if m.rng.IntN(4) == 0 {
				m.s = read
				read.MarkAllDirty()
				d = &disk{pages: map[uint64]string{}}
				d.store(read, 1+m.rng.IntN(8))
				if got := dump(d.load(m.t)); got != want {
					m.t.Fatalf("stored anew:\n%s\nwant\n%s", got, want)
				}
			}
		}
		if m.s.IsCompact(1024) {
			small := twin // whatever it was
			small.LoadCompact(m.s.AppendCompact(nil))
			if got := dump(small); got != want {
				m.t.Fatalf("made compact:\n%s\nwant\n%s", got, want)
			}
			m.done["compact"]++
		}
	}
}
