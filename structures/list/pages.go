package list

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Bytes on disk. These numbers are on disk and never change.
//
//	entry  length (uvarint) | bytes
//	head   0 | entry ...                              a list without pages
//	head   1 | length (uvarint) | pages (uvarint)     a list with pages
//	head   2 | as 1 | for each page, in the order of their numbers:
//	         number - the one before | elements | bytes in memory
//	         (uvarints)                               a list with many pages
//	page   entry ...                                  at least one
//
// The bytes in memory are those of an element and of its length twice, see node.go.
//
// A page is a node. Pages in the order of their numbers are the list from
// head to tail; the numbers are apart so that a new node finds one between two
// others.
const (
	listInHead = 0
	listPaged  = 1
	listIndex  = 2
)

// Operations in the journal. These numbers are on disk and never change.
const (
	opListPushHead = 16 // elem ...
	opListPushTail = 17 // elem ...
	opListPopHead  = 18 // [count], 1 if absent
	opListPopTail  = 19 // [count], 1 if absent
	opListSet      = 20 // index, elem
	opListInsert   = 21 // index that the element will have, elem
	opListRemove   = 22 // count as in LREM, elem
	opListTrim     = 23 // first index kept, number kept
)

// headBytes bounds a list that is stored in its head: it is rewritten whole
// at every change, but costs one key instead of two.
const headBytes = nodeBytes

// AppendHead appends the encoding of the head to dst.
func (l *List) AppendHead(dst []byte) []byte {
	if !l.paging().InHead() {
		form := byte(listPaged)
		if l.nodes > structures.IndexedPages() || !l.pages.Whole() {
			form = listIndex
		}
		dst = append(dst, form)
		dst = binary.AppendUvarint(dst, uint64(l.len))
		dst = binary.AppendUvarint(dst, uint64(l.nodes))
		if form == listIndex {
			dst = l.appendIndex(dst)
		}
		return dst
	}
	dst = append(dst, listInHead)
	if l.nodes > 0 {
		dst = l.node(0).appendPage(dst)
	}
	return dst
}

func (n *node) appendPage(dst []byte) []byte {
	for off := int(n.lo); off < int(n.hi); {
		var elem []byte
		elem, off = n.next(off)
		dst = binary.AppendUvarint(dst, uint64(len(elem)))
		dst = structures.Append(dst, elem)
	}
	return dst
}

// Decode makes a list from its head. If it has pages, SetPage must follow
// for each of them. Bytes are copied. A bad head gives ErrCorrupt.
func Decode(head []byte) (*List, error) {
	l := New()
	if len(head) == 0 {
		return nil, fmt.Errorf("list head of 0 bytes: %w", structures.ErrCorrupt)
	}
	switch head[0] {
	case listInHead:
		if len(head) == 1 {
			return l, nil
		}
		if err := l.load(0, idMiddle, head[1:]); err != nil {
			return nil, err
		}
		return l, nil
	case listPaged, listIndex:
		size, w := binary.Uvarint(head[1:])
		if w <= 0 || size > 1<<48 {
			return nil, fmt.Errorf("list length: %w", structures.ErrCorrupt)
		}
		pages, v := binary.Uvarint(head[1+w:])
		if v <= 0 || pages > size || head[0] == listPaged && 1+w+v != len(head) {
			return nil, fmt.Errorf("number of list pages: %w", structures.ErrCorrupt)
		}
		l.declared = int(size)
		if head[0] == listIndex {
			if err := l.loadIndex(head[1+w+v:], pages); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
	return nil, fmt.Errorf("list head of form %d: %w", head[0], structures.ErrCorrupt)
}

// SetPage takes a stored page, in any order. A bad page, a page that was
// given already, or one for a list without pages gives ErrCorrupt.
func (l *List) SetPage(id uint64, page []byte) error {
	if l.declared < 0 {
		return fmt.Errorf("page %d of a list without pages: %w", id, structures.ErrCorrupt)
	}
	at := l.search(id)
	if at < l.nodes && l.node(at).id == id {
		if n := l.node(at); n.Evicted {
			return l.pages.Supply(l.paging(), id, n, page)
		}
		return fmt.Errorf("list page %d given twice: %w", id, structures.ErrCorrupt)
	}
	if err := l.load(at, id, page); err != nil {
		return fmt.Errorf("list page %d: %w", id, err)
	}
	l.node(at).Stored = true
	return nil
}

// Complete reports an error if pages are missing: the elements are not as many
// as the head declared. To be asked once after the last SetPage.
func (l *List) Complete() error {
	if l.declared >= 0 && l.declared != l.len {
		return fmt.Errorf("list of %d elements has %d: %w", l.declared, l.len, structures.ErrCorrupt)
	}
	if !l.pages.Whole() && l.pages.Pager == nil {
		return fmt.Errorf("list lacks %d pages: %w", l.pages.Count(), structures.ErrCorrupt)
	}
	return nil
}

// load makes node at from the entries of a page.
func (l *List) load(at int, id uint64, page []byte) error {
	n, err := loadNode(id, page)
	if err != nil {
		return err
	}
	l.openPlace(at)
	*l.node(at) = n
	l.memory += len(n.buf)
	l.len += int(n.count)
	return nil
}

// loadNode makes a node of a page.
func loadNode(id uint64, page []byte) (node, error) {
	size, count := 0, 0
	for rest := page; len(rest) > 0; count++ {
		elem, behind, err := nextStored(rest)
		if err != nil {
			return node{}, err
		}
		size += entrySize(len(elem))
		rest = behind
	}
	if count == 0 || uint64(size) > math.MaxUint32 {
		return node{}, fmt.Errorf("page of %d elements, %d bytes: %w", count, size, structures.ErrCorrupt)
	}
	n := node{buf: make([]byte, size), id: id}
	for rest := page; len(rest) > 0; {
		var elem []byte
		elem, rest, _ = nextStored(rest)
		n.push(Tail, elem)
	}
	return n, nil
}

func nextStored(b []byte) (elem, rest []byte, err error) {
	size, w := binary.Uvarint(b)
	if w <= 0 || size > uint64(len(b)-w) {
		return nil, nil, fmt.Errorf("length of a list element: %w", structures.ErrCorrupt)
	}
	return b[w : w+int(size)], b[w+int(size):], nil
}

// Pages visits changed or all pages, see Value.
func (l *List) Pages(all bool, visit func(id uint64, page []byte)) {
	l.pages.Visit(l.paging(), all, visit)
}

// Clean marks every page as stored. The disk may have a page of a list that was just
// read and would be stored in its head: that page is to go with the next change.
func (l *List) Clean() {
	var left []uint64
	if l.paging().InHead() && l.declared >= 0 && l.nodes > 0 && l.node(0).Stored {
		left = append(left, l.node(0).id)
	}
	l.pages.Clean(l.paging())
	l.pages.Gone, l.declared = left, -1
}

// MarkAllDirty marks every page as changed.
func (l *List) MarkAllDirty() { l.pages.MarkAllDirty(l.paging()) }

// Flush visits some of the pages that changed since Clean, see [paged.Set.Flush].
func (l *List) Flush(size int, visit func(id uint64, page []byte)) (more bool) {
	return l.pages.Flush(l.paging(), size, visit)
}

// Apply replays an operation. One that does not fit the list, such as an index
// out of range, gives ErrCorrupt and changes nothing; pops and removals of what
// is not there do nothing.
func (l *List) Apply(op byte, args *structures.Args) error {
	switch op {
	case opListPushHead, opListPushTail:
		if !l.Ready(End(op - opListPushHead)) {
			return nil // the pager says so
		}
		for args.Left() > 0 {
			elem := args.Bytes()
			if args.Err() != nil {
				break
			}
			l.push(End(op-opListPushHead), elem)
		}
		return args.Done()
	case opListPopHead, opListPopTail:
		count := uint64(1)
		if args.Left() > 0 {
			count = args.Uint()
		}
		if err := args.Done(); err != nil {
			return err
		}
		l.PopMany(nil, End(op-opListPopHead), int(min(count, uint64(l.len))), nil)
		return nil
	case opListSet, opListInsert, opListRemove:
		return l.applyElement(op, args)
	case opListTrim:
		from, count := args.Uint(), args.Uint()
		if err := args.Done(); err != nil {
			return err
		}
		size := uint64(l.len)
		if from > size || count > size-from {
			return fmt.Errorf("trim of %d elements to %d from %d: %w", l.len, count, from, structures.ErrCorrupt)
		}
		if l.pinBounds(int(from), int(count)) {
			l.trim(int(from), int(count))
		}
		return nil
	}
	return fmt.Errorf("list operation %d: %w", op, structures.ErrUnknownChange)
}

// applyElement replays the operations with a number and an element.
func (l *List) applyElement(op byte, args *structures.Args) error {
	i, elem := int(args.Int()), args.Bytes()
	if err := args.Done(); err != nil {
		return err
	}
	switch {
	case op == opListRemove:
		l.Remove(nil, i, elem)
	case op == opListSet && i >= 0 && i < l.len:
		l.Set(nil, i, elem)
	case op == opListInsert && i >= 0 && i <= l.len:
		l.insertIndex(i, elem)
	default:
		return fmt.Errorf("list operation %d at %d of %d: %w", op, i, l.len, structures.ErrCorrupt)
	}
	return nil
}
