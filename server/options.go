package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/placemap"
	"github.com/vigildb/vigil/persistence/schedule"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/structures"
)

// Options say how a server is opened. The zero value keeps everything in the
// directory "." with the defaults of redis.conf.
type Options struct {
	// Config holds the directives of redis.conf; nil means the defaults.
	Config *conf.Config
	// Dir is where the store lives; it overrides the directive dir.
	Dir string
	// InMemory keeps the store in memory: for tests.
	InMemory bool
	// Clock and Seed are time and chance. Nil is the machine's clock; seed 0
	// is drawn from the clock.
	Clock Clock
	Seed  uint64
	// Log takes the server's log; nil discards it. The directive loglevel
	// decides what is worth logging.
	Log *slog.Logger
	// Store changes the options of the store before it is opened; nil leaves
	// them. Tests use it to inject file systems that fail.
	Store func(*persistence.Options)
}

func (o *Options) fill() {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Seed == 0 {
		o.Seed = uint64(o.Clock.Now().UnixNano())
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

// logf writes to the log if the level is worth it. The text is built only then.
func (srv *Server) logf(level LogLevel, format string, args ...any) {
	if level < LogLevel(srv.logLevel.Load()) {
		return
	}
	srv.opts.Log.Log(context.Background(), slogLevels[level], fmt.Sprintf(format, args...))
}

// storeOptions are the store's options as the configuration asks for them.
func (srv *Server) storeOptions() persistence.Options {
	set := srv.settings()
	o := persistence.Options{
		Dir: set.dir, InMemory: srv.opts.InMemory, Sync: set.sync, Databases: set.limits.Databases,
		MaxMemory: set.conf.MaxMemory, Policy: set.policy, Samples: set.conf.MaxMemorySamples,
		IdleAfter: idleAfter, Seed: srv.opts.Seed,
		Now:      func() int64 { return srv.clock.Now().UnixMilli() },
		OnEvent:  srv.storeEvent,
		Logf:     func(level int, format string, args ...any) { srv.logf(storeLevels[level], format, args...) },
		Decoders: decoders(srv.opts.Seed),
	}
	if srv.opts.Store != nil {
		srv.opts.Store(&o)
	}
	return o
}

// storeLevels translates the levels of the store's log.
var storeLevels = [...]LogLevel{persistence.LevelDebug: LogDebug, persistence.LevelInfo: LogVerbose,
	persistence.LevelWarn: LogWarning, persistence.LevelError: LogWarning}

// idleAfter is how long nothing must have been written before dirty objects
// are stored under their own keys ahead of need.
const idleAfter = 5 * time.Second

// decoders make values of stored heads, by kind.
func decoders(seed uint64) map[structures.Kind]persistence.Decoder {
	return map[structures.Kind]persistence.Decoder{
		structures.KindString: func(b []byte) (structures.Value, error) { return structures.DecodeString(b) },
		structures.KindList:   func(b []byte) (structures.Value, error) { return structures.DecodeList(b) },
		structures.KindHash:   func(b []byte) (structures.Value, error) { return structures.DecodeHash(b, seed) },
		structures.KindBloom:  func(b []byte) (structures.Value, error) { return structures.DecodeBloom(b) },
		structures.KindSchedule: func(b []byte) (structures.Value, error) {
			return schedule.Decode(b)
		},
		structures.KindPlace: func(b []byte) (structures.Value, error) { return placemap.Decode(b) },
	}
}

// storeEvent hears what the store did to a key by itself: under the key's lock.
func (srv *Server) storeEvent(ev persistence.Event, db int, key []byte) {
	srv.watches.touch(db, key)
	switch ev {
	case persistence.EventExpired:
		srv.stats.expired.Add(1)
		srv.notify(commands.EventExpired, "expired", db, key)
	case persistence.EventEvicted:
		srv.stats.evicted.Add(1)
		srv.notify(commands.EventEvicted, "evicted", db, key)
	case persistence.EventFieldExpired:
		srv.notify(commands.EventHash, "hexpired", db, key)
	case persistence.EventEmptied:
		srv.notify(commands.EventGeneric, "del", db, key)
	}
}
