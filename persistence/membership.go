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
func (h memberHost) AnyKeys() bool {
	for db := range h.s.files.Meta.Phys {
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
func (s *Store) join() {
	if s.opts.Replicator == nil {
		return
	}
	newest := s.opts.NewestLevel
	if newest == 0 {
		newest = NewestLevel()
	}
	s.member = member.New(member.Config{
		Host: memberHost{s}, Log: operatorLog{s}, Replicator: s.opts.Replicator, Newest: newest,
		Disk: &s.files.Disk, Keyspace: &s.keyspace, Journal: &s.commits.Journal, Durable: &s.commits.Durable, Size: &s.commits.Length, Expiries: &s.expiries,
		FS: s.opts.FS, Dir: s.opts.Dir, Boot: s.opts.Boot, Tail: s.opts.Tail, Committed: s.opts.committed,
	})
	s.commits.Join(s.member)
}

// openLog opens the log of the store, or of its group if it is in one.
func (s *Store) openLog() error {
	m := s.member
	if s.files.Meta.Grouped != (m != nil) {
		if m != nil {
			return fmt.Errorf("the store is alone, and cannot become a member of a group: %w", ErrMember)
		}
		return fmt.Errorf("the store is a member of a group, and cannot be opened alone: %w", ErrMember)
	}
	if m == nil {
		return s.files.OpenLog()
	}
	return m.Open()
}
