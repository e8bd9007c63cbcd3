package persistence

import (
	"errors"

	"github.com/vigildb/vigil/persistence/feed"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures/text"
)

// What is recorded, as commands; see package feed.
type (
	// Feed takes what is recorded.
	Feed = feed.Receiver
	// Told is a record as commands.
	Told = feed.Told
	// FeedOptions say what a feed is to have.
	FeedOptions = feed.Options
)

// StartFeed gives a feed all later records, and returns the number of the last one before. It locks all shards for a moment. There is
// one feed at a time, and none in a group.
func (s *Store) StartFeed(to Feed, o FeedOptions) (uint64, error) {
	if s.member != nil {
		return 0, ErrMember
	}
	defer s.keyspace.LockAll()()
	if !s.feed.Start(to, o, s.files.Meta.Phys) {
		return 0, errors.New("persistence: there is a feed")
	}
	return s.commits.Journal.Newest(), nil
}

// StopFeed ends the feed, to which calls that are under way may still give records.
func (s *Store) StopFeed() { s.feed.Stop() }

// append adds a record to the journal, and tells it. told may be nil if the record has no operations of types.
func (s *Store) append(rec []byte, flags byte, told *feed.Telling) uint64 {
	if !s.feed.Active() {
		return s.commits.Journal.Append(rec, flags)
	}
	return s.feed.Record(rec, told, func() uint64 { return s.commits.Journal.Append(rec, flags) })
}

// appendBig is append for a record that refers to bytes.
func (s *Store) appendBig(rec []byte, refs []journal.Reference, loan *text.Loan, flags byte, told *feed.Telling) uint64 {
	if !s.feed.Active() {
		return s.commits.Journal.AppendBig(rec, refs, loan, flags)
	}
	var whole []byte
	done := 0
	for _, r := range refs {
		whole = append(append(whole, rec[done:r.At]...), r.Bytes...)
		done = r.At
	}
	whole = append(whole, rec[done:]...)
	return s.feed.Record(whole, told, func() uint64 { return s.commits.Journal.AppendBig(rec, refs, loan, flags) })
}
