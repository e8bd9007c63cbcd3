package source

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Store is what a source sends.
type Store interface {
	// StartFeed gives a feed all records behind the one whose number it returns.
	StartFeed(to persistence.Feed) (uint64, error)
	StopFeed()
	// AwaitRecord waits until a record that the feed was told is one that no failure takes back. It returns at once with an error
	// when the feed is lost. Where records are not taken back, it is not called: see Options.Commits.
	AwaitRecord(lsn uint64) error
	// Cut returns the keys as they are behind some record, which is not before the last one at the time of the call.
	Cut() (Cut, error)
}

// Cut is the keys behind a record.
type Cut interface {
	Record() uint64
	// FieldsExpire reports whether fields of any hash do.
	FieldsExpire(ctx context.Context) (bool, error)
	// Write writes them as an RDB file.
	Write(ctx context.Context, w io.Writer, f Format) error
	Close() error
}

// Format says what a file is to have.
type Format struct {
	For    string // the target, as package rdbfile names it
	Filter Filter
	ID     string // of the stream
	Offset int64  // in it
}

// Filter is which part of the data a replica asks for.
type Filter int

const (
	Everything Filter = iota
	OnlyFunctions
	Nothing
)

// Settings are the configuration.
type Settings struct {
	Backlog    int64         // repl-backlog-size, in bytes
	BacklogTTL time.Duration // repl-backlog-ttl; 0: for ever
	Timeout    time.Duration // repl-timeout
	Ping       time.Duration // repl-ping-replica-period
	Delay      time.Duration // repl-diskless-sync-delay
	Hard, Soft int64         // client-output-buffer-limit replica, in bytes; 0: none
	SoftFor    time.Duration
	Dir        string // for files whose length has to be known before they are sent
}

// Options are what a source needs. All fields have to be set.
type Options struct {
	Store    Store
	Settings func() *Settings
	Now      func() time.Time
	Done     context.Context // ends passes
	Go       func(f func())  // runs f in a goroutine that the owner waits for
	NewID    func() string   // 40 random hexadecimal digits
	Commits  bool            // in a group: replicas get records when these are committed
	Grew     func()          // the stream has more for one who has read it to its end; called with locks held, and must not wait
	Logf     func(format string, args ...any)
}

// Source is a server as replicas see it.
type Source struct {
	o      Options
	active atomic.Bool // there is a feed: what is published goes to replicas

	starting sync.Mutex // held while a feed begins, before shards are locked

	mu       sync.Mutex // taken under locks of shards; it guards what follows, and what is said to be of replicas and passes
	id       string
	former   string // the name of the stream up to an offset at which this server was promoted; "": none
	until    int64
	feed     *feed // nil: nothing is recorded
	log      backlog
	db       int    // database that the stream has selected, -1: none
	last     uint64 // last record in it, 0 before the first is known
	shown    int64  // offset up to which replicas may have the stream: log.end, but for Options.Commits
	cutting  *cutting
	replicas map[*Replica]struct{}
	pass     *pass     // nil if none is under way
	began    time.Time // the last pass
	later    time.Time // before which none begins
	pinged   time.Time
	left     time.Time // when the last replica left
	asked    int64     // offset behind the last GETACK
	awaited  bool      // a consumer has read all that there is
	counts   Counts
	scratch  structures.Commands
}

// Counts are for INFO.
type Counts struct{ Full, Partial, Refused int64 }

// New returns a source without replicas. id is the identifier of the stream until there is a backlog.
func New(id string, o Options) *Source {
	s := &Source{o: o, id: id, db: -1, replicas: map[*Replica]struct{}{}, left: o.Now()}
	return s
}

// feed is what the store tells records to. Another one takes its place when something cannot be told.
type feed struct {
	s         *Source
	recorded  chan struct{} // capacity 1: a token says that there is a record to be committed
	confirmed uint64        // last record that is, guarded by s.mu
}

// Record adds a record to the stream.
func (f *feed) Record(lsn uint64, t persistence.Told) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed != f {
		return
	}
	s.last = lsn // first: what is told of it is not shown before it is confirmed
	if t.Count > 0 {
		s.tellLocked(&t)
	}
	if s.cutting != nil {
		s.cutting.add(s.log.end)
	}
	f.wake()
}

// wake makes confirm look again, if there is one.
func (f *feed) wake() {
	if !f.s.o.Commits {
		return
	}
	select {
	case f.recorded <- struct{}{}:
	default:
	}
}

// confirm shows what is committed to replicas, until the feed ends.
func (f *feed) confirm() {
	s := f.s
	for {
		select {
		case <-f.recorded:
		case <-s.o.Done.Done():
			return
		}
		s.mu.Lock()
		lsn, end, over := s.last, s.log.end, s.feed != f
		s.mu.Unlock()
		if over || s.o.Store.AwaitRecord(lsn) != nil { // the feed is lost then
			return
		}
		s.mu.Lock()
		if over = s.feed != f; !over {
			f.confirmed = lsn
			s.showLocked(end)
		}
		s.mu.Unlock()
		if over {
			return
		}
	}
}

// showLocked lets replicas have the stream up to an offset, or to its end if all records in it are committed.
func (s *Source) showLocked(to int64) {
	if !s.o.Commits || s.feed != nil && s.feed.confirmed == s.last {
		to = s.log.end
	}
	if to <= s.shown {
		return
	}
	s.shown = to
	for r := range s.replicas {
		if r.state == online {
			r.wakeLocked()
		}
	}
	s.grewLocked()
}

// tellLocked adds the commands of a record.
func (s *Source) tellLocked(t *persistence.Told) {
	if t.First >= 0 {
		if t.First != s.db || s.cutting != nil {
			s.scratch.Command("SELECT", 2)
			s.scratch.Int(int64(t.First))
		}
		s.db = t.Last
	}
	if t.Count > 1 {
		s.scratch.Add("MULTI")
	}
	s.flushScratchLocked()
	s.log.add(t.Commands)
	if t.Count > 1 {
		s.scratch.Add("EXEC")
		s.flushScratchLocked()
	}
	s.addedLocked()
}

func (s *Source) flushScratchLocked() {
	s.log.add(s.scratch.Encoded())
	s.scratch.Reset(blockBytes)
}

// addedLocked bounds the backlog, and wakes replicas.
func (s *Source) addedLocked() {
	set := s.o.Settings()
	keep := s.log.end - set.Backlog
	for r := range s.replicas {
		if r.state < bulk {
			continue
		}
		if set.Hard > 0 && s.log.end-r.offset > max(set.Hard, set.Backlog) {
			s.dropLocked(r, fmt.Sprintf("it is %d bytes behind, more than client-output-buffer-limit allows", s.log.end-r.offset))
			continue
		}
		keep = min(keep, r.offset)
	}
	if c := s.cutting; c != nil && (set.Hard == 0 || s.log.end-c.from <= max(set.Hard, set.Backlog)) {
		keep = min(keep, c.from)
	}
	s.log.trim(keep)
	s.showLocked(s.shown)
}

// Lost says that the stream has come to an end.
func (f *feed) Lost(why string) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed == f {
		s.o.Logf("replication: replicas have to synchronize anew: %s", why)
		s.endLocked("the stream of commands has ended: " + why)
	}
}

// endLocked ends the stream. Another one begins with the next full sync.
func (s *Source) endLocked(why string) {
	if s.feed != nil {
		s.feed.wake() // it sees that it is over
	}
	s.feed, s.cutting, s.db, s.last = nil, nil, -1, 0
	s.active.Store(false)
	for r := range s.replicas {
		if r.state >= bulk && !r.rdbOnly {
			s.dropLocked(r, why)
		}
	}
	s.id, s.former = s.o.NewID(), ""
	s.restartLocked(s.log.end)
	s.grewLocked()
}

// restartLocked goes on at an offset, with nothing before it.
func (s *Source) restartLocked(at int64) {
	s.log.restart(at)
	s.shown = at
}

// Interject puts a command between records, if anybody listens.
func (s *Source) Interject(name string, args ...[]byte) {
	if !s.active.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed == nil {
		return
	}
	s.scratch.Command(name, 1+len(args))
	for _, a := range args {
		s.scratch.Bytes(a)
	}
	s.flushScratchLocked()
	s.addedLocked()
}

// Ask asks replicas to confirm what they have, unless that was asked already.
func (s *Source) Ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed == nil || s.asked == s.log.end {
		return
	}
	s.scratch.Add("REPLCONF", "GETACK", "*")
	s.flushScratchLocked()
	s.asked = s.log.end
	s.addedLocked()
}

// Offset is the end of the stream.
func (s *Source) Offset() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.end
}

// Copies counts the replicas that have the stream up to an offset, with durable on their devices.
func (s *Source) Copies(offset int64, durable bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.replicas {
		if r.state == online && (!durable && r.acked >= offset || durable && r.synced >= offset) {
			n++
		}
	}
	return n
}

// Good counts the replicas that have confirmed something within a time.
func (s *Source) Good(within time.Duration) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	for r := range s.replicas {
		if r.state == online && now.Sub(r.heard) <= within {
			n++
		}
	}
	return n
}

// cutting is where records end while a cut is made.
type cutting struct {
	base    uint64 // record behind which it begins
	from    int64  // offset at which that ends
	end     int64  // of the last record
	lengths []byte // of each record in the stream, as uvarints
}

func (c *cutting) add(end int64) {
	c.lengths = binary.AppendUvarint(c.lengths, uint64(end-c.end))
	c.end = end
}

// offset is where a record ends, false if it is not known.
func (c *cutting) offset(lsn uint64) (int64, bool) {
	at, rest := c.from, c.lengths
	for n := c.base; n < lsn; n++ {
		length, w := binary.Uvarint(rest)
		if w <= 0 {
			return 0, false
		}
		at, rest = at+int64(length), rest[w:]
	}
	return at, lsn >= c.base
}
