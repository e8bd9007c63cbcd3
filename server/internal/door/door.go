package door

import (
	"errors"
	"net"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/internal/group"
)

// Options are those of a server that vigil itself sets. server.Options has them as a field without a name of its own.
type Options struct {
	// Group is the machines that hold the same data, nil if this server is alone. A store
	// is a member for its whole life or never.
	Group group.Group
	// Membership returns what is known of the machines that hold the same data, nil before
	// that is anything. It is nil for a server that is alone.
	Membership func() *commands.Membership
	// Store changes the options of the store before it is opened; nil leaves
	// them. Tests use it to inject file systems that fail.
	Store func(*persistence.Options)
	// DerivedMaxMemory stands for the directive maxmemory while that is 0, except that no key
	// is deleted and no command refused because of it: values leave memory for the disk
	// under the policy spill, and a start reads no more than that under any policy. 0 is no
	// limit; a store in memory has none.
	DerivedMaxMemory int64
}

// Server is what vigil itself asks of a server.
type Server interface {
	View
	Visitors
	Standing
}

// Visitors is how people look at a server, each at what a user may see.
type Visitors interface {
	// Open reports whether clients are the default user without a password.
	Open() bool
	// DialVisitor is DialObserver for a client that is the default user, and becomes another one by AUTH: it makes
	// what its user may make, and is refused what writes.
	DialVisitor(name string) (net.Conn, error)
}

// View is what those need who show a server.
type View interface {
	// DialObserver connects a client inside the process that watches the server. It
	// needs no password, does not count against maxclients, is neither held back by
	// CLIENT PAUSE nor evicted, and its reads do not count as uses of keys.
	// Commands that write are refused. CLIENT LIST shows it under the name given,
	// which must suit CLIENT SETNAME.
	DialObserver(name string) (net.Conn, error)
	// Settings are the present ones.
	Settings() *conf.Settings
	// History returns the samples of the last hour, the oldest first, and the time of
	// the newest. A server that started less than an hour ago has fewer.
	History() ([]Sample, time.Time)
	// OnMoveHTTP registers what opens, moves and closes the sockets of http-port and
	// http-bind when CONFIG SET changes them; an error refuses the change. Without it
	// each such change is refused. It is called once, before clients are admitted.
	OnMoveHTTP(move func(old, new *conf.Settings) error)
}

// Standing is the place of a server among those that hold the same data.
type Standing interface {
	// Role returns what the server is now.
	Role() Role
	// Leads returns nil if the server is to get the writes of clients, for load balancers: it is healthy, and
	// is alone or leads its group. The error of a healthy follower wraps ErrFollows.
	Leads() error
	// MayLeave reports whether the keys can be used when this server has ended, as those of a group can: one that has
	// slots needs another member with a vote. A server that is alone may always be ended.
	MayLeave() bool
}

// Of returns the inside of a *server.Server. Package server sets it.
var Of func(srv any) Server

// Role is what a server is among those that hold the same data.
type Role string

const (
	// RoleAlone is that of a server without others.
	RoleAlone Role = "alone"
	// RoleLeader is that of the member that takes changes.
	RoleLeader Role = "leader"
	// RoleFollower is that of the other members of a group.
	RoleFollower Role = "follower"
)

var (
	// ErrNoLeader is returned by Health of a member that knows no leader: most members of its group
	// cannot be reached, or they elect one.
	ErrNoLeader = errors.New("server: no leader of the group is known")
	// ErrBehind is returned by Health of a member that follows a leader and does not have its data yet.
	ErrBehind = errors.New("server: the data of the group is not here yet")
	// ErrLeft is returned by Health of a server that has left its group.
	ErrLeft = errors.New("server: this server has left its group")
	// ErrFollows is returned by Leads of a member that follows another one.
	ErrFollows = errors.New("server: another member leads the group")
)

// HistoryStep is the time between two samples of the history.
const HistoryStep = 10 * time.Second

// Sample is what happened in one HistoryStep, and what there was at its end.
type Sample struct {
	Ops    float32 // commands a second
	Micros float32 // mean time that a command took; 0 if there was none
	// P50, P99 and P999 are the times in us within which so many of a hundred, or of a thousand, commands ended; 0 if
	// none was measured, as with latency-tracking no.
	P50, P99, P999 float32
	Input          float32 // bytes a second from clients
	Output         float32 // bytes a second to clients
	HitRatio       float32 // of lookups of keys, 0 to 1; -1 if there was none
	Errors         float32 // error replies a second
	Evicted        float32 // keys a second
	Processor      float32 // of a core: 1 is a whole one
	Memory         float32 // bytes of keys and values
	Keys           float32
	Clients        float32
	DiskFree       float32 // bytes; 0 in memory
}
