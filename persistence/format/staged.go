package format

// Pages may be staged under keys of their own, where nothing reads them, until the value
// that has them is complete:
//
//	'q' | group (2) | physical database (4) | hash (8) | length of key (4) | key | page (8)    StagedPage (1) | page | deltas, or StagedGone (1), or deltas
//	't' | group (2)                                                                            nothing: what is staged counts
//
// Deltas (structures.Incremental) are appended to what is staged of their page, or are staged alone: they
// begin with leastDelta or more.
const (
	StagedGone = 0
	StagedPage = 1
	// leastDelta is the least first byte of a delta.
	leastDelta = 0x80
)

// IsStaged reports that bytes can be what is staged of a page.
func IsStaged(b []byte) bool { return len(b) > 0 && (b[0] <= StagedPage || b[0] >= leastDelta) }

// AppendStagedKey appends the key that says that staged pages count.
func AppendStagedKey(dst []byte) []byte { return AppendGroup(dst, PrefixStaged) }

// Restage appends the key under which a page is staged, or that of the page if key is
// of a staged one.
func Restage(dst, key []byte) []byte {
	dst = append(dst, key...)
	dst[0] = PrefixStage + PrefixPage - dst[0]
	return dst
}
