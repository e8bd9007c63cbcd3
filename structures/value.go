package structures

// Kind names a type of value on disk. These numbers are on disk and never
// change; a new type takes a new number, and a row in package types.
type Kind byte

const (
	KindNone     Kind = 0
	KindString   Kind = 1
	KindList     Kind = 2
	KindHash     Kind = 3
	KindSet      Kind = 4
	KindZSet     Kind = 5
	KindStream   Kind = 6
	KindBloom    Kind = 16
	KindCuckoo   Kind = 17
	KindCountMin Kind = 18
	KindTopK     Kind = 19
	KindTDigest  Kind = 20
	KindJSON     Kind = 24
	KindSchedule Kind = 32
	KindPlace    Kind = 33

	// Kinds is the length of an array by kind: one more than the highest of them.
	Kinds = KindPlace + 1
)

// Value is what a key holds when it is more than a short string.
//
// On disk a value is a head and numbered pages. A small value lives wholly in
// its head and has no pages; a big one keeps its elements in pages of some
// kilobytes, so that changing one element rewrites one page. A value remembers
// which pages changed since Clean was last called.
type Value interface {
	Kind() Kind
	// Empty reports that the key is to be removed (a list without elements).
	// Types that exist while empty, such as Bloom filters, return false.
	Empty() bool
	// Size estimates the memory held, in bytes. It costs O(1).
	Size() int
	// AppendHead appends the encoding of the head to dst.
	AppendHead(dst []byte) []byte
	// Pages visits the pages that changed since Clean (all is false), or
	// every page (all is true), in increasing order of id. A nil page means
	// that the page with that id is gone and is visited only if all is false.
	// The bytes are valid only during the call. It does not mark anything clean.
	Pages(all bool, visit func(id uint64, page []byte))
	// Clean marks every page as stored.
	Clean()
	// SetPage hands a stored page to a value that was just made from its head
	// by the Decode function of its type. Bytes are copied if kept.
	SetPage(id uint64, page []byte) error
	// Apply replays one operation that a method of this type recorded. It must
	// give the same value on every machine.
	Apply(op byte, args *Args) error
}

// Formed is a value of a type whose heads have come to say more than those of before, which earlier versions cannot read.
type Formed interface {
	Value
	// Form is the earliest form that the head of the value can have: 0 is the first one of the type.
	Form() byte
}

// Reformed is a Formed value whose head has a later form where an earlier one would do, for what only later versions need.
type Reformed interface {
	Formed
	// AppendHeadAs is AppendHead in a form, which is not below Form.
	AppendHeadAs(dst []byte, form byte) []byte
}

// Forkable is a value that can be copied in little time, however large it is: what both have in common is
// copied when one of them changes it.
type Forkable interface {
	Value
	// Fork returns a copy, which may be used at the same time as the value. It reports false if a part of the
	// value is on disk only.
	Fork() (copy Value, ok bool)
}
