package paged

// State is what has become of a page. It is embedded in the pages of a type.
type State struct {
	Dirty   bool // changed since Clean
	Stored  bool // under its number the disk had it at the last Clean
	Evicted bool // it is on disk only
	Recent  bool // used since the last visit of Evict
}

func (s *State) state() *State { return s }

// unwritten reports that the disk does not have the page as it is.
func (s *State) unwritten() bool { return s.Dirty || !s.Stored }

// Page is a page of a type, or rather a pointer to one, in which State is embedded.
type Page interface {
	comparable
	state() *State
}

// Pages are the pages of a value. Some may be evicted.
type Pages[P Page] interface {
	// Each visits those that may be evicted, with their numbers and in the order of these, from the first whose number is
	// not below one, until visit returns false.
	Each(from uint64, visit func(id uint64, p P) bool)
	// Decode makes a page of the bytes of one that is evicted: an error if they are not what is known of it. It is
	// not put in its place.
	Decode(id uint64, p P, b []byte) (P, error)
	// Bytes is about how many bytes of memory a page takes. Of one that is evicted it is how many it has on disk.
	Bytes(p P) int
	// Evict drops the bytes of a page, which the disk has, and reports whether it can. Adopt gives it those of a decoded
	// one. Both look after what the value says of its memory.
	Evict(p P) bool
	Adopt(p, decoded P)
}

// Stored are pages that a [Set] writes.
type Stored[P Page] interface {
	Each(from uint64, visit func(id uint64, p P) bool)
	// InHead reports that the head of the value is to have everything, and the disk no page.
	InHead() bool
	// Append appends the bytes on disk of a page that is in memory.
	Append(dst []byte, p P) []byte
}
