package persistence

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
)

// Member returns the store as a member of its group, nil if it is alone.
func (s *Store) Member() *member.Member { return s.member }

// memberHost is the store as its member sees it.
type memberHost struct{ s *Store }

func (h memberHost) Live() member.Applier       { return h.s.replay.Live() }
func (h memberHost) HoldStill() (end func())    { return h.s.passes.HoldStill() }
func (h memberHost) Remake() error              { return h.s.passes.Anew(0) }
func (h memberHost) Rewarm()                    { h.s.warmer.Restart() }
func (h memberHost) Meta() *format.Meta         { return &h.s.files.Meta }
func (h memberHost) Trimmed(lsn uint64)         { h.s.passes.Trimmed.Store(lsn) }
func (h memberHost) LogConfig() storelog.Config { return h.s.files.LogConfig() }
func (h memberHost) Options() *pebble.Options   { return h.s.files.Options(h.s.files.Disk.Fence()) }
func (h memberHost) Failed(err error) error     { return h.s.files.Failed(err) }
func (h memberHost) Grown()                     { h.s.writer.Grown() }

// Deposed implements member.Host. What the feed has told and the group has not committed may never be.
func (h memberHost) Deposed() { h.s.feed.Lose("this server does not lead its group any more") }

// AnyKeys implements member.Host.
func (h memberHost) AnyKeys(from int) bool {
	for db := from; db < len(h.s.files.Meta.Phys); db++ {
		for sh := range h.s.keyspace.Shard {
			if h.s.keyspace.Size(sh, db) > 0 {
				return true
			}
		}
	}
	return false
}

// Kept implements member.Host.
func (h memberHost) Kept() (chunks []tail.Chunk, whole bool, err error) {
	f := h.s.files.TailFile()
	if chunks, whole, err = f.Read(); err != nil {
		err = fmt.Errorf("%s: %w", f.Path, err)
	}
	return chunks, whole, err
}

// DropKept implements member.Host.
func (h memberHost) DropKept() { _ = h.s.files.TailFile().Remove() }

// join makes the store a member before anything is read.
func (s opener) join() {
	if s.opts.Replicator == nil {
		return
	}
	newest := s.opts.NewestLevel
	if newest == 0 {
		newest = NewestLevel()
	}
	s.member = member.New(member.Config{
		Host: memberHost{s.Store}, Log: operatorLog{s.Store}, Replicator: s.opts.Replicator, Newest: newest,
		Disk: &s.files.Disk, Keyspace: &s.keyspace, Journal: &s.commits.Journal, Durable: &s.commits.Durable, Size: &s.commits.Length, Expiries: &s.expiries,
		FS: s.opts.FS, Dir: s.opts.Dir, Boot: s.opts.Boot, Tail: s.opts.Tail, Committed: s.opts.committed,
	})
	s.commits.Join(s.member)
}

// begin asks what a new store begins with.
func (s opener) begin() error {
	if s.opts.Begin == nil {
		return nil
	}
	isNew, err := s.files.New()
	if err != nil || !isNew {
		return err
	}
	secret, databases, err := s.opts.Begin()
	switch {
	case err != nil:
		return err
	case databases == 0:
	case databases < s.opts.Databases:
		return tooFewDatabases(databases, s.opts.Databases)
	default:
		s.opts.Databases = databases
	}
	s.files.Secret = secret
	return nil
}

func tooFewDatabases(has, want int) error {
	return fmt.Errorf("the group has %d databases and cannot get %d: %w", has, want, ErrMember)
}

// WrongKindError is returned for a store that is alone and is opened as that of a member of a group, or the other way round. It is an
// ErrMember. BecomeMember and BecomeAlone change what the store is.
type WrongKindError struct {
	Member bool // it is that of a member
}

func (e WrongKindError) Error() string {
	if e.Member {
		return "the store is a member of a group, and cannot be opened alone"
	}
	return "the store is alone, and cannot be opened as a member of a group"
}

func (e WrongKindError) Unwrap() error { return ErrMember }

// openLog opens the log of the store, or of its group if it is in one.
func (s opener) openLog() error {
	m := s.member
	if s.files.Meta.Grouped != (m != nil) {
		return WrongKindError{Member: s.files.Meta.Grouped}
	}
	if m == nil {
		return s.files.OpenLog()
	}
	return m.Open()
}
