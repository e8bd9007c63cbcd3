package persistence

import (
	"slices"

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

// recordWhole records that the key, which the record is about, is the value of p.
func (tx *Tx) recordWhole(t *keyspace.Table, key []byte, p Prepared, expire int64) {
	from, v := tx.rec.Len(), written(tx.s.Level(), p.value)
	set := bigSet{phys: t.Phys, from: from}
	s, ok := v.(*text.String)
	switch {
	case p.body.Bytes != nil && v == p.value: // else it was prepared in another form
		set.at, set.b = format.RecordRestoreBody(&tx.rec, p.body, expire), p.body.Bytes
		tx.referred += len(set.b)
	case !ok:
		format.RecordRestore(&tx.rec, v, expire)
	case s.Len() < bigValue:
		format.RecordSet(&tx.rec, s.Bytes(), expire)
	default:
		if tx.loan == nil {
			tx.loan = new(text.Loan)
		}
		set.b = s.Lend(tx.loan)
		set.at = format.RecordSetLength(&tx.rec, len(set.b), expire)
		tx.referred += len(set.b)
	}
	if set.to = tx.rec.Len(); set.b != nil || set.to-from >= bigValue {
		set.key = slices.Clone(key)
		tx.big = append(tx.big, set)
	}
	tx.stayBlessed(t, key)
}

// supersede drops what the record says of earlier values of a key that is about
// to get another one, or to go.
func (tx *Tx) supersede(t *keyspace.Table, key []byte) {
	for i := range tx.big {
		if set := &tx.big[i]; set.phys != t.Phys || string(set.key) != string(key) {
			continue
		}
		set := tx.big[i]
		tx.rec.Replace(set.from, set.to, format.OpDelete, 0)
		gone := set.to - set.from - 2
		tx.referred -= len(set.b)
		tx.big = slices.Delete(tx.big, i, i+1)
		for j := range tx.big[i:] {
			later := &tx.big[i+j]
			later.from -= gone
			later.at -= gone
			later.to -= gone
		}
		return
	}
}

// references are the bytes that the record refers to. They belong to the caller.
func (tx *Tx) references() []journal.Reference {
	var refs []journal.Reference
	for _, set := range tx.big {
		if set.b != nil {
			refs = append(refs, journal.Reference{At: set.at, Bytes: set.b})
		}
	}
	clear(tx.big)
	tx.big, tx.referred = tx.big[:0], 0
	return refs
}

// journal moves the record into the journal and returns its number.
func (tx *Tx) journal(flags byte) uint64 {
	size := tx.RecordBytes()
	tx.heavy = size >= heavyRecord
	if tx.referred == 0 && size < bigRecord {
		clear(tx.big)
		tx.big = tx.big[:0]
		return tx.appended(tx.s.feed.Append(&tx.s.commits.Journal, tx.rec.Encoded(), flags, &tx.told))
	}
	refs, loan := tx.references(), tx.loan
	tx.loan = nil
	return tx.appended(tx.s.feed.AppendBig(&tx.s.commits.Journal, tx.rec.Take(), refs, loan, flags, &tx.told))
}

// appended notes that the client has to wait for a record, as for one that is big, that the death of the process would
// take with it.
func (tx *Tx) appended(lsn uint64) uint64 {
	if e := tx.s.commits.Journal.Exposed(); e > 0 && e > tx.s.commits.Synced() {
		tx.heavy = true
	}
	return lsn
}

// Heavy reports that the client of the last record is to wait until it is on the device. It was so big
// that one client alone could make what waits for the disk any amount, or the death of the process
// would take it: the tail had no room for it, or for one before it.
func (tx *Tx) Heavy() bool { return tx.heavy }

// RecordBytes is the length of the record so far.
func (tx *Tx) RecordBytes() int { return tx.rec.Len() + tx.referred }
