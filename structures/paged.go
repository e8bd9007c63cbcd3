package structures

// Pager reads the pages of one value that are on disk only.
type Pager interface {
	// ReadPage calls use with a page as it was stored, whose bytes are valid only during
	// the call. It reports false if the page cannot be read or use returns an error. The
	// pager keeps the reason, and the command under way fails with it.
	ReadPage(id uint64, use func(page []byte) error) bool
	// Failed reports that a page could not be read for the command under way.
	Failed() bool
	// Room reports whether memory has room for pages that a walk over a value reads.
	Room() bool
	// Held reports that a page that did not change cannot be read: the disk has yet to
	// get it, from a batch under way.
	Held(id uint64) bool
	// Tight reports that memory is exceeded by far and that pages of the value which
	// did not change can leave it.
	Tight() bool
}

// Paged is a value that can have some of its pages on disk only. It knows of these what
// it needs to find elements, and how many they are, and its head has that too if there
// are many. A method that needs such a page reads it. If that fails it returns what it
// would return for an element that is missing, and changes and records nothing.
type Paged interface {
	Value
	// SetPager says where pages are read; nil if all are in memory.
	SetPager(p Pager)
	// Evicted is the number of pages that are on disk only, and their bytes.
	Evicted() (pages int, bytes int64)
	// Evict evicts about so many bytes of pages that are stored as they are: not
	// of those used since its last visit, or held. It returns how many bytes that were, and how
	// many are in pages that it passed over because they changed.
	Evict(bytes int) (freed, changed int)
	// Changed is about how many bytes of pages changed since Clean, and cannot leave
	// memory before they are stored.
	Changed() int
	// LoadAll reads every evicted page and reports whether it could.
	LoadAll() bool
}

// Incremental is a Paged value whose pages, if they only gained elements, can be written by
// these: what is appended to the page on disk, a delta. The value gets elements of a page that is
// evicted so without reading it, if it knows that they are new.
//
// A delta that is appended twice, by a batch that is written again after a failure, does
// no harm. Some of the last deltas may not be there yet when a page is read, as they are in a
// batch under way: the value keeps what they have until Held says that they are.
type Incremental interface {
	Paged
	// FlushDeltas visits changed pages, of about as many bytes as n full ones have, and marks them as
	// stored: whole ones, and deltas. It reports whether there may be more than that again.
	FlushDeltas(n int, visit, delta func(id uint64, page []byte)) (more bool)
}

// indexedPages is a variable for tests.
var indexedPages = 64

// IndexedPages is the number of pages from which on the head of a value says what each of
// them is, so that they need not be read to find out.
func IndexedPages() int { return indexedPages }

// SetIndexedPages changes, for tests, from how many pages on heads have an index, and
// returns the number that it was.
func SetIndexedPages(n int) (was int) {
	was, indexedPages = indexedPages, n
	return was
}
