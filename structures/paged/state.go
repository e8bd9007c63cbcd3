package paged

// State is what has become of a page. It is embedded in the pages of a type.
type State struct {
	Dirty  bool // changed since Clean
	Stored bool // under its number the disk had it at the last Clean
	Away   bool // it is on disk only
	Recent bool // used since the last visit of Shed
}

func (s *State) state() *State { return s }

// unwritten reports that the disk does not have the page as it is.
func (s *State) unwritten() bool { return s.Dirty || !s.Stored }

// Page is a page of a type, or rather a pointer to one, in which State is embedded.
type Page interface {
	comparable
	state() *State
}

// is reports that there is a page at a place.
func is[P Page](p P) bool {
	var none P
	return p != none
}

// Pages are the pages of a value, of which some may be away.
type Pages[P Page] interface {
	// Count is how many places for pages that may be away there are, and At the page at one of them, in the order of
	// their numbers: the zero P if there is none, as in an array that is zeros there.
	Count() int
	At(i int) P
	// ID returns the number of page i, and Search the first page whose number is not below id.
	ID(i int) uint64
	Search(id uint64) int
	// Decode makes a page of the bytes of page i, which is away: an error if they are not what is known of it. It is
	// not put in its place.
	Decode(i int, b []byte) (P, error)
	// Bytes is about how many bytes of memory a page takes. Of one that is away it is how many it has on disk.
	Bytes(p P) int
	// Evict has a page give up the bytes that the disk has. Adopt gives it those of a decoded one. Both look after
	// what the value says of its memory.
	Evict(p P)
	Adopt(p, decoded P)
}

// Stored are pages that a [Set] writes.
type Stored[P Page] interface {
	Pages[P]
	// InHead reports that the head of the value is to have everything, and the disk no page.
	InHead() bool
	// Append appends the bytes on disk of a page that is in memory.
	Append(dst []byte, p P) []byte
}
