package commands

import (
	"cmp"
	"slices"
	"strings"
)

// Flag says what a command does and when it may run. The server locks,
// queues, refuses and counts by these flags alone.
type Flag uint32

const (
	Write        Flag = 1 << iota // may change its keys
	ReadOnly                      // reads its keys and changes none
	DenyOOM                       // refused when memory is over its limit
	Admin                         // administration; category @admin
	PubSub                        // publish and subscribe
	NoScript                      // not from scripts
	Blocking                      // may park its client
	Loading                       // allowed while data is loaded
	Stale                         // allowed on a stale replica
	Fast                          // O(1) or O(log n); category @fast, else @slow
	NoAuth                        // allowed before authentication
	NoMulti                       // not allowed inside MULTI
	NotQueued                     // runs at once inside MULTI (EXEC, DISCARD, WATCH...)
	Subscriber                    // allowed to a RESP2 client that subscribes
	Keyspace                      // works on all keys: every shard is locked
	Dangerous                     // category @dangerous
	SkipMonitor                   // not shown to MONITOR
	SkipSlowlog                   // not kept by SLOWLOG, because it waits on purpose
	AllowBusy                     // allowed while a script runs for too long
	MovableKeys                   // the keys do not follow from positions alone
	MayReplicate                  // has effects to replicate without writing keys
	NoAsyncLoading
	NoMandatoryKeys
	LocksQueue  // EXEC: locks the keys of the queued calls
	LocksKeys   // holds its keys still without reading them for the client
	RunsScripts // runs a script, which calls other commands
	Protected   // needs the permission of a directive (enable-debug-command)
	LeaderOnly  // rests on what a follower of a group does not keep
	Agrees      // changes what the group agrees on, and no key: allowed in a transaction of such calls alone
	Frees       // a write that only frees room: allowed on a full disk
	OpenWords   // a container; ACL rules may also name words after it that are no subcommands
)

// flagNames are the flags that COMMAND shows, in the order of Redis.
var flagNames = []struct {
	flag Flag
	name string
}{
	{Write, "write"}, {ReadOnly, "readonly"}, {DenyOOM, "denyoom"}, {Admin, "admin"},
	{PubSub, "pubsub"}, {NoScript, "noscript"}, {Blocking, "blocking"}, {Loading, "loading"},
	{Stale, "stale"}, {SkipMonitor, "skip_monitor"}, {SkipSlowlog, "skip_slowlog"},
	{Fast, "fast"}, {NoAuth, "no_auth"}, {NoMulti, "no_multi"}, {MovableKeys, "movablekeys"}, {AllowBusy, "allow_busy"},
	{NoAsyncLoading, "no_async_loading"}, {NoMandatoryKeys, "no_mandatory_keys"},
}

// Command is one row of the table.
type Command struct {
	Name  string // upper case; "CLIENT LIST" for a subcommand
	Arity int    // counts the name (and the subcommand's); -n means n or more
	Flags Flag
	Keys  []KeySpec // in order; empty for a command without keys

	// Elements says which arguments name elements of the first key's value that the
	// call looks for. The server prefetches them; they change nothing else.
	Elements Elements

	// Channels says which arguments name channels that the client's user must be
	// allowed to use.
	Channels Channels

	// Patterns, if set, reports whether a call works on keys that its arguments do
	// not name, such as those that SORT makes of elements: every shard is locked.
	Patterns func(argv [][]byte) bool

	// Databases, if set, returns which arguments name databases that a call works on. Index 0,
	// the command itself, stands for all databases.
	Databases func(argv [][]byte) []int

	// Users, if set, reports whether a call changes users. In a group it changes the data
	// of all members, as a write does.
	Users func(argv [][]byte) bool

	// Directives, if set, returns the names of the directives that a call sets. In a group some
	// of them are those of all members, and such a call changes their data too.
	Directives func(argv [][]byte) [][]byte

	Syntax  string // arguments after the name, as redis-cli shows them
	Types   Types  // of arguments whose names stand for another type elsewhere
	Since   string // the version of Redis (or of the module, or of vigil) that has it
	Cost    string // complexity
	Summary string // one sentence
	Tips    string // what proxies and clients are told of calls, in Redis's words, separated by spaces

	// Category replaces the ACL category of the group by others, unless it is "".
	Category string

	// Secrets, if set, returns the indexes of the arguments that MONITOR and the
	// slow log must not show.
	Secrets func(argv [][]byte) []int

	// Run executes the command. It is nil for a container such as CLIENT,
	// whose subcommands are rows of their own.
	Run func(*Ctx) error

	group    string
	id       int        // position in Table.All, for statistics
	subs     []*Command // of a container
	fullname string     // lower case, "client|list"
	onlyKey  int        // the index of the key, if calls have just one that always stands there
	parent   *Command
}

// Elements says which arguments of a command name elements of a value: the one at First,
// and every Step-th behind it, unless Step is 0. With First 0 there are none.
type Elements struct{ First, Step int }

// Channels says which arguments of a command name channels.
type Channels uint8

const (
	NoChannels   Channels = iota
	FirstChannel          // the first one
	AllChannels           // all of them
	AllPatterns           // all of them, and they are patterns
)

// Group is the commands of one file, under the group name that COMMAND DOCS shows.
type Group struct {
	Name     string
	Commands []Command
}

// Is reports whether the command has all flags of f.
func (c *Command) Is(f Flag) bool { return c.Flags&f == f }

// Everywhere reports whether a call may work on any key, so that every shard is locked.
func (c *Command) Everywhere(argv [][]byte) bool {
	return c.Is(Keyspace) || c.Patterns != nil && c.Patterns(argv)
}

// AllDatabases is the [Command.Databases] of a command that works on all databases.
func AllDatabases([][]byte) []int { return []int{0} }

// OfDatabase reports whether calls work on keys of the database of their connection.
func (c *Command) OfDatabase() bool {
	switch {
	case c.namesKeys():
		return true
	case c.Databases != nil:
		return false
	}
	return c.Is(RunsScripts) || c.Flags&(Write|ReadOnly) != 0 && (c.group == "generic" || c.Category == "keyspace")
}

// FullName is the lower-case name as statistics and errors show it:
// "get", "client|list".
func (c *Command) FullName() string { return c.fullname }

// GroupName is the name of the group the row stands in.
func (c *Command) GroupName() string { return c.group }

// ID is the row's position in Table.All: a dense index for counters.
func (c *Command) ID() int { return c.id }

// Subcommands are the rows of a container, in the order declared.
func (c *Command) Subcommands() []*Command { return c.subs }

// Parent is the container of a subcommand, else nil.
func (c *Command) Parent() *Command { return c.parent }

// Shown is the call as logs may show it: argv, or a copy in which secret
// arguments are replaced.
func (c *Command) Shown(argv [][]byte) [][]byte {
	if c.Secrets == nil {
		return argv
	}
	secret := c.Secrets(argv)
	if len(secret) == 0 {
		return argv
	}
	shown := slices.Clone(argv)
	for _, i := range secret {
		shown[i] = []byte("(redacted)")
	}
	return shown
}

// ArityOK reports whether n arguments, the name included, are acceptable.
func (c *Command) ArityOK(n int) bool {
	if c.Arity >= 0 {
		return n == c.Arity
	}
	return n >= -c.Arity
}

// FlagNames lists the flags that Redis shows in COMMAND INFO.
func (c *Command) FlagNames() []string {
	var names []string
	for _, f := range flagNames {
		if c.Is(f.flag) {
			names = append(names, f.name)
		}
	}
	return names
}

// categoryNames are the ACL categories, in the order of Redis.
var categoryNames = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap",
	"hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous",
	"connection", "transaction", "scripting", "bloom", "cuckoo", "cms", "topk", "tdigest", "json", "sched", "place",
}

// Categories lists the ACL categories, in the order of Redis.
func Categories() []string { return slices.Clone(categoryNames) }

// groupCategories are the ACL categories that follow from a command's group.
var groupCategories = map[string]string{
	"generic": "keyspace", "string": "string", "bitmap": "bitmap", "list": "list", "hash": "hash",
	"set": "set", "sorted-set": "sortedset", "stream": "stream", "geo": "geo",
	"hyperloglog": "hyperloglog", "transactions": "transaction", "scripting": "scripting",
	"connection": "connection", "bf": "bloom", "cf": "cuckoo", "cms": "cms", "topk": "topk", "tdigest": "tdigest", "json": "json", "sched": "sched", "place": "place",
}

// Categories lists the ACL categories of the command, derived from its flags
// and group. A container has only the categories of its flags.
func (c *Command) Categories() []string {
	var out []string
	for _, name := range categoryNames {
		if c.In(name) {
			out = append(out, name)
		}
	}
	return out
}

// In reports whether a category is one of the command's.
func (c *Command) In(category string) bool {
	by := false
	switch category {
	case "read":
		by = c.Is(ReadOnly) && c.group != "scripting"
	case "write":
		by = c.Is(Write)
	case "pubsub":
		by = c.Is(PubSub)
	case "admin":
		by = c.Is(Admin)
	case "dangerous":
		by = c.Is(Dangerous) || c.Is(Admin)
	case "blocking":
		by = c.Is(Blocking)
	case "fast":
		by = c.Is(Fast)
	case "slow":
		by = !c.Is(Fast)
	}
	if by || c.Run == nil {
		return by
	}
	for word := range strings.FieldsSeq(cmp.Or(c.Category, groupCategories[c.group])) {
		if word == category {
			return true
		}
	}
	return false
}

// words splits "CLIENT LIST" into its container and its own word.
func (c *Command) words() (container, word string) {
	if a, b, ok := strings.Cut(c.Name, " "); ok {
		return a, b
	}
	return "", c.Name
}
