package transport

import (
	"context"
	"sync"
	"time"
)

// Session is a client as its transport sees it: a state machine that is given
// bytes and hands replies to its [Conn]. Only the owner calls it. After an error
// the transport closes the connection without sending anything else.
type Session interface {
	Input
	Progress
	Durability
}

// Input is how a session gets what its client sends.
type Input interface {
	// Unread is the number of bytes received that are not run yet.
	Unread() int
	// Space returns room for a read, at least one byte. It is valid until the
	// next call.
	Space() []byte
	// Feed takes n bytes that were read into Space and runs what is complete.
	Feed(n int) error
	// FeedBorrowed runs what is complete in b, and copies the rest: b is the
	// transport's again when it returns. Unread must be 0.
	FeedBorrowed(b []byte) error
	// InputEnded notifies the session that its client will send no more. It
	// returns io.EOF if the connection is to be closed at once, and nil if a
	// reply is still to be sent.
	InputEnded() error
}

// Progress is how a session that has stopped continues, and how it ends.
type Progress interface {
	// Resume continues after Wake, or when the session no longer has a reason
	// to stop.
	Resume() error
	// Sent notifies the session that Unsent has decreased. It returns an error
	// if the client is still over its limit.
	Sent() error
	// Closing reports that the session runs no more commands: the connection is
	// closed when its replies are sent.
	Closing() bool
	// Killed reports that the connection is cut: nothing is read any more.
	Killed() bool
	// Leave takes the session out of the server. It is called once, and nothing is
	// fed or resumed after it.
	Leave()
}

// Durability is how a session waits for the device.
type Durability interface {
	// Awaited is the position of the journal that the session waits for.
	Awaited() uint64
	// SyncFailed notifies a waiting session that the device has failed. It reports
	// whether the client has to be disconnected: a client without unmet durability
	// continues.
	SyncFailed() bool
}

// Conn is a connection as its session sees it. Only the owner of the session calls
// Output and Pacing.
type Conn interface {
	Output
	Pacing
	// Wake makes the owner call Resume soon. Any goroutine may call it.
	Wake()
	// HangUp closes the connection, which the owner notices. Any goroutine may
	// call it.
	HangUp()
}

// Output takes replies.
type Output interface {
	// Write sends replies. kept reports that the client has not read all of them
	// yet: b belongs to the transport then.
	Write(b []byte) (kept bool, err error)
	// Unsent is the number of bytes that the client has to read before more is
	// written: unless it is 0 the session stops, and is resumed when it is.
	Unsent() int
}

// Pacing keeps a client at the pace of the store.
type Pacing interface {
	// Durable reports whether the journal is on the device up to a position. If it
	// is not, the session stops, and is resumed when it is.
	Durable(lsn uint64) (bool, error)
	// Pause makes the session wait for a time. A transport that blocks has waited then, and
	// returns false. Else the session stops, and is resumed when the time is over, or
	// earlier for other reasons.
	Pause(d time.Duration) (stops bool)
	// Throttle is called when changes of the client were settled. It slows the
	// transport down if the store needs that.
	Throttle()
}

// Store is the part of the store that transports use.
type Store interface {
	Journal
	Rounds
	// Throttle blocks for a moment if more is written than the device takes.
	Throttle()
}

// Journal is what replies wait for.
type Journal interface {
	// Confirmed reports whether the journal is on the device up to a position.
	Confirmed(lsn uint64) bool
	// WaitDurable blocks until it is, or the device has failed.
	WaitDurable(lsn uint64) error
	// NotifyDurable calls f with the error of WaitDurable, once: at once, or by another goroutine
	// later. f does not block.
	NotifyDurable(lsn uint64, f func(error))
}

// Rounds are what a loop does between two waits for events.
type Rounds interface {
	// BeginRound is called before a loop gives turns to clients.
	BeginRound()
	// EndRound is called behind that, and does what the turns have left to be done. idle is that nearly all clients of
	// the loop wait for the device by now, so that the loop may as well.
	EndRound(idle bool)
}

// Host is the server whose clients are served.
type Host struct {
	Store Store
	// Closed ends when the server closes, which then hangs up every connection
	// and calls [Loops.End].
	Closed context.Context
	// Workers counts the goroutines of the transport, and one for each connection
	// from before [Loops.Open] until it has ended.
	Workers *sync.WaitGroup
}
