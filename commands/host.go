package commands

import "github.com/vigildb/vigil/structures/types"

// Host is the server, as handlers see it. Each part is a small interface of
// its own; package server implements them all.
type Host interface {
	Limits() *Limits
	// Random draws a number from 0 to n-1.
	Random(n int) int
	ComputeHost
	Events
	Transactions
	PubSubHost
	ClientsHost
	ConnectionHost
	ConfigHost
	AdminHost
	SaveHost
	SnapshotHost
	DebugHost
}

// ComputeHost runs computations beside the commands (Ctx.Compute).
type ComputeHost interface {
	// MayCompute reports whether there is room for one more that holds so many
	// bytes.
	MayCompute(holds int) bool
}

// Limits are the configuration values that handlers look at, as one snapshot.
type Limits struct {
	types.Thresholds
	Databases         int
	MaxBulk           int64 // proto-max-bulk-len
	HLLSparseMax      int   // hll-sparse-max-bytes
	LFU               bool  // the eviction policy counts frequencies
	ModuleMemoryLimit int64 // most bytes that one Bloom filter may ask for
}

// Events publishes keyspace events.
type Events interface {
	NotifyClasses() EventClass
	Notify(class EventClass, event string, db int, key []byte)
	// DoomDB tells that a database is about to lose its keys, for WATCH.
	DoomDB(db int)
	// WakeDB tells that a database is about to get the keys of another one
	// (SWAPDB), for WATCH and for the clients that wait for keys.
	WakeDB(db, other int)
}

// Transactions is MULTI and WATCH for the client of the call.
type Transactions interface {
	Multi(c *Ctx) error
	Exec(c *Ctx) error
	Discard(c *Ctx) error
	Watch(c *Ctx, keys [][]byte) error
	Unwatch(c *Ctx)
}

// ChannelKind tells plain channels, patterns and shard channels apart.
type ChannelKind int

const (
	Channel ChannelKind = iota
	Pattern
	ShardChannel
)

// PubSubHost is publish and subscribe.
type PubSubHost interface {
	Subscribe(c *Ctx, kind ChannelKind, names [][]byte)
	// Unsubscribe leaves the named channels, or all if there are none.
	Unsubscribe(c *Ctx, kind ChannelKind, names [][]byte)
	// Publish delivers a message and returns how many clients got it.
	Publish(c *Ctx, kind ChannelKind, channel, message []byte) int
	// Channels lists channels with subscribers that match a pattern (nil: all).
	Channels(kind ChannelKind, pattern []byte) []string
	// Subscribers counts the subscribers of a channel, or with kind Pattern
	// and no name the patterns.
	Subscribers(kind ChannelKind, name []byte) int
}

// ClientFilter chooses clients for CLIENT LIST and CLIENT KILL. The zero value
// chooses all.
type ClientFilter struct {
	IDs             []uint64
	Addr, LocalAddr string
	User, Type      string // Type: normal, master, replica, pubsub
	SkipMe          bool
	MinAgeSeconds   int64
}

// PauseMode says which commands CLIENT PAUSE holds back.
type PauseMode int

const (
	PauseNone PauseMode = iota
	PauseWrite
	PauseAll
)

// ClientsHost knows all clients.
type ClientsHost interface {
	ClientInfo(c *Client) string // a line of CLIENT LIST, without newline
	ClientList(c *Ctx, f ClientFilter) string
	ClientKill(c *Ctx, f ClientFilter) int
	// ClientUnblock ends a client's wait with its timeout reply or an error;
	// false if it was not waiting.
	ClientUnblock(id uint64, withError bool) bool
	// ClientPause holds commands back until a time in unix milliseconds;
	// PauseNone ends it.
	ClientPause(mode PauseMode, until int64)
}

// ConnectionHost is what the client of the call does to its own connection.
type ConnectionHost interface {
	// ResetClient puts the client into the state of a new one.
	ResetClient(c *Ctx)
	// Login makes the client an authenticated one.
	Login(c *Ctx, user []byte)
	// SkipReply leaves the next command without a reply.
	SkipReply(c *Ctx)
}

// ConfigHost is CONFIG, and the check of passwords.
type ConfigHost interface {
	ConfigGet(patterns []string) []string // names and values
	ConfigSet(pairs []string) error
	ConfigRewrite() error
	ConfigResetStat()
	// Password reports whether user and password fit, and whether a password
	// is asked for at all.
	Password(user, password []byte) (ok, required bool)
}

// AdminHost is the server as an administrator sees it.
type AdminHost interface {
	// Info is the text of INFO; no sections means the default ones.
	Info(c *Ctx, sections []string) string
	Memory() []MemoryFigure
	// UnixMicros is the time of the call.
	UnixMicros() int64
	Monitor(c *Ctx)
	Slowlog() Slowlog
}

// SaveHost writes what the server holds, and ends it.
type SaveHost interface {
	// Save writes a snapshot; in the background it returns at once.
	Save(background bool) error
	LastSave() int64 // unix seconds
	// Synced reports whether all that the client wrote is on the device. With
	// wait it is forced there first; false then means that this failed.
	Synced(c *Ctx, wait bool) bool
	// Rewrite stores all keys under their own names in the background, so that
	// the journal behind them can go.
	Rewrite()
	// Shutdown stops the server; it returns an error if it cannot. save asks for
	// a snapshot first.
	Shutdown(c *Ctx, save, force bool) error
}

// SnapshotHost keeps snapshots by name.
type SnapshotHost interface {
	// Snapshots lists the complete ones, the oldest first.
	Snapshots() ([]Snapshot, error)
	// CreateSnapshot makes one and returns its name; "" stands for one made of
	// the time.
	CreateSnapshot(name string) (string, error)
	DeleteSnapshot(name string) error
}

// Snapshot is a complete snapshot in the directory of the server.
type Snapshot struct {
	Name      string
	Made      int64 // unix seconds
	Bytes     int64 // of its files, those included that others share
	Automatic bool  // made by a save point, and removed by snapshot-keep
}

// DebugHost is for tests.
type DebugHost interface {
	// Sleep stops the goroutine of the call for a while (DEBUG SLEEP).
	Sleep(millis int64)
	// Reload writes all, forgets memory and reads back (DEBUG RELOAD).
	Reload() error
	SetActiveExpire(on bool)
	// FreeMemory gives memory that is not in use back to the system.
	FreeMemory()
}

// MemoryFigure is one line of MEMORY STATS.
type MemoryFigure struct {
	Name  string
	Value int64   // unless Ratio is set
	Ratio float64 // not zero: the figure is a ratio or a percentage
}

// SlowEntry is one slow command.
type SlowEntry struct {
	ID, UnixSeconds, Micros int64
	Args                    [][]byte
	Addr, Name              string
}

// Slowlog is the list of slow commands, newest first.
type Slowlog interface {
	Entries(n int) []SlowEntry
	Len() int
	Reset()
}
