package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// A producer may name the entries that it adds, so that one that it sends twice is added
// once. The stream remembers for each name which entry it is, for some time and up to
// some number for each producer: those are forgotten first that were given first.
//
// Names lie in pages in the order in which they were given. In the numbers of pages they
// are a group of their own. All numbers in a page are uvarints.
//
//	page  name ...                  at least one
//	name  producer | name | ID (2) | unix ms when it was given
//	      producer, name: length | bytes

// Window says how long a stream remembers the names of entries, and how many of each
// producer.
type Window struct {
	Seconds int64 // 1 to MaxWindowSeconds
	Most    int   // 1 to MaxWindowNames
}

// Bounds of a Window.
const (
	MaxWindowSeconds = 86400
	MaxWindowNames   = 10_000
)

// DefaultWindow is that of a stream to which SetWindow was not applied.
func DefaultWindow() Window { return Window{100, 100} }

func (w Window) valid() bool {
	return w.Seconds >= 1 && w.Seconds <= MaxWindowSeconds && w.Most >= 1 && w.Most <= MaxWindowNames
}

const namesGroup = 1<<24 - 1 // in the numbers of pages

// given is a name that was read from a page.
type given struct {
	producer, text []byte
	id             ID
	time           int64
}

// Window returns how long names are remembered, and how many.
func (s *Stream) Window() Window {
	if s.names == nil {
		return DefaultWindow()
	}
	return s.names.window
}

// SetWindow says how long names are remembered, and how many. Another window than that
// of before forgets all of them. It records nothing if it is the same.
func (s *Stream) SetWindow(ch *structures.Change, w Window) error {
	if w == s.Window() {
		return nil
	}
	if err := ch.Permit(opWindow); err != nil {
		return err
	}
	ch.Op(opWindow, 2)
	ch.Int(w.Seconds)
	ch.Int(int64(w.Most))
	n := s.named()
	n.forgetAll(func(*name) bool { return true })
	n.makeRoom(0)
	n.window = w
	return nil
}

// named returns what the stream remembers, to change it.
func (s *Stream) named() *names {
	if s.names == nil {
		s.names = &names{stream: s, window: DefaultWindow(), producers: map[string]*producer{}, next: 1, due: math.MaxInt64}
		s.memory += namesSize
	}
	return s.names
}

// MayName returns an error if entries of the stream may not be named.
func MayName(ch *structures.Change) error { return ch.Permit(opName) }

// Named returns the entry that a producer has named, if that is remembered at now.
func (s *Stream) Named(pid, text []byte, now int64) (id ID, ok bool) {
	if s.names == nil {
		return ID{}, false
	}
	p := s.names.producer(pid)
	if p == nil {
		return ID{}, false
	}
	at := s.names.find(p, hashName(pid, text), text)
	if at < 0 || !s.names.remembers(&s.names.list[at], now) {
		return ID{}, false
	}
	return s.names.list[at].id, true
}

// Again counts that a producer gave a name again. That is no change: it is stored with
// the next one of the stream, and a restart may forget it.
func (s *Stream) Again() { s.named().duplicates++ }

// Name remembers the entry that a producer has just added under a name, which is not
// remembered yet or to be forgotten. MayName has allowed it.
func (s *Stream) Name(ch *structures.Change, pid, text []byte, id ID, now int64) {
	ch.Op(opName, 5)
	ch.Bytes(pid)
	ch.Bytes(text)
	recordID(ch, id)
	ch.Int(now)
	n := s.named()
	if now >= n.due || n.count-n.kept >= sweepNames {
		n.sweep(now)
	}
	hash := hashName(pid, text)
	if p := n.producer(pid); p != nil {
		if at := n.find(p, hash, text); at >= 0 { // it is old, or the clock went back
			n.forget(at)
		}
	}
	if len(n.list) == cap(n.list) {
		n.pack()
	}
	n.added++
	var page *namePage
	if last := len(n.pages) - 1; last >= 0 {
		page = n.pages[last]
	}
	if page == nil || page.end-page.from >= pageNames {
		page = &namePage{leaf: leaf{id: namesGroup<<groupShift | n.next}, of: n}
		n.pages = append(n.pages, page)
		n.next++
	}
	n.put(page, pid, text, hash, id, now)
	s.markDirty(page)
}

// NamedEntry is an entry that a producer has named.
type NamedEntry struct {
	Producer, Name []byte
	ID             ID
}

// Names returns the names that are kept, by producer: each has at least one, in the order in which it gave them.
func (s *Stream) Names() [][]NamedEntry {
	if s.names == nil {
		return nil
	}
	byProducer := map[*producer][]NamedEntry{}
	for i := range s.names.list {
		if e := &s.names.list[i]; e.producer != nil && !s.names.old(e) {
			byProducer[e.producer] = append(byProducer[e.producer], NamedEntry{[]byte(e.producer.name), []byte(e.text), e.id})
		}
	}
	return slices.SortedFunc(maps.Values(byProducer), func(a, b []NamedEntry) int { return bytes.Compare(a[0].Producer, b[0].Producer) })
}

// SetNames gives a stream without names some, whose entries were added at the times of their IDs, and the numbers of names that
// were ever given, and given again. Names, window or numbers that cannot be give ErrCorrupt.
func (s *Stream) SetNames(w Window, names []NamedEntry, added, duplicates uint64) error {
	switch {
	case len(names) == 0 && added == 0 && duplicates == 0 && (w == Window{} || w == DefaultWindow()):
		return nil
	case !w.valid():
		return misfit("names for %d s, and %d of them", w.Seconds, w.Most)
	}
	slices.SortStableFunc(names, func(a, b NamedEntry) int { return a.ID.Compare(b.ID) })
	s.named().window = w
	for _, n := range names {
		if len(n.Producer) == 0 || len(n.Name) == 0 {
			return misfit("entry %v with the name %.20q of %.20q", n.ID, n.Name, n.Producer)
		}
		s.Name(nil, n.Producer, n.Name, n.ID, int64(min(n.ID.Ms, math.MaxInt64/2)))
	}
	s.names.added, s.names.duplicates = added, duplicates
	return nil
}

// Naming is what XINFO shows of names.
type Naming struct {
	Producers, Names  int // that are remembered
	Added, Duplicates uint64
}

// Naming counts what is remembered at now.
func (s *Stream) Naming(now int64) (c Naming) {
	n := s.names
	if n == nil {
		return c
	}
	c.Added, c.Duplicates = n.added, n.duplicates
	producers := map[*producer]bool{}
	for i := range n.list {
		if e := &n.list[i]; n.remembers(e, now) {
			producers[e.producer] = true
			c.Names++
		}
	}
	c.Producers = len(producers)
	return c
}

// appendNames appends what the head has of names.
func (n *names) append(dst []byte) []byte {
	for _, v := range []uint64{uint64(n.window.Seconds), uint64(n.window.Most), n.added, n.duplicates, uint64(n.count)} {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// loadNames reads it.
func (s *Stream) loadNames(r *reader) {
	n := s.named()
	n.window = Window{int64(min(r.uvarint(), MaxWindowSeconds+1)), int(min(r.uvarint(), MaxWindowNames+1))}
	n.added, n.duplicates, n.promised = r.uvarint(), r.uvarint(), r.uvarint()
	if !n.window.valid() {
		r.bad = true
	}
}

// loadNamePage adds the names of a stored page. They come to their order in complete.
func (s *Stream) loadNamePage(id uint64, b []byte) error {
	n := s.names
	if n == nil || id&(1<<groupShift-1) == 0 {
		return fmt.Errorf("names of a stream without: %w", structures.ErrCorrupt)
	}
	i := sort.Search(len(n.pages), func(i int) bool { return n.pages[i].id >= id })
	if i < len(n.pages) && n.pages[i].id == id {
		return fmt.Errorf("given twice: %w", structures.ErrCorrupt)
	}
	page := &namePage{leaf: leaf{id: id, State: paged.State{Stored: true}}, of: n}
	n.pages = slices.Insert(n.pages, i, page)
	n.next = max(n.next, id&(1<<groupShift-1)+1)
	r := reader{b: bytes.Clone(b)}
	for !r.bad && (r.at < len(b) || len(page.given) == 0) {
		e := given{r.string(), r.string(), r.id(), int64(r.uvarint())}
		if r.bad || len(page.given) == pageNames {
			break
		}
		page.given = append(page.given, e)
	}
	return r.done("page of names")
}

// completeNames puts the names that were read into their order, and checks that each is there once and none is missing.
func (s *Stream) completeNames() error {
	n := s.names
	pages, total := n.pages, 0
	for _, page := range pages {
		total += len(page.given)
	}
	if uint64(total) != n.promised {
		return fmt.Errorf("%d names of %d: %w", total, n.promised, structures.ErrCorrupt)
	}
	n.makeRoom(total)
	n.pages = pages[:0]
	for _, page := range pages {
		n.pages = append(n.pages, page)
		for _, e := range page.given {
			hash := hashName(e.producer, e.text)
			if p := n.producer(e.producer); p != nil && n.find(p, hash, e.text) >= 0 {
				return fmt.Errorf("name %.20q of %.20q given twice: %w", e.text, e.producer, structures.ErrCorrupt)
			}
			n.put(page, e.producer, e.text, hash, e.id, e.time)
		}
		page.given = nil
	}
	return nil
}

// applyName replays the operations on names.
func (s *Stream) applyName(op byte, args *structures.Args) error {
	if op == opWindow {
		w := Window{args.Int(), int(min(args.Int(), MaxWindowNames+1))}
		if err := args.Done(); err != nil {
			return err
		}
		if !w.valid() {
			return misfit("names for %d s, and %d of them", w.Seconds, w.Most)
		}
		return s.SetWindow(nil, w)
	}
	pid, text, id, now := args.Bytes(), args.Bytes(), readID(args), args.Int()
	if err := args.Done(); err != nil {
		return err
	}
	s.Name(nil, pid, text, id, now)
	return nil
}
