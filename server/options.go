package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/audit"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/internal/door"
	"github.com/vigildb/vigil/server/offsite"
)

// Options say how a server is opened. The zero value keeps everything in the
// directory "." with the defaults of redis.conf. Where several say the same, a field
// of its own wins over Directives, and these over Config.
type Options struct {
	// Dir is where the store lives; it overrides the directive dir.
	Dir string
	// InMemory keeps the store in memory: there is no directory, and Close ends the data. So does a
	// configuration with save "" and appendonly no, unless Dir is set.
	InMemory bool

	// MaxMemory is the limit of keys and values in memory, in bytes (maxmemory): 0 is none.
	MaxMemory int64
	// Policy is what happens at that limit (maxmemory-policy); "" is Spill.
	Policy Policy
	// Sync is when a write is on the device (appendfsync); "" is SyncEverySecond.
	Sync Sync
	// Databases is how many there are for SELECT (databases); 0 is 16.
	Databases int
	// Password is that of the user default (requirepass); "" is none.
	Password string
	// TLS is what ServeTLS and the directive tls-port encrypt with, in place of the certificates that
	// the directives tls-... name. It is not changed, and must not be by the caller.
	TLS *tls.Config
	// Directives are lines of redis.conf, such as "notify-keyspace-events KEA".
	Directives []string
	// Config is a configuration that was read from a file; nil means the defaults. The server
	// changes it: it belongs to one server.
	Config *conf.Config

	// Log receives the server's log; nil discards it. The directive loglevel
	// sets the minimum level.
	Log *slog.Logger
	// Clock and Seed determine time and random numbers. A nil Clock is the
	// machine's clock; with seed 0 random numbers are unpredictable. With any
	// other seed everything follows from it, even the secret of a new store:
	// for tests.
	Clock Clock
	Seed  uint64
	// Audit gets what administrators do, and wrong passwords; nil: nobody does. Its owner closes it after the server.
	Audit *audit.Log
	// Inherited are sockets that somebody else opened, and keeps: they take the place of those that the configuration names for clients.
	Inherited []Inherited

	inside // what packages of vigil set

	mostBulk int64 // most bytes of an argument that the system has room for in a file; 0: any number

	// OpenBackupTarget opens what the directive backup-target names. Nil opens directories only: the client of S3 is in
	// package server/offsite/s3, which not every program needs.
	OpenBackupTarget offsite.Opener

	secret [16]byte // of a new store
	fixed  bool     // Seed was given
}

// inside are options that only packages of vigil set: their fields are reached as those of Options are.
type inside = door.Options

// Policy is what a server does when keys and values take more than MaxMemory: a value of the
// directive maxmemory-policy.
type Policy string

// Spill keeps every key and moves cold values from memory to disk; a server in memory has none, so that only
// another policy bounds it. The others are those of Redis.
const (
	Spill          Policy = "spill"
	NoEviction     Policy = "noeviction"
	AllKeysLRU     Policy = "allkeys-lru"
	AllKeysLFU     Policy = "allkeys-lfu"
	AllKeysRandom  Policy = "allkeys-random"
	VolatileLRU    Policy = "volatile-lru"
	VolatileLFU    Policy = "volatile-lfu"
	VolatileRandom Policy = "volatile-random"
	VolatileTTL    Policy = "volatile-ttl"
)

// Sync is when a write is on the device: a value of the directive appendfsync.
type Sync string

const (
	// SyncEverySecond replies at once. What was written in the last second may be lost when the
	// machine, not only the process, ends unexpectedly.
	SyncEverySecond Sync = "everysec"
	// SyncAlways replies when the write is on the device.
	SyncAlways Sync = "always"
	// SyncNever leaves it to the operating system.
	SyncNever Sync = "no"
)

// lines are the options that are directives, as lines of redis.conf.
func (o *Options) lines() []string {
	lines := slices.Clone(o.Directives)
	add := func(name, value string) {
		lines = append(lines, name+" "+string(commands.AppendQuoted(nil, []byte(value))))
	}
	if o.MaxMemory != 0 {
		add("maxmemory", strconv.FormatInt(o.MaxMemory, 10))
	}
	if o.Databases != 0 {
		add("databases", strconv.Itoa(o.Databases))
	}
	for _, d := range []struct{ name, value string }{
		{"maxmemory-policy", string(o.Policy)}, {"appendfsync", string(o.Sync)}, {"requirepass", o.Password}} {
		if d.value != "" {
			add(d.name, d.value)
		}
	}
	return lines
}

// check returns what contradicts itself in the options.
func (o *Options) check() error {
	switch {
	case o.TLS != nil && len(o.TLS.Certificates) == 0 && o.TLS.GetCertificate == nil && o.TLS.GetConfigForClient == nil:
		return errors.New("server: Options.TLS has no certificate")
	case o.MaxMemory < 0:
		return fmt.Errorf("server: Options.MaxMemory is %d, less than 0", o.MaxMemory)
	}
	return nil
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

// logLevel is one of Redis's four levels.
type logLevel int

const (
	logDebug logLevel = iota
	logVerbose
	logNotice
	logWarning
)

var slogLevels = [4]slog.Level{slog.LevelDebug, slog.LevelDebug + 2, slog.LevelInfo, slog.LevelWarn}

// logf writes to the log if the level is logged. The text is formatted only
// then.
func (srv *Server) logf(level logLevel, format string, args ...any) {
	if level < logLevel(srv.logLevel.Load()) {
		return
	}
	srv.opts.Log.Log(context.Background(), slogLevels[level], fmt.Sprintf(format, args...))
}

// report writes a line of a room, which knows no levels, to the log.
func (srv *Server) report(warning bool, format string, args ...any) {
	level := logNotice
	if warning {
		level = logWarning
	}
	srv.logf(level, format, args...)
}

// storeOptions are the store's options as the configuration asks for them.
func (srv *Server) storeOptions() persistence.Options {
	set, begun := srv.settings(), srv.clock.Now()
	o := persistence.Options{
		Dir: set.dir, InMemory: srv.opts.InMemory, OpenFiles: filesOfStore(openFilesLimit()), Sync: set.sync, Databases: max(set.conf.Databases, set.limits.Databases),
		MaxMemory: set.conf.MaxMemory, DerivedMaxMemory: srv.opts.DerivedMaxMemory, Policy: set.policy, Samples: set.conf.MaxMemorySamples,
		IdleAfter: idleAfter, Seed: srv.opts.Seed, Secret: srv.opts.secret,
		Now:     func() int64 { return srv.clock.Now().UnixMilli() },
		Elapsed: func() time.Duration { return srv.clock.Now().Sub(begun) },
		OnEvent: srv.storeEvent, OnFields: srv.fieldsExpire,
		Logf: func(level int, format string, args ...any) { srv.logf(storeLevels[level], format, args...) },
	}
	o.SegmentBytes = segmentBytes(fileSizeLimit())
	if g := srv.opts.Group; g != nil {
		o.Replicator, o.OnUsers, o.OnConfiguration, o.OnMoves = g.Replicator(), srv.users.take, srv.takeConfiguration, srv.resharding.Moves.Note
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
var storeLevels = [...]logLevel{persistence.LevelDebug: logDebug, persistence.LevelInfo: logNotice,
	persistence.LevelWarn: logWarning, persistence.LevelError: logWarning}

// idleAfter is how long a store has to be without writes before its dirty
// objects are stored under their own keys early.
const idleAfter = 5 * time.Second

// storeEvent is called, under the key's lock, when the store itself has removed
// a key.
func (srv *Server) storeEvent(ev persistence.Event, db int, key []byte) {
	srv.watches.touch(db, key)
	srv.tracking.Removed(key)
	if ev != persistence.EventFieldExpired && ev != persistence.EventMemberExpired {
		srv.blocked.Removed(db, key)
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
