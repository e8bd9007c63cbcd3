package persistence

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// A store that is alone can become one that founds a group, and that of a member can become one that is alone, while it is not
// open (ADR 0126). First everything is written under its own key, as by a pass, so that nothing of the former log is needed. Then
// one batch, which is forced to the device, says what the store is, and that no segment which is there counts. A process that is killed
// leaves the one or the other; segments that it leaves are removed by the next start.

// ErrFollows is returned by BecomeMember for a store that follows a master.
var ErrFollows = errors.New("persistence: the store follows a master")

// ErrIncomplete is returned by BecomeAlone for a store that has a part of a master's data only.
var ErrIncomplete = errors.New("persistence: the store has a part of a master's data so far")

// foundedBehind is the entry behind which the log of a store begins that was alone. Its term is the first one, which no election
// has, so that the entries that found the group come next.
const foundedBehind, foundedTerm = 1, 1

// BecomeMember makes the store in o.Dir, which is alone, that of a member whose group is still to be founded, with all that the store
// has: its log begins behind an entry that nobody has, in term 0, and knows no members. What was applied of the stream of a former
// master is forgotten. The store gets o.Databases databases if it has fewer.
//
// The error is ErrMember for a store of a member, ErrFollows for one that follows a master, [check.ErrNoStore] for a directory
// without one, or one of Open; the store is alone then, unless it is the disk's.
func BecomeMember(o Options) error {
	o.Replicator, o.Recover = nil, RecoverNever
	return become(o, func(s *Store) error {
		if s.Replicated().Follows {
			return ErrFollows
		}
		return turner{s}.becomeMember()
	})
}

// BecomeAlone makes the store in o.Dir, that of a member, one that is alone. commit is called with the member, to take for committed
// what the log has. left is called before the store changes, with the users and the directives that the group had in common, which a
// store that is alone does not keep; with an error the store stays what it is. Libraries of functions stay.
//
// The error is ErrMember for a store that is alone, ErrIncomplete, [check.ErrNoStore] for a directory without one, one of Open, or that of a function.
func BecomeAlone(o Options, commit func(m *member.Member) error, left func(users, directives map[string]string) error) error {
	o.Databases = 1 // it has what it has
	return become(o, func(s *Store) error {
		if err := commit(s.member); err != nil {
			return err
		}
		if s.Incomplete() {
			return ErrIncomplete
		}
		return turner{s}.becomeAlone(left)
	})
}

// become opens a store without its background work, does something with it, and closes it.
func become(o Options, do func(s *Store) error) error {
	o = o.withDefaults()
	names, err := o.FS.List(o.Dir)
	if err == nil && !wal.StoreIn(names) {
		err = check.ErrNoStore
	}
	if err != nil {
		return fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	s, err := Start(o)
	if err != nil {
		return err
	}
	opening := opener{s}
	if err = opening.load(context.Background()); err == nil {
		err = do(s)
	}
	if err != nil {
		err = fmt.Errorf("store %s: %w", o.Dir, wal.Named(err))
	}
	return errors.Join(err, s.Close())
}

// turner is a store that is opened to become alone, or a member's.
type turner struct{ *Store }

// settle writes everything under its own key, and returns the newest record.
func (s turner) settle() (newest uint64, err error) {
	if err := s.passes.Materialise(context.Background()); err != nil {
		return 0, err
	}
	newest = s.commits.Journal.Newest()
	if trimmed := s.passes.Trimmed.Load(); trimmed != newest {
		return 0, fmt.Errorf("record %d is the newest, and the journal is needed from %d on: %w", newest, trimmed+1, format.ErrCorrupt)
	}
	return newest, nil
}

// turned is the meta with which the store becomes alone or a member, whose journal begins behind an entry or a chunk.
func (s turner) turned(grouped bool, behind journal.Position) format.Meta {
	m := s.files.Meta
	m.Grouped, m.Segment, m.Unmade = grouped, 0, false
	m.Trimmed, m.Mapped = behind, behind.LSN
	m.Replicated, m.Arrived = Replicated{}, 0
	return m
}

func (s turner) becomeMember() error {
	newest, err := s.settle()
	if err != nil {
		return err
	}
	l := s.files.Log
	log := grouplog.Takeover{Cut: foundedBehind, CutTerm: foundedTerm, CutRecord: newest, Rests: newest, State: grouplog.HardState{Commit: foundedBehind}}
	meta := s.turned(true, journal.Position{LSN: newest, Index: foundedBehind})
	err = s.files.WriteMeta(&meta, func(b *pebble.Batch) error {
		return errors.Join(
			b.Delete(format.AppendNewestKey(nil), nil),
			grouplog.Begin(format.Group, &log, l.End().Segment+1, func(key, value []byte) error { return b.Set(key, value, nil) }))
	})
	if err != nil {
		return err
	}
	return errors.Join(l.Close(), s.removeLog(), s.files.TailFile().Remove())
}

func (s turner) becomeAlone(left func(users, directives map[string]string) error) error {
	newest, err := s.settle()
	if err == nil {
		err = left(s.Texts(Users), s.Texts(Directives))
	}
	if err == nil {
		err = s.files.TailFile().Remove() // of an earlier life
	}
	if err != nil {
		return err
	}
	meta := s.turned(false, journal.Position{LSN: newest, Index: s.member.Applied()})
	meta.Segment, meta.Unmade = s.member.Log().Files().End().Segment+1, true
	err = s.files.WriteMeta(&meta, func(b *pebble.Batch) error {
		err := s.files.Seal(b, newest)
		for _, prefix := range []byte{format.PrefixRecords, format.PrefixJournal, format.PrefixUser, format.PrefixConfiguration, format.PrefixMove} {
			err = errors.Join(err, b.DeleteRange(format.AppendGroup(nil, prefix), format.AppendGroupEnd(nil, prefix), nil))
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(s.member.CloseLog(), s.removeLog(), snapshot.RemoveOrigin(s.opts.FS, s.opts.Dir))
}

// removeLog removes the segments, none of which counts. The log is closed.
func (s turner) removeLog() error {
	return storelog.Remove(storelog.Config{FS: s.opts.FS, Dir: s.opts.Dir})
}
