package paged

import "github.com/vigildb/vigil/structures"

// Resident is which pages of a value are in memory.
type Resident[P Page] struct {
	Pager structures.Pager // of the evicted pages; nil: none is

	evicted int
	hand    uint64 // number of the page at which Evict goes on
}

// Whole reports that no page is evicted.
func (r *Resident[P]) Whole() bool { return r.evicted == 0 }

// Count is the number of evicted pages.
func (r *Resident[P]) Count() int { return r.evicted }

// Found notes that a page which is evicted was found in an index.
func (r *Resident[P]) Found() { r.evicted++ }

// Lost notes that a page is about to go.
func (r *Resident[P]) Lost(p P) {
	if p.state().Evicted {
		r.evicted--
	}
}

// Unread reports that a page could not be read for the command under way, which changes nothing then.
func (r *Resident[P]) Unread() bool { return r.evicted > 0 && r.Pager != nil && r.Pager.Failed() }

// Evicted is the number of evicted pages, and their bytes.
func (r *Resident[P]) Evicted(of Pages[P]) (pages int, bytes int64) {
	if left := r.evicted; left > 0 {
		of.Each(0, func(_ uint64, p P) bool {
			if p.state().Evicted {
				bytes += int64(of.Bytes(p))
				left--
			}
			return left > 0
		})
	}
	return r.evicted, bytes
}

// Touch makes sure that a page is in memory, which fails if it cannot be read, and stays there for a while. Others may
// leave memory for it.
func (r *Resident[P]) Touch(of Pages[P], id uint64, p P) bool {
	if p.state().Evicted {
		r.MakeRoom(of, of.Bytes(p))
	}
	return r.Pin(of, id, p)
}

// MakeRoom evicts pages if memory is exceeded by far.
func (r *Resident[P]) MakeRoom(of Pages[P], bytes int) {
	if r.Pager != nil && r.Pager.Tight() {
		r.Evict(of, bytes)
	}
}

// Pin is Touch without others leaving memory.
func (r *Resident[P]) Pin(of Pages[P], id uint64, p P) bool {
	if st := p.state(); !st.Evicted {
		st.Recent = true
		return true
	}
	decoded, ok := r.Peek(of, id, p)
	if ok {
		r.Adopt(of, p, decoded)
	}
	return ok
}

// kept is the number of pages that a walk keeps in memory: those near an end are likely to be asked for again.
const kept = 16

// Walking is how many pages a walk has passed that is to keep none.
const Walking = kept

// View returns a page for a walk that has passed some before. One that is evicted is kept if it is among the first or memory
// has room, else it is a copy. It returns false if that cannot be read.
func (r *Resident[P]) View(of Pages[P], id uint64, p P, passed int) (P, bool) {
	st := p.state()
	if st.Recent {
		return p, true
	}
	if st.Evicted && passed >= kept && (r.Pager == nil || !r.Pager.Room()) {
		return r.Peek(of, id, p)
	}
	return p, r.Touch(of, id, p)
}

// Peek returns a copy of an evicted page. It returns false if that cannot be read.
func (r *Resident[P]) Peek(of Pages[P], id uint64, p P) (decoded P, ok bool) {
	ok = r.Pager != nil && r.Pager.ReadPage(id, func(b []byte) (err error) {
		decoded, err = of.Decode(id, p, b)
		return err
	})
	return decoded, ok
}

// Adopt brings a page in that is evicted and was decoded.
func (r *Resident[P]) Adopt(of Pages[P], p, decoded P) {
	of.Adopt(p, decoded)
	st := p.state()
	st.Evicted, st.Recent = false, true
	r.evicted--
}

// Supply takes the bytes of an evicted page.
func (r *Resident[P]) Supply(of Pages[P], id uint64, p P, b []byte) error {
	decoded, err := of.Decode(id, p, b)
	if err == nil {
		r.Adopt(of, p, decoded)
	}
	return err
}

// LoadAll reads every evicted page and reports whether it could.
func (r *Resident[P]) LoadAll(of Pages[P]) bool {
	ok := true
	if r.evicted > 0 {
		of.Each(0, func(id uint64, p P) bool {
			ok = r.Pin(of, id, p)
			return ok && r.evicted > 0
		})
	}
	return ok
}

// Copy visits an evicted page. It returns false if that cannot be read.
func (r *Resident[P]) Copy(id uint64, visit func(id uint64, page []byte)) bool {
	return r.Pager != nil && r.Pager.ReadPage(id, func(b []byte) error {
		visit(id, b)
		return nil
	})
}

// looks bounds how many pages one call of Evict looks at for each that it is to evict. Those in memory can lie side by
// side, far from where it begins.
const looks = 256

// pageBytes is about what a page takes.
const pageBytes = 4096

// Evict evicts pages of about so many bytes, see [structures.Paged]. It goes round in the order of their numbers, twice at
// most: pages that were used stay once.
func (r *Resident[P]) Evict(of Pages[P], bytes int) (freed, changed int) {
	return r.round(of, bytes, func(id uint64, p P) (freed, changed int) { return r.evict(of, id, p) })
}

// round is Evict by way of a function for a page.
func (r *Resident[P]) round(of Pages[P], bytes int, evict func(id uint64, p P) (freed, changed int)) (freed, changed int) {
	for turn, left := 0, looks*(1+bytes/pageBytes); turn < 3 && freed < bytes && left > 0; turn++ {
		from := r.hand
		r.hand = 0
		of.Each(from, func(id uint64, p P) bool {
			if left == 0 || freed >= bytes {
				r.hand = id
				return false
			}
			left--
			f, c := evict(id, p)
			freed, changed = freed+f, changed+c
			return true
		})
	}
	return freed, changed
}

// evict evicts a page, if it may.
func (r *Resident[P]) evict(of Pages[P], id uint64, p P) (freed, changed int) {
	switch st := p.state(); {
	case st.Evicted:
	case st.unwritten():
		changed = of.Bytes(p)
	case st.Recent:
		st.Recent = false
	case r.held(id):
	default:
		bytes := of.Bytes(p)
		if of.Evict(p) {
			freed, st.Evicted = bytes, true
			r.evicted++
		}
	}
	return freed, changed
}

// held reports that a page must stay in memory, as it cannot be read yet.
func (r *Resident[P]) held(id uint64) bool { return r.Pager != nil && r.Pager.Held(id) }
