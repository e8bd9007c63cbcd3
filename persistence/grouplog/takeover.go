package grouplog

import (
	"cmp"
	"errors"

	"github.com/vigildb/vigil/persistence/storelog"
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
// machine stays this member's own, and no segment that there is counts with them. Nothing may be appended before Reload.
func (l *Log) Records(t *Takeover, set func(key, value []byte) error) error {
	l.noting.Lock() // what is on the device by now is not put back
	l.mu.Lock()
	boot, identity, next := l.boot, l.identity, firstSegment{number: l.log.End().Segment + 1}
	if planted == keptSegments {
		next = l.first
	}
	l.mu.Unlock()
	l.noting.Unlock()
	if t.Identity != nil {
		identity = t.Identity
	}
	return t.records(l.group, boot, identity, next, set)
}

// Begin calls set with the records of the log of a group in a store that has none, in the order of their keys. The log begins in segment
// first, which is still to be made; none before counts.
func Begin(group uint16, t *Takeover, first uint64, set func(key, value []byte) error) error {
	return t.records(group, Boot{}, t.Identity, firstSegment{number: first}, set)
}

func (t *Takeover) records(group uint16, boot Boot, identity []byte, next firstSegment, set func(key, value []byte) error) error {
	own := func() error {
		if identity == nil {
			return nil
		}
		return set(recordKey(group, recordIdentity), sealRecord(identity))
	}
	return errors.Join(
		set(recordKey(group, recordBoot), sealRecord(boot.fields())),
		set(recordKey(group, recordCut), sealRecord(cutFields(t.Cut, place{term: t.CutTerm, last: t.CutRecord}, next))),
		set(recordKey(group, recordRest), sealRecord(appendNumbers(nil, t.Rests))),
		own(),
		set(recordKey(group, recordMembership), sealRecord(append(appendNumbers(nil, t.Membership.Index), t.Membership.Members...))),
		set(recordKey(group, recordState), sealRecord(t.State.append(nil))))
}

// Reload reads the log again, after something else than its methods has put records of a takeover in the place of what
// was there. After an error the log is not to be used any more.
func (l *Log) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	former := l.log
	if err := former.Close(); err != nil {
		return l.failed(err)
	}
	l.files.Synced = nil // of segments that do not count any more
	err := l.open(storelog.Open)
	l.log, l.broken = cmp.Or(l.log, former), err
	return err
}
