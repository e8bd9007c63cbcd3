package commands

import (
	"sync"
	"sync/atomic"
)

// Client is what handlers know of a connected client. The client's own
// commands change it; other clients read it (CLIENT LIST), which is why
// everything that changes is atomic or guarded.
type Client struct {
	ID        uint64
	Addr      string // "ip:port", or the path of the unix socket
	LocalAddr string
	Created   int64 // unix milliseconds
	Unix      bool

	db    atomic.Int32
	proto atomic.Int32
	flags atomic.Uint32
	words atomic.Int64 // bytes of text

	mu   sync.Mutex // guards what follows
	text ClientText
}

// ClientText is the strings of a client that CLIENT LIST shows.
type ClientText struct{ Name, LibName, LibVersion, User, LastCommand string }

// ClientFlag is a lasting state of a client.
type ClientFlag uint32

const (
	ClientAuthenticated ClientFlag = 1 << iota
	ClientNoEvict
	ClientNoTouch
	ClientReplyOff  // CLIENT REPLY OFF
	ClientReplySkip // CLIENT REPLY SKIP: the next command gets no reply
	ClientMonitor
	ClientMulti
	ClientDirtyExec // a queued command failed: EXEC aborts
	ClientDirtyCAS  // a watched key changed: EXEC returns null
	ClientBlocked
	ClientPubSub // has subscriptions
	ClientCloseSoon
	ClientTracking        // CLIENT TRACKING ON
	ClientTrackingBcast   // of prefixes
	ClientTrackingOptIn   // only what follows CLIENT CACHING YES
	ClientTrackingOptOut  // not what follows CLIENT CACHING NO
	ClientTrackingNoLoop  // not of its own changes
	ClientTrackingBroken  // the client that it redirects to has left
	ClientTrackingCaching // CLIENT CACHING holds for the next command
	ClientReadOnly        // READONLY: old data of a follower will do
	ClientReplica         // SYNC or PSYNC: it follows this server
	ClientImports         // CLIENT IMPORT-SOURCE ON: it copies data here, and sees what has expired
	ClientRedirects       // CLIENT CAPA redirect: it goes where -REDIRECT says
)

// ClientTrackingModes are the flags that CLIENT TRACKING ON sets anew.
const ClientTrackingModes = ClientTrackingBcast | ClientTrackingOptIn | ClientTrackingOptOut | ClientTrackingNoLoop | ClientTrackingBroken

// DB is the selected database.
func (c *Client) DB() int { return int(c.db.Load()) }

// SetDB selects a database.
func (c *Client) SetDB(db int) { c.db.Store(int32(db)) }

// Proto is the protocol version, 2 or 3.
func (c *Client) Proto() int { return int(c.proto.Load()) }

// SetProto changes the protocol version.
func (c *Client) SetProto(v int) { c.proto.Store(int32(v)) }

// Has reports whether any of the flags is set.
func (c *Client) Has(f ClientFlag) bool { return ClientFlag(c.flags.Load())&f != 0 }

// Set sets flags.
func (c *Client) Set(f ClientFlag) { c.flags.Or(uint32(f)) }

// Clear clears flags.
func (c *Client) Clear(f ClientFlag) { c.flags.And(^uint32(f)) }

// Text reads the client's strings.
func (c *Client) Text() ClientText {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// SetText changes the client's strings.
func (c *Client) SetText(change func(*ClientText)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.text)
	t := &c.text
	c.words.Store(int64(len(t.Name) + len(t.LibName) + len(t.LibVersion) + len(t.User)))
}

// TextBytes is the length of the client's strings.
func (c *Client) TextBytes() int { return int(c.words.Load()) }
