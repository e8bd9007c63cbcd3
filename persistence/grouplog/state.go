package grouplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2"
)

// HardState is what a member must not forget: the highest term that it knows of, its
// vote in it (0: none), and up to which entry it knows the log to be committed.
type HardState struct{ Term, Vote, Commit uint64 }

func (s HardState) append(dst []byte) []byte { return appendNumbers(dst, s.Term, s.Vote, s.Commit) }

func decodeState(b []byte) (HardState, error) {
	if len(b) != 24 {
		return HardState{}, fmt.Errorf("state of %d bytes: %w", len(b), ErrCorrupt)
	}
	number := binary.LittleEndian.Uint64
	return HardState{number(b), number(b[8:]), number(b[16:])}, nil
}

// Membership is the members of the group in the caller's form, as an entry of the log
// left them.
type Membership struct {
	Index   uint64
	Members []byte
}

// Boot is the start of the machine in which the log was written last. After another
// one what was not synced may be gone, unless the log was closed in order.
type Boot struct {
	ID     [16]byte
	Closed bool // in order
}

// The records of a group are apart from each other, as different goroutines write
// them: one must not put back what another one has written.
//
//	'r' | group (2) | kind (1)    crc32c of what follows (4) | fields
const (
	prefixEntry  = 'j'
	prefixRecord = 'r'

	recordState      = 's' // term (8) | vote (8) | commit (8) before the first frame
	recordMembership = 'm' // index (8) | members
	recordBoot       = 'b' // id (16) | 1 if closed in order (1)
	recordCut        = 'c' // index (8) | term (8) | last record (8) of what was cut off | first segment (8) | 1 if that is there (1)
	recordRest       = 'h' // last record (8) that values on disk rest on
	recordIdentity   = 'i' // which member this is
)

func recordKey(group uint16, kind byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{prefixRecord}, group), kind)
}

func (l *Log) recordKey(kind byte) []byte { return recordKey(l.group, kind) }

func (l *Log) entryKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16([]byte{prefixEntry}, l.group), index)
}

// setRecord adds a record to a batch.
func (l *Log) setRecord(b *pebble.Batch, kind byte, fields []byte) error {
	return b.Set(l.recordKey(kind), sealRecord(fields), nil)
}

func sealRecord(fields []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(fields, castagnoli)), fields...)
}

// record reads a record; fields are nil if there is none. Its length is at least size.
func (l *Log) record(kind byte, size int) (fields []byte, err error) {
	return readRecord(l.disk.Reader(), l.recordKey(kind), size)
}

func readRecord(r pebble.Reader, key []byte, size int) (fields []byte, err error) {
	kind := key[len(key)-1]
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record %c: %w", kind, err)
	}
	if len(v) < 4+size || binary.LittleEndian.Uint32(v) != crc32.Checksum(v[4:], castagnoli) {
		return nil, errors.Join(fmt.Errorf("record %c of %d bytes: %w", kind, len(v), ErrCorrupt), closer.Close())
	}
	fields = append(fields, v[4:]...)
	return fields, closer.Close()
}

func appendNumbers(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func cutFields(index uint64, p place, first firstSegment) []byte {
	fields := append(appendNumbers(nil, index, p.term, p.last, first.number), 0)
	if first.made {
		fields[32] = 1
	}
	return fields
}

// write syncs the log, and then commits a batch: Pebble is never ahead of the log. Mu is held, so that nothing is appended between.
func (l *Log) write(fill func(b *pebble.Batch) error) error {
	err := l.broken
	if err == nil && planted != hastyRecords {
		if err = l.failed(errors.Join(l.log.Flush(), l.log.Sync())); err != nil {
			l.broken = err
		}
	}
	if err != nil {
		return err
	}
	l.safe = l.state
	return l.commit(fill)
}

// commit makes a batch and syncs it.
func (l *Log) commit(fill func(b *pebble.Batch) error) error {
	b := l.disk.Reader().NewBatch()
	if err := fill(b); err != nil {
		return errors.Join(err, b.Close())
	}
	return l.failed(l.disk.Apply(b))
}

// loadRecords reads all records.
func (l *Log) loadRecords() error {
	number := binary.LittleEndian.Uint64
	b, err := l.record(recordState, 24)
	if err != nil {
		return err
	}
	if b != nil {
		if l.state, err = decodeState(b); err != nil {
			return err
		}
	}
	if b, err = l.record(recordMembership, 8); err != nil {
		return err
	}
	if b != nil {
		l.membership = Membership{number(b), b[8:]}
	}
	if b, err = l.record(recordBoot, 17); err != nil {
		return err
	}
	if b != nil {
		l.boot = Boot{[16]byte(b), b[16] == 1}
	}
	if b, err = l.record(recordCut, 24); err != nil {
		return err
	}
	if b != nil {
		l.cut, l.begin = number(b), place{term: number(b[8:]), last: number(b[16:])}
	}
	if len(b) >= 33 { // else format 2 has written it
		l.first = firstSegment{number(b[24:]), b[32] == 1}
	}
	if b, err = l.record(recordRest, 8); err != nil {
		return err
	}
	if b != nil {
		l.rests = number(b)
	}
	l.identity, err = l.record(recordIdentity, 1)
	return err
}

// Rest adds to a batch that what it writes contains records up to one that is committed.
// Engines write late how far they committed: a restart must not believe less than what
// values on disk show. The device has the record, see [Log.Forced]. One goroutine at a time calls it, and commits its batches in order.
func (l *Log) Rest(b *pebble.Batch, record uint64) error {
	return l.setRecord(b, recordRest, appendNumbers(nil, record))
}

// SetMembership keeps the members of the group, on the device.
func (l *Log) SetMembership(m Membership) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.write(func(b *pebble.Batch) error {
		return l.setRecord(b, recordMembership, append(appendNumbers(nil, m.Index), m.Members...))
	})
	if err == nil {
		l.membership = m
	}
	return err
}

// Membership returns the members that were kept last, none before.
func (l *Log) Membership() Membership {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.membership
}

// SetIdentity keeps the member's and the group's identity, in the caller's form, on the device. What it says of other groups
// may change many times a second: entries are written, and read, while the device is waited for.
func (l *Log) SetIdentity(b []byte) error {
	l.noting.Lock()
	defer l.noting.Unlock()
	err := l.commit(func(batch *pebble.Batch) error { return l.setRecord(batch, recordIdentity, b) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.identity = b
	}
	return err
}

// Identity returns what SetIdentity was called with last, nil before. It must not be changed.
func (l *Log) Identity() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.identity
}

// SetBoot keeps the start of the machine, on the device, and has the log there before: what it says of that is true.
func (l *Log) SetBoot(boot Boot) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.write(func(b *pebble.Batch) error { return l.setRecord(b, recordBoot, boot.fields()) })
	if err == nil {
		l.boot = boot
	}
	return err
}

func (b *Boot) fields() []byte {
	fields := append(append([]byte(nil), b.ID[:]...), 0)
	if b.Closed {
		fields[16] = 1
	}
	return fields
}

// Boot returns what was kept last, zero before.
func (l *Log) Boot() Boot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boot
}

// State returns the hard state.
func (l *Log) State() HardState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}
