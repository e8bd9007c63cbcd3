package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"unsafe"

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

// names is what a stream remembers of named entries.
type names struct {
	window     Window
	added      uint64 // names ever
	duplicates uint64 // how often a known name was given again
	producers  map[string]*producer
	last       *producer // that was looked for last, nil for none
	count      int
	pages      []*namePage // in the order in which names were given
	next       uint64      // number of the next page
	promised   uint64      // names that the head declares
}

// namePage has names.
type namePage struct {
	leaf
	names []nameRef // also those that are forgotten
	left  int       // that are remembered
	given []given   // names that were read, and are not in order yet
}

// given is a name that was read from a page.
type given struct {
	producer, text []byte
	id             ID
	time           int64
}

const (
	namesGroup = 1<<24 - 1 // in the numbers of pages
	pageNames  = 64

	namesSize = int(unsafe.Sizeof(names{})) + 48
)

// remembered returns a name of the page, nil if it is forgotten. The number may be that of a later one since.
func (p *namePage) remembered(i int) *name {
	ref := p.names[i]
	if o := ref.producer; o.count > 0 && ref.number-o.first < o.end-o.first {
		if n := o.at(ref.number); n.page == p {
			return n
		}
	}
	return nil
}

func (p *namePage) appendPage(dst []byte) []byte {
	for i := range p.names {
		if n := p.remembered(i); n != nil {
			dst = appendString(appendString(dst, []byte(p.names[i].producer.name)), []byte(n.text))
			dst = binary.AppendUvarint(appendID(dst, n.id), uint64(n.time))
		}
	}
	return dst
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
	for n.count > 0 {
		s.forgetName(n.oldest())
	}
	n.window = w
	return nil
}

// named returns what the stream remembers, to change it.
func (s *Stream) named() *names {
	if s.names == nil {
		s.names = &names{window: DefaultWindow(), producers: map[string]*producer{}, next: 1}
		s.memory += namesSize
	}
	return s.names
}

// oldest returns the name that was given first.
func (n *names) oldest() (*producer, *name) {
	p := n.pages[0]
	for i := range p.names {
		if e := p.remembered(i); e != nil {
			p.names = p.names[i:]
			return p.names[0].producer, e
		}
	}
	return nil, nil // a page without names is none of a stream
}

// producer returns what is remembered of a producer, nil for nothing.
func (n *names) producer(pid []byte) *producer {
	if n.last == nil || n.last.name != string(pid) {
		n.last = n.producers[string(pid)]
	}
	return n.last
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
	n := p.find(hashName(text), text)
	if n == nil || s.names.forgotten(n, now) {
		return ID{}, false
	}
	return n.id, true
}

// Again counts that a producer gave a name again. That is no change: it is stored with
// the next one of the stream, and a restart may forget it.
func (s *Stream) Again() { s.named().duplicates++ }

func (n *names) forgotten(e *name, now int64) bool { return now-e.time >= n.window.Seconds*1000 }

// Name remembers the entry that a producer has just added under a name, which is not
// remembered yet or to be forgotten. MayName has allowed it.
func (s *Stream) Name(ch *structures.Change, pid, text []byte, id ID, now int64) {
	ch.Op(opName, 5)
	ch.Bytes(pid)
	ch.Bytes(text)
	recordID(ch, id)
	ch.Int(now)
	n := s.named()
	for n.count > 0 {
		p, e := n.oldest()
		if !n.forgotten(e, now) {
			break
		}
		s.forgetName(p, e)
	}
	hash := hashName(text)
	if p := n.producer(pid); p != nil {
		if e := p.find(hash, text); e != nil { // the clock went back
			s.forgetName(p, e)
		}
		for p.count >= n.window.Most {
			s.forgetName(p, p.at(p.first))
		}
	}
	n.added++
	var page *namePage
	if last := len(n.pages) - 1; last >= 0 && len(n.pages[last].names) < pageNames {
		page = n.pages[last]
	} else {
		page = &namePage{leaf: leaf{id: namesGroup<<groupShift | n.next}}
		n.next++
		n.pages = append(n.pages, page)
	}
	s.addName(page, pid, hash, name{text: string(text), id: id, time: now})
	s.touch(page)
}

// addName remembers a name in a page.
func (s *Stream) addName(page *namePage, pid []byte, hash uint32, e name) {
	n := s.names
	p := n.producer(pid)
	if p == nil {
		p = &producer{name: string(pid)}
		n.producers[p.name], n.last = p, p
		s.memory += producerSize + len(p.name)
	}
	e.page, e.hash = page, hash
	page.names = append(page.names, nameRef{p, p.put(e)})
	page.left++
	n.count++
	s.memory += nameSize + len(e.text)
}

// forgetName forgets a name.
func (s *Stream) forgetName(p *producer, e *name) {
	n, page := s.names, e.page
	s.memory -= nameSize + len(e.text)
	n.count--
	if p.take(e); p.count == 0 {
		delete(n.producers, p.name)
		n.last = nil
		s.memory -= producerSize + len(p.name)
	}
	if page.left--; page.left > 0 {
		s.touch(page)
		return
	}
	s.drop(page)
	i := sort.Search(len(n.pages), func(i int) bool { return n.pages[i].id >= page.id })
	n.pages = slices.Delete(n.pages, i, i+1)
	if len(n.pages) == 0 {
		n.next = 1
	}
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
	for _, p := range n.producers {
		left := p.count
		for number := p.first; left > 0; number++ {
			if e := p.at(number); e.page != nil {
				if !n.forgotten(e, now) {
					c.Producers++
					break
				}
				left--
			}
		}
		c.Names += left
	}
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
	page := &namePage{leaf: leaf{id: id, State: paged.State{Stored: true}}}
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
	for _, page := range n.pages {
		for _, e := range page.given {
			hash := hashName(e.text)
			if p := n.producer(e.producer); p != nil && p.find(hash, e.text) != nil {
				return fmt.Errorf("name %.20q of %.20q given twice: %w", e.text, e.producer, structures.ErrCorrupt)
			}
			s.addName(page, e.producer, hash, name{text: string(e.text), id: e.id, time: e.time})
		}
		page.given = nil
	}
	if uint64(n.count) != n.promised {
		return fmt.Errorf("%d names of %d: %w", n.count, n.promised, structures.ErrCorrupt)
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
