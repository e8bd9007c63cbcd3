package hash

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Hash maps fields to values, byte strings both. A field can have an expiry,
// in milliseconds of the caller's clock: reads that are given the time do not
// see expired fields, which stay until ExpireFields deletes them.
//
// A small hash is one buffer (packed.go); a larger one is a tree of
// segments in the order of the fields' hashes (table.go), which are its
// pages on disk. A hash converts from one to the other automatically.
//
// Fields and values that methods return or pass to a visitor alias the hash
// and are valid until its next change; those passed in are copied and must not
// alias the hash. Visitors must not change the hash.
type Hash struct {
	keys       *structures.HashKeys
	pack       pack // the entries while table is nil
	table      *table
	count      int
	timed      int   // fields with an expiry
	nextExpiry int64 // no field expires before; MaxInt64 if none has an expiry
	// declared is the count that the head of a paged hash declares, -1 if
	// there is none to check.
	declared int
	// longest is the length of the longest field or value, peak the count, and
	// tagged whether any field had an expiry, since the hash is in memory:
	// Redis does not go back to a smaller encoding either.
	longest, peak uint32
	tagged        bool
	patience      uint8 // how often it may be changed before it is crowded with more than packFields

	pages paged.Incremental[*segment]
}

// In place of an expiry.
const (
	keepExpiry = -1 // the expiry that the field has, none if it is new
	onlyNew    = -2 // none, and a field that is there stays as it is
)

// New returns an empty hash. The keys, which are the same for as long as the
// hash is stored, decide where the fields of large hashes lie.
func New(keys *structures.HashKeys) *Hash {
	return &Hash{keys: keys, nextExpiry: math.MaxInt64, declared: -1}
}

// Keys are those that New was given.
func (h *Hash) Keys() *structures.HashKeys { return h.keys }

// Kind returns KindHash.
func (h *Hash) Kind() structures.Kind { return structures.KindHash }

// Empty reports that the hash has no fields: its key is to be removed.
func (h *Hash) Empty() bool { return h.count == 0 }

// Len is the number of fields, expired ones that were not deleted included.
func (h *Hash) Len() int { return h.count }

// Longest is the length of the longest field or value since the hash is in memory.
func (h *Hash) Longest() int { return int(h.longest) }

// Size estimates the memory held, in bytes.
func (h *Hash) Size() int {
	size := int(unsafe.Sizeof(*h)) + cap(h.pack.buf) + cap(h.pages.Gone)*8
	if t := h.table; t != nil {
		size += int(unsafe.Sizeof(*t)) + t.memory + cap(t.scratch)
	}
	return size
}

// find returns the entry of a field, expired or not.
func (h *Hash) find(field []byte) (entry, bool) {
	if h.table == nil {
		return h.pack.find(field)
	}
	_, _, e, found := h.tableFind(field)
	return e, found
}

// Get returns the value of a field. A field that is missing or expired at now
// gives false; with now 0 no field is taken as expired.
func (h *Hash) Get(field []byte, now int64) ([]byte, bool) {
	e, found := h.find(field)
	if !found || e.expired(now) {
		return nil, false
	}
	return e.value, true
}

// Set sets a field, takes its expiry away, and reports whether it is new. A
// field that is expired but not deleted counts as old: callers that must not
// see it delete it first.
func (h *Hash) Set(ch *structures.Change, field, value []byte) (created bool) {
	if !h.pages.Whole() && !h.ReadyPut(2, field, value) {
		return false
	}
	ch.Op(opHashSet, 2)
	ch.Bytes(field)
	ch.Bytes(value)
	return h.put(field, value, 0)
}

// SetKeepTTL sets a field and leaves its expiry as it is, as HINCRBY does; a
// new field has none.
func (h *Hash) SetKeepTTL(ch *structures.Change, field, value []byte) (created bool) {
	if !h.pages.Whole() && !h.ReadyPut(2, field, value) {
		return false
	}
	ch.Op(opHashSetKeep, 2)
	ch.Bytes(field)
	ch.Bytes(value)
	return h.put(field, value, keepExpiry)
}

// SetNew sets a field that is missing, without expiry, and reports whether it was. A
// field that is there, expired or not, stays as it is, which is not recorded.
func (h *Hash) SetNew(ch *structures.Change, field, value []byte) (created bool) {
	if h.pages.Unread() {
		return false
	}
	if created = h.put(field, value, onlyNew); created {
		ch.Op(opHashSet, 2)
		ch.Bytes(field)
		ch.Bytes(value)
	}
	return created
}

// put sets a field with an expiry (0 for none), keepExpiry or onlyNew.
func (h *Hash) put(field, value []byte, expiry int64) (created bool) {
	var was int64
	if h.table == nil {
		was, created = h.pack.put(field, value, expiry)
	} else {
		was, created = h.tablePut(field, value, expiry)
	}
	if created {
		h.count++
		h.peak = max(h.peak, uint32(min(uint64(h.count), math.MaxUint32)))
	}
	h.longest = max(h.longest, uint32(len(field)), uint32(len(value)))
	if expiry >= 0 {
		h.retime(was, expiry)
	}
	if h.table == nil && h.crowded() {
		h.unpack()
	}
	return created
}

// crowded reports whether a small hash is to become a table. One that has rested may have more fields than another for a while: to
// make a table takes longer than some searches from the front.
func (h *Hash) crowded() bool {
	switch {
	case h.count > compactFields || len(h.pack.buf) > packBytes:
		return true
	case h.count <= packFields:
		return false
	case h.patience == 0:
		return true
	}
	h.patience--
	return false
}

// retime accounts for a field's new expiry.
func (h *Hash) retime(was, expiry int64) {
	if was != 0 {
		h.timed--
	}
	if expiry != 0 {
		h.timed++
		h.tagged = true
		h.nextExpiry = min(h.nextExpiry, expiry)
	} else if h.timed == 0 {
		h.nextExpiry = math.MaxInt64
	}
}

// unpack makes a table of a small hash.
func (h *Hash) unpack() {
	h.table = &table{}
	h.pack.each(func(e entry) bool {
		h.tablePut(e.field, e.value, e.expiry)
		return true
	})
	h.pack.buf, h.pack.form = nil, loose
}

// repack makes a small hash of a table that has shrunk to a quarter of what
// would make it a table again.
func (h *Hash) repack() {
	if h.table == nil || h.count > packFields/4 || h.table.live > packBytes/4 || !h.pages.Whole() {
		return
	}
	buf := make([]byte, 0, h.table.live)
	h.table.each(0, func(s *segment) bool {
		h.pages.Remove(h.paging(), s.id(), s)
		buf = s.appendPage(buf)
		return true
	})
	h.pack.buf, h.pack.form, h.table = buf, loose, nil
}

// Delete removes a field. A field that is missing gives false and is not
// recorded; one that is expired is there.
func (h *Hash) Delete(ch *structures.Change, field []byte) bool {
	var (
		e     entry
		s     *segment
		i     int
		found bool
	)
	if h.table == nil {
		h.pack.dress()
		e, found = h.pack.find(field)
	} else {
		s, i, e, found = h.tableFind(field)
	}
	if !found || h.pages.Unread() {
		return false
	}
	// Recorded first: the field may be one that the hash returned.
	ch.Op(opHashDelete, 1)
	ch.Bytes(field)
	was := e.expiry
	if s == nil {
		h.pack.remove(&e)
	} else {
		h.take(s, i, &e)
		h.settle(s)
	}
	h.count--
	h.retime(was, 0)
	h.repack()
	return true
}

// Encoding is the reply of OBJECT ENCODING: "listpack", or "listpackex" if a
// field has or had an expiry, if Redis 7.4 with these hash-max-listpack-entries
// and -value would keep the hash in a listpack, and otherwise "hashtable".
func (h *Hash) Encoding(maxEntries, maxValue int) string {
	switch {
	case int(h.peak) > maxEntries || int(h.longest) > maxValue:
		return "hashtable"
	case h.tagged:
		return "listpackex"
	}
	return "listpack"
}
