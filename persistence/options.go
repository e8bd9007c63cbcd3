package persistence

import (
	"cmp"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/writeback"
)

// MaxKey is the longest key in bytes that may be stored. The store copies a key into indexes, filters and
// bounds, often and for as long as it lives: one of 512 MB took 23 GB.
const MaxKey = 1 << 20

var (
	// ErrLocked is returned by Open when another process has the directory open.
	ErrLocked = lsm.ErrLocked
	// ErrVersion is returned by Open for a store in a format that this version
	// does not read.
	ErrVersion = format.ErrVersion
	// ErrStuck is returned by WriteError while the disk takes the journal so
	// slowly that 1 GiB of it waits in memory.
	ErrStuck = errors.New("persistence: the disk does not take the journal")
	// ErrClosed is returned by calls that need the disk after Close.
	ErrClosed = member.ErrClosed
	// ErrMember is returned by Open for a store that was made in a group and is to
	// be alone, or the other way around.
	ErrMember = member.ErrMember
	// ErrNotLeader is returned by WriteError of a member that does not lead its group.
	ErrNotLeader = member.ErrNotLeader
	// ErrCorrupt is returned when bytes on disk do not decode or fail their
	// checksum.
	ErrCorrupt = format.ErrCorrupt
)

// SyncPolicy says when the journal is forced to the device.
type SyncPolicy = journal.SyncPolicy

// Record returns the number of the record at a position that Tx.Commit has returned, which
// is the same on all members of a group.
func Record(position uint64) uint64 { return journal.Record(position) }

// The policies, see package journal.
const (
	SyncEverySecond = journal.SyncEverySecond
	SyncAlways      = journal.SyncAlways
	SyncNever       = journal.SyncNever
)

// Recovery says what Open does with a damaged log.
type Recovery int

const (
	// RecoverNever refuses to open the store.
	RecoverNever Recovery = iota
	// RecoverTruncate puts the damaged files aside, cuts the log where the damage
	// begins, reports through Options.Logf what is lost, and continues.
	RecoverTruncate
)

// Event is the reason why a key was removed, or changed, without a command that
// asks for it.
type Event int

const (
	// EventExpired: its time had come.
	EventExpired Event = iota
	// EventEvicted: it gave room under one of the deleting policies.
	EventEvicted
	// EventFieldExpired: the time of some of its fields had come. It may still
	// be there.
	EventFieldExpired
	// EventEmptied: it went because its last field or member expired.
	EventEmptied
	// EventMemberExpired is EventFieldExpired of a set.
	EventMemberExpired
)

// Levels for Options.Logf.
const (
	LevelDebug = iota
	LevelInfo
	LevelWarn
	LevelError
)

// DefaultJournalBound is the JournalBound of Options, in bytes, that have none.
const DefaultJournalBound = 256 << 20

// Options configure a store. The zero value of each field has a use.
type Options struct {
	Dir      string // directory of the store; made if missing
	InMemory bool   // keep the disk in memory; Dir is ignored
	FS       vfs.FS // for tests; nil is the operating system's

	// MapTail maps the file of the tail, see package tail, and Boot tells one boot of the machine from another.
	// Without MapTail they are the system's, if FS is.
	MapTail func(path string, size int) (tail.Memory, error)
	Boot    [16]byte

	// OpenFiles is how many files the store may keep open; 0 means 1000.
	OpenFiles int

	// Reserve is how many bytes of the disk the store keeps at most, to be able to delete when it is
	// full: at most an eighth of the disk. With 0 it keeps none, and does not look at the disk.
	Reserve int64

	Sync      SyncPolicy
	Databases int // logical databases; 0 means 16. A store never shrinks

	// Replicator makes the store a member of a group, see package member; nil is a store that
	// is alone. All members need the same Secret and Databases.
	Replicator member.Replicator
	// Tail is how many bytes of the log a member keeps for those that lag behind, beyond
	// what it needs itself; 0 means 256 MiB.
	Tail int64

	// NewestLevel is the newest level that the member knows; 0 means [NewestLevel]. Tests have
	// members of older and newer versions.
	NewestLevel uint64

	// Recover says what to do with a damaged log; the zero value refuses. A member of a
	// group always does: the others have what was lost.
	Recover Recovery

	// MaxMemory is the number of bytes for keys and values; 0 is unlimited. Buffers
	// of the disk are sized by it when the store is opened.
	MaxMemory int64
	// DerivedMaxMemory stands for a MaxMemory of 0 in what deletes no key and refuses no
	// command: values leave memory under eviction.Spill, and under every policy so much is read
	// into memory at most before a command asks for it. 0 is unlimited.
	DerivedMaxMemory int64
	Policy           eviction.Policy
	Samples          int // keys compared for each one evicted; 0 means 5

	// JournalBound is the size in bytes at which the writeback starts, of a journal of short records: up to four times
	// as much of long ones, which a start replays in the same time;
	// 0 means 256 MiB.
	JournalBound int64
	// SegmentBytes is the length of the files of the log; 0 is 16 MiB, and less in memory and on a small disk.
	SegmentBytes int64
	// BatchBytes is the size in bytes at which the writeback commits what it has
	// gathered; 0 means 1 MiB. Tests cut passes into small pieces with it.
	BatchBytes int
	// RecentBytes is what the values of some kilobytes that were changed last may take
	// as objects, in bytes for each of the 256 shards; 0 means 16 KiB. The others are
	// packed. Tests have more of them packed.
	RecentBytes int
	// LargeBytes is the size in bytes from which on a value's pages leave memory one by
	// one; 0 means 1 MiB, and tests use less.
	LargeBytes int
	// CacheBytes is the size in bytes of Pebble's cache of blocks; 0 means as much as the memory limit
	// asks for. Tests have so little that every page is read from the disk.
	CacheBytes int64
	// IdleAfter is how long no write must come before the writeback runs
	// early; 0 means 10 s, negative never.
	IdleAfter time.Duration

	// Now gives unix time in milliseconds to background work; nil stands still.
	Now func() int64
	// Elapsed gives the time since some moment, of a clock that is never set; nil stands still. By it the store knows
	// whether the device is quick.
	Elapsed func() time.Duration
	// Secret is what the keys of a new store's hash functions come from, so it is
	// to be drawn from a cryptographic source; zero is for tests. A store keeps
	// the one that it was made with.
	Secret [16]byte
	// Begin, if set, is asked what a new store begins with in the place of Secret and, unless it is 0, of Databases: a member that
	// joins a group needs those of the others. Start waits for it.
	Begin func() (secret [16]byte, databases int, err error)
	// Seed seeds sampling.
	Seed uint64
	// Logf receives what an operator should know; nil discards it.
	Logf func(level int, format string, args ...any)
	// OnEvent is called under the lock of the key's shard and must not call the
	// store; nil ignores events. key is valid only during the call.
	OnEvent func(ev Event, db int, key []byte)
	// OnFields, if set, returns what is to be told which fields of a hash have expired, after OnEvent, or nil. It is called under
	// the lock of the key's shard, as is what it returns; both keep nothing that they get.
	OnFields func(db int, key []byte) func(fields [][]byte)
	// OnUsers, if set, is called when users have changed otherwise than by a Tx: a follower of a
	// group has applied changes of these, or, with nil, any may have changed. users are all
	// that there are, with their rules. It is called with all shards locked, must not call the
	// store, and keeps or changes nothing that it gets.
	OnUsers func(users map[string]string, changed []string)
	// OnConfiguration is that of the configuration: directives with their values.
	OnConfiguration func(values map[string]string, changed []string)
	// OnMoves is that of the moves of slots that are to be made.
	OnMoves func(moves map[string]string, changed []string)
	// committed is an entry of the log of the group up to which everything is committed, whatever the log says; 0 is none.
	committed uint64
	// stopped: see OfStoppedMember.
	stopped bool
	// Background is given each Task once, by Open, and makes its steps from then on,
	// in any order and from any goroutines; nil is a goroutine for each, which does
	// so when they are due. A simulation decides with it what happens when. Close
	// makes the last steps itself, but what it waits for before may need a step.
	Background func(Task)
}

// warnf is Logf for what an operator should look at.
func (o *Options) warnf(format string, args ...any) { o.Logf(LevelWarn, format, args...) }

// bound is what the store lets keys and values take in memory, 0 without a limit.
func (o *Options) bound() int64 { return cmp.Or(o.MaxMemory, o.DerivedMaxMemory) }

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.InMemory {
		o.FS, o.Dir = vfs.NewMem(), "memory"
	}
	o.systemTail()
	if o.Databases <= 0 {
		o.Databases = 16
	}
	if o.OpenFiles <= 0 {
		o.OpenFiles = 1000
	}
	if o.Samples <= 0 {
		o.Samples = 5
	}
	if o.JournalBound <= 0 {
		o.JournalBound = DefaultJournalBound
	}
	if o.Tail <= 0 {
		o.Tail = 256 << 20
	}
	if o.Replicator != nil {
		o.Recover = RecoverNever
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = int(lsm.MemTableBytes(o.bound())) / batchPart
	}
	if o.RecentBytes <= 0 {
		o.RecentBytes = keyspace.RecentBytes
	}
	if o.LargeBytes <= 0 {
		o.LargeBytes = writeback.LargeBytes
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = lsm.CacheBytes(o.bound())
	}
	if o.IdleAfter == 0 {
		o.IdleAfter = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = func() int64 { return 0 }
	}
	if o.Elapsed == nil {
		o.Elapsed = func() time.Duration { return 0 }
	}
	if o.Logf == nil {
		o.Logf = func(int, string, ...any) {}
	}
	return o
}
