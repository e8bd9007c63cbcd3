package grouplog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Takeover is what a log is to become that is taken over from another member, with all
// that the group has: entries behind Cut, and what a member keeps beside them.
type Takeover struct {
	Cut        uint64 // last entry that is not there
	CutTerm    uint64
	CutRecord  uint64 // last record up to it
	State      HardState
	Membership Membership
	Rests      uint64 // record up to which values on disk may contain what the log has
	Identity   []byte // nil: that of this member stays
}

// Records calls set with the records of a takeover, in the order of their keys. The start of the
// machine stays this member's own.
func (l *Log) Records(t *Takeover, set func(key, value []byte) error) error {
	l.noting.Lock() // what is on the device by now is not put back
	l.mu.Lock()
	boot, identity := l.boot, l.identity
	l.mu.Unlock()
	l.noting.Unlock()
	if t.Identity != nil {
		identity = t.Identity
	}
	own := func() error {
		if identity == nil {
			return nil
		}
		return set(l.recordKey(recordIdentity), sealRecord(identity))
	}
	return errors.Join(
		set(l.recordKey(recordBoot), sealRecord(boot.fields())),
		set(l.recordKey(recordCut), sealRecord(appendNumbers(nil, t.Cut, t.CutTerm, t.CutRecord))),
		set(l.recordKey(recordRest), sealRecord(appendNumbers(nil, t.Rests))),
		own(),
		set(l.recordKey(recordMembership), sealRecord(append(appendNumbers(nil, t.Membership.Index), t.Membership.Members...))),
		set(l.recordKey(recordState), sealRecord(appendNumbers(nil, t.State.Term, t.State.Vote, t.State.Commit))))
}

// Reload reads the log again, after something else than its methods has changed it. After an
// error it is as it was.
func (l *Log) Reload() error {
	now, err := Open(l.disk, l.group)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.begin, l.places, l.recent = now.cut, now.begin, now.places, now.recent
	l.state, l.rests, l.membership, l.boot, l.identity = now.state, now.rests, now.membership, now.boot, now.identity
	return nil
}

// TermIn returns the term of an entry as of a snapshot of the disk, also of the last one that
// was cut off then. The error is ErrCompacted for others, ErrUnavailable or the disk's.
func (l *Log) TermIn(r pebble.Reader, index uint64) (term uint64, err error) {
	if index == 0 {
		return 0, nil
	}
	v, closer, err := r.Get(l.entryKey(index))
	if err == nil {
		if len(v) < header {
			return 0, errors.Join(fmt.Errorf("entry %d of %d bytes: %w", index, len(v), ErrCorrupt), closer.Close())
		}
		term = binary.LittleEndian.Uint64(v)
		return term, closer.Close()
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return 0, fmt.Errorf("read entry %d: %w", index, err)
	}
	fields, err := readRecord(r, l.recordKey(recordCut), 24)
	if err != nil {
		return 0, err
	}
	switch {
	case fields == nil || index > binary.LittleEndian.Uint64(fields):
		return 0, fmt.Errorf("entry %d: %w", index, ErrUnavailable)
	case index < binary.LittleEndian.Uint64(fields):
		return 0, fmt.Errorf("entry %d: %w", index, ErrCompacted)
	}
	return binary.LittleEndian.Uint64(fields[8:]), nil
}
