package persistence

import (
	"slices"

	"github.com/vigildb/vigil/persistence/feed"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// Big values. The bytes of a big string are not copied into the record that sets it,
// nor into the chunk: these refer to the string, which copies its bytes if it is
// changed before the journal has them (text.Loan). So a string of 512 MiB is in
// memory once as a value and once in the batch that writes it.
//
// Of the values that a transaction gives one key, one after the other, the record
// keeps the last: the operation that set an earlier one becomes a deletion, which
// makes those between work on nothing, and the last one says what the key is.

const (
	// bigValue is the length from which on a string is recorded by reference, and
	// what sets a value is worth to be found again.
	bigValue = 64 << 10
	// bigRecord is the length from which on a record becomes a chunk as it is.
	bigRecord = journal.BigRecord
	// heavyRecord is the length from which on a client waits for its record.
	heavyRecord = journal.MaxUnsynced
)

// bigSet is an operation of the record under construction that sets a big value.
type bigSet struct {
	phys     uint32
	key      []byte
	from, to int    // place in the record
	at       int    // in it, where b belongs
	b        []byte // nil if the record has it itself
}

// Prepared is a value and what the journal is to have of it. A large value takes long to encode.
type Prepared struct {
	value structures.Value
	body  format.Body // without bytes if the value is small
}

// Prepare encodes a value that nothing else uses. It needs no lock.
func Prepare(v structures.Value) *Prepared {
	p := &Prepared{value: v}
	if v.Size() >= bigRecord && v.Kind() != structures.KindString {
		p.body = format.RecordBody(v)
	}
	return p
}

// record is the record under construction of a transaction.
type record struct {
	structures.Change
	s *Store

	told     feed.Telling // what it says of values, as commands
	big      []bigSet     // what it says of big values
	referred int          // bytes of these that are not in it
	loan     *text.Loan   // of these, nil if there are none
	heavy    bool         // the last record was a big one
	lastKey  []byte       // key that its operations are about
	lastDB   uint32       // and its physical database
	hasLast  bool
	apart    bool // it has an operation that is about no key
	arrives  arrival
}

// about makes key the one that the following operations of the record are
// about.
func (r *record) about(t *keyspace.Table, key []byte) {
	if r.hasLast && r.lastDB == t.Phys && string(r.lastKey) == string(key) {
		return
	}
	format.RecordKey(&r.Change, t.Phys, key)
	r.lastKey = append(r.lastKey[:0], key...)
	r.lastDB, r.hasLast = t.Phys, true
	if tracker := r.s.tracker.Load(); tracker != nil {
		tracker.note(t.Phys, key)
	}
}

// whole records that the key, which the record is about, is the value of p.
func (r *record) whole(t *keyspace.Table, key []byte, p Prepared, expire int64) {
	from, v := r.Len(), written(r.s.Level(), p.value)
	set := bigSet{phys: t.Phys, from: from}
	s, ok := v.(*text.String)
	switch {
	case p.body.Bytes != nil && v == p.value: // else it was prepared in another form
		set.at, set.b = format.RecordRestoreBody(&r.Change, p.body, expire), p.body.Bytes
		r.referred += len(set.b)
	case !ok:
		format.RecordRestore(&r.Change, v, expire)
	case s.Len() < bigValue:
		format.RecordSet(&r.Change, s.Bytes(), expire)
	default:
		if r.loan == nil {
			r.loan = new(text.Loan)
		}
		set.b = s.Lend(r.loan)
		set.at = format.RecordSetLength(&r.Change, len(set.b), expire)
		r.referred += len(set.b)
	}
	if set.to = r.Len(); set.b != nil || set.to-from >= bigValue {
		set.key = slices.Clone(key)
		r.big = append(r.big, set)
	}
	r.stayBlessed(t, key)
}

// supersede drops what the record says of earlier values of a key that is about
// to get another one, or to go.
func (r *record) supersede(t *keyspace.Table, key []byte) {
	for i := range r.big {
		if set := &r.big[i]; set.phys != t.Phys || string(set.key) != string(key) {
			continue
		}
		set := r.big[i]
		r.Replace(set.from, set.to, format.OpDelete, 0)
		gone := set.to - set.from - 2
		r.referred -= len(set.b)
		r.big = slices.Delete(r.big, i, i+1)
		for j := range r.big[i:] {
			later := &r.big[i+j]
			later.from -= gone
			later.at -= gone
			later.to -= gone
		}
		return
	}
}

// references are the bytes that the record refers to. They belong to the caller.
func (r *record) references() []journal.Reference {
	var refs []journal.Reference
	for _, set := range r.big {
		if set.b != nil {
			refs = append(refs, journal.Reference{At: set.at, Bytes: set.b})
		}
	}
	clear(r.big)
	r.big, r.referred = r.big[:0], 0
	return refs
}

// append moves the record into the journal and returns its number.
func (r *record) append(flags byte) uint64 {
	lsn, size, c := uint64(0), r.size(), &r.s.commits
	if r.referred == 0 && size < bigRecord {
		clear(r.big)
		r.big = r.big[:0]
		lsn = r.s.feed.Append(&c.Journal, r.Encoded(), flags, &r.told)
	} else {
		refs, loan := r.references(), r.loan
		r.loan = nil
		lsn = r.s.feed.AppendBig(&c.Journal, r.Take(), refs, loan, flags, &r.told)
	}
	e := c.Journal.Exposed()
	r.heavy = size >= heavyRecord || e > 0 && e > c.Synced()
	return lsn
}

// size is its length so far.
func (r *record) size() int { return r.Len() + r.referred }

// stayBlessed records of a key that gets another value that it is blessed still: a replay does not look at what was there.
func (r *record) stayBlessed(t *keyspace.Table, key []byte) {
	if t.Blessed(key) {
		format.RecordBless(&r.Change, true)
	}
}
