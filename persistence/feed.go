package persistence

import (
	"errors"

	"github.com/vigildb/vigil/persistence/feed"
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
// one feed at a time. In a group only the leader has one, which is lost when another member leads: the error is ErrNotLeader. What it
// is told may not be committed yet, see commits.Commits.AwaitRecord.
func (s *Store) StartFeed(to Feed, o FeedOptions) (uint64, error) {
	defer s.keyspace.LockAll()()
	if s.member.Follows() {
		return 0, ErrNotLeader
	}
	if !s.feed.Start(to, o, s.files.Meta.Phys) {
		return 0, errors.New("persistence: there is a feed")
	}
	return s.commits.Journal.Newest(), nil
}

// StopFeed ends the feed, to which calls that are under way may still give records.
func (s *Store) StopFeed() { s.feed.Stop() }
