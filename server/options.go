package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/offsite"
)

// Options say how a server is opened. The zero value keeps everything in the
// directory "." with the defaults of redis.conf.
type Options struct {
	// Config holds the directives of redis.conf; nil means the defaults.
	Config *conf.Config
	// Dir is where the store lives; it overrides the directive dir.
	Dir string
	// InMemory keeps the store in memory, for tests. So does a configuration
	// with save "" and appendonly no, unless Dir is set.
	InMemory bool
	// Clock and Seed determine time and random numbers. A nil Clock is the
	// machine's clock; with seed 0 random numbers are unpredictable. With any
	// other seed everything follows from it, even the secret of a new store:
	// for tests.
	Clock Clock
	Seed  uint64
	// Log receives the server's log; nil discards it. The directive loglevel
	// sets the minimum level.
	Log *slog.Logger
	// Store changes the options of the store before it is opened; nil leaves
	// them. Tests use it to inject file systems that fail.
	Store func(*persistence.Options)

	// DerivedMaxMemory stands for the directive maxmemory while that is 0, except that no key
	// is deleted and no command refused because of it: values leave memory for the disk
	// under the policy spill, and a start reads no more than that under any policy. 0 is no
	// limit; a store in memory has none.
	DerivedMaxMemory int64

	mostBulk int64 // most bytes of an argument that the system has room for in a file; 0: any number

	// Group is the machines that hold the same data, nil if this server is alone. A store
	// is a member for its whole life or never.
	Group Group
	// Membership returns what is known of the machines that hold the same data, nil before
	// that is anything. It is nil for a server that is alone.
	Membership func() *commands.Membership

	// OpenBackupTarget opens what the directive backup-target names. Nil opens directories only: the client of S3 is in
	// package server/offsite/s3, which not every program needs.
	OpenBackupTarget offsite.Opener

	secret [16]byte // of a new store
	fixed  bool     // Seed was given
}

func (o *Options) fill() {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	o.fixed = o.Seed != 0
	binary.LittleEndian.PutUint64(o.secret[:], o.Seed)
	if o.Seed == 0 {
		var seed [8]byte
		_, _ = rand.Read(seed[:]) // which never fails
		_, _ = rand.Read(o.secret[:])
		o.Seed = binary.LittleEndian.Uint64(seed[:])
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// LogLevel is one of Redis's four levels.
type LogLevel int

const (
	LogDebug LogLevel = iota
	LogVerbose
	LogNotice
	LogWarning
)

var slogLevels = [4]slog.Level{slog.LevelDebug, slog.LevelDebug + 2, slog.LevelInfo, slog.LevelWarn}

// logf writes to the log if the level is logged. The text is formatted only
// then.
func (srv *Server) logf(level LogLevel, format string, args ...any) {
	if level < LogLevel(srv.logLevel.Load()) {
		return
	}
	srv.opts.Log.Log(context.Background(), slogLevels[level], fmt.Sprintf(format, args...))
}

// storeOptions are the store's options as the configuration asks for them.
func (srv *Server) storeOptions() persistence.Options {
	set, begun := srv.settings(), srv.clock.Now()
	o := persistence.Options{
		Dir: set.dir, InMemory: srv.opts.InMemory, OpenFiles: filesOfStore(openFilesLimit()), Sync: set.sync, Databases: set.limits.Databases,
		MaxMemory: set.conf.MaxMemory, DerivedMaxMemory: srv.opts.DerivedMaxMemory, Policy: set.policy, Samples: set.conf.MaxMemorySamples,
		IdleAfter: idleAfter, Seed: srv.opts.Seed, Secret: srv.opts.secret,
		Now:     func() int64 { return srv.clock.Now().UnixMilli() },
		Elapsed: func() time.Duration { return srv.clock.Now().Sub(begun) },
		OnEvent: srv.storeEvent, OnFields: srv.fieldsExpire,
		Logf: func(level int, format string, args ...any) { srv.logf(storeLevels[level], format, args...) },
	}
	o.SegmentBytes = segmentBytes(fileSizeLimit())
	if g := srv.opts.Group; g != nil {
		o.Replicator, o.OnUsers, o.OnConfiguration, o.OnMoves = g.Replicator(), srv.takeUsers, srv.takeConfiguration, srv.takeMoves
	}
	if srv.opts.Store != nil {
		srv.opts.Store(&o)
	}
	if o.FS == nil && !o.InMemory { // tests have file systems of their own, and say how much
		o.Reserve = persistence.MostReserve
	}
	return o
}

// storeLevels translates the levels of the store's log.
var storeLevels = [...]LogLevel{persistence.LevelDebug: LogDebug, persistence.LevelInfo: LogNotice,
	persistence.LevelWarn: LogWarning, persistence.LevelError: LogWarning}

// idleAfter is how long a store has to be without writes before its dirty
// objects are stored under their own keys early.
const idleAfter = 5 * time.Second

// storeEvent is called, under the key's lock, when the store itself has removed
// a key.
func (srv *Server) storeEvent(ev persistence.Event, db int, key []byte) {
	srv.watches.touch(db, key)
	srv.invalidateRemoved(key)
	if ev != persistence.EventFieldExpired && ev != persistence.EventMemberExpired {
		srv.attendant.removed(&srv.waiting, db, key)
	}
	switch ev {
	case persistence.EventExpired:
		srv.stats.expired.Add(1)
		srv.notifyRemoved(commands.EventExpired, "expired", db, key)
	case persistence.EventEvicted:
		srv.stats.evicted.Add(1)
		srv.notifyRemoved(commands.EventEvicted, "evicted", db, key)
	case persistence.EventFieldExpired:
		srv.notifyRemoved(commands.EventHash, "hexpired", db, key)
	case persistence.EventMemberExpired:
		srv.notifyRemoved(commands.EventSet, "sexpired", db, key)
	case persistence.EventEmptied:
		srv.notifyRemoved(commands.EventGeneric, "del", db, key)
	}
}
