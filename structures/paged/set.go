package paged

import (
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Set is what a value knows of its pages beside the pages. The zero Set is that of a value without pager, all of whose
// pages are new.
type Set[P Page] struct {
	Pager structures.Pager // of the pages that are away; nil: none is
	// Gone are the numbers of pages that the disk had at the last Clean and that are gone, or have another number.
	Gone []uint64

	away    int
	changed int
	hand    uint64 // number of the page at which Shed goes on
	part    uint64 // number of the page at which Part goes on
}

// Whole reports that no page is away.
func (s *Set[P]) Whole() bool { return s.away == 0 }

// Count is the number of pages that are away.
func (s *Set[P]) Count() int { return s.away }

// Alter notes that a page is about to change, which is in memory.
func (s *Set[P]) Alter(p P) {
	if st := p.state(); !st.Dirty {
		st.Dirty = true
		s.changed++
	}
}

// Found notes that a page which is away was found in an index.
func (s *Set[P]) Found() { s.away++ }

// Remove notes that the page with a number is about to go.
func (s *Set[P]) Remove(p P, id uint64) {
	st := p.state()
	if st.Stored {
		s.Gone = append(s.Gone, id)
	}
	if st.Dirty {
		s.changed--
	}
	if st.Away {
		s.away--
	}
}

// Renumber notes that a page which is in memory is about to have another number than id.
func (s *Set[P]) Renumber(p P, id uint64) {
	st := p.state()
	if st.Stored {
		s.Gone = append(s.Gone, id)
	}
	st.Stored = false
	s.Alter(p)
}

// Unread reports that a page could not be read for the command under way, which changes nothing then.
func (s *Set[P]) Unread() bool { return s.away > 0 && s.Pager != nil && s.Pager.Failed() }

// Changed is how many pages changed since Clean.
func (s *Set[P]) Changed() int { return s.changed }

// Away is the number of pages that are away, and their bytes.
func (s *Set[P]) Away(of Pages[P]) (pages int, bytes int64) {
	for i := 0; i < of.Count() && s.away > 0; i++ {
		if p := of.At(i); p.state().Away {
			bytes += int64(of.Bytes(p))
		}
	}
	return s.away, bytes
}

// Touch makes sure that page i is in memory, which fails if it cannot be read, and stays there for a while. Others may
// leave memory for it.
func (s *Set[P]) Touch(of Pages[P], i int) bool {
	p := of.At(i)
	if st := p.state(); st.Away && s.Pager != nil && s.Pager.Tight() {
		s.Shed(of, of.Bytes(p))
	}
	ok := s.Hold(of, i)
	p.state().Recent = ok
	return ok
}

// Hold is Touch without others leaving memory.
func (s *Set[P]) Hold(of Pages[P], i int) bool {
	p := of.At(i)
	if !p.state().Away {
		return true
	}
	decoded, ok := s.Peek(of, i)
	if ok {
		s.Adopt(of, p, decoded)
	}
	return ok
}

// Peek returns a copy of page i, which is away. It returns false if that cannot be read.
func (s *Set[P]) Peek(of Pages[P], i int) (decoded P, ok bool) {
	ok = s.Pager != nil && s.Pager.ReadPage(of.ID(i), func(b []byte) (err error) {
		decoded, err = of.Decode(i, b)
		return err
	})
	return decoded, ok
}

// Adopt brings a page in that is away and was decoded.
func (s *Set[P]) Adopt(of Pages[P], p, decoded P) {
	of.Adopt(p, decoded)
	st := p.state()
	st.Away, st.Recent = false, true
	s.away--
}

// Supply takes the bytes of page i, which is away.
func (s *Set[P]) Supply(of Pages[P], i int, b []byte) error {
	decoded, err := of.Decode(i, b)
	if err == nil {
		s.Adopt(of, of.At(i), decoded)
	}
	return err
}

// Gather reads every page that is away and reports whether it could.
func (s *Set[P]) Gather(of Pages[P]) bool {
	for i := 0; i < of.Count() && s.away > 0; i++ {
		if !s.Hold(of, i) {
			return false
		}
	}
	return true
}

// looks bounds how many pages one call of Shed looks at for each that it is to let go of. Those in memory can lie side by
// side, far from where it begins.
const looks = 256

// Shed lets go of pages of about so many bytes, see [structures.Paged]. It goes round in the order of their numbers.
func (s *Set[P]) Shed(of Pages[P], bytes int) (freed, changed int) {
	n := of.Count()
	if n < 2 {
		return 0, 0
	}
	at := of.Search(s.hand)
	for left := min(looks*(1+bytes/pageBytes), 2*n); left > 0 && freed < bytes; left-- {
		if at == n {
			at = 0
		}
		p := of.At(at)
		switch st := p.state(); {
		case st.Away:
		case st.unwritten():
			changed += of.Bytes(p)
		case st.Recent:
			st.Recent = false
		case s.Pager != nil && s.Pager.Held(of.ID(at)):
		default:
			freed += of.Bytes(p)
			of.Evict(p)
			st.Away = true
			s.away++
		}
		at++
	}
	if s.hand = 0; at < n {
		s.hand = of.ID(at)
	}
	return freed, changed
}

// pageBytes is about what a page takes.
const pageBytes = 4096

// Visit visits pages, with their numbers and bytes in the order of the numbers: all, or those that changed since Clean, and
// with nil those that are gone.
func (s *Set[P]) Visit(of Pages[P], all bool, visit func(id uint64, page []byte)) {
	var gone []uint64
	if !all {
		gone = slices.Clone(s.Gone)
		slices.Sort(gone)
		gone = slices.Compact(gone)
	}
	var buf []byte
	for i := range of.Count() {
		id, p := of.ID(i), of.At(i)
		for len(gone) > 0 && gone[0] < id {
			visit(gone[0], nil)
			gone = gone[1:]
		}
		again := len(gone) > 0 && gone[0] == id // by another page
		if again {
			gone = gone[1:]
		}
		switch st := p.state(); {
		case st.Away:
			if all && !s.copy(id, visit) {
				return
			}
		case of.InHead():
			if !all && (st.Stored || again) {
				visit(id, nil)
			}
		case all || st.unwritten():
			buf = of.Append(buf[:0], p)
			visit(id, buf)
		}
	}
	for _, id := range gone {
		visit(id, nil)
	}
}

// copy visits a page that is away. It returns false if that cannot be read.
func (s *Set[P]) copy(id uint64, visit func(id uint64, page []byte)) bool {
	return s.Pager != nil && s.Pager.ReadPage(id, func(b []byte) error {
		visit(id, b)
		return nil
	})
}

// Part visits up to size of the pages that changed since Clean, marks them as stored, and reports whether there may be
// more than size others. It goes round again for pages that changed behind it. Pages that are gone are visited by Visit.
func (s *Set[P]) Part(of Pages[P], size int, visit func(id uint64, page []byte)) (more bool) {
	if of.InHead() {
		return false
	}
	left := size
	var buf []byte
	for at := of.Search(s.part); at < of.Count(); at++ {
		p := of.At(at)
		st := p.state()
		if st.Away || !st.unwritten() {
			continue
		}
		if left == 0 {
			s.part = of.ID(at)
			return true
		}
		left--
		buf = of.Append(buf[:0], p)
		visit(of.ID(at), buf)
		if st.Dirty {
			s.changed--
		}
		st.Dirty, st.Stored = false, true
	}
	s.part = 0
	return s.changed > size
}

// Clean marks every page as stored.
func (s *Set[P]) Clean(of Pages[P]) {
	stored := !of.InHead()
	for i := range of.Count() {
		st := of.At(i).state()
		st.Dirty, st.Stored = false, stored
	}
	s.Gone, s.changed, s.part = nil, 0, 0
}

// Taint marks every page as changed. None is away: all that are have been stored as they are.
func (s *Set[P]) Taint(of Pages[P]) {
	for i := range of.Count() {
		if p := of.At(i); !p.state().Away {
			s.Alter(p)
		}
	}
}
