package replica

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// firstWait is after how long a connection is tried again that has failed, and mostWait the longest that gets.
	firstWait, mostWait = time.Second, 30 * time.Second
	// ackPeriod is how often the master is told how much was applied.
	ackPeriod = time.Second
)

// Settings are those that count for a connection, and for commands that fail.
type Settings struct {
	User, Password string
	Timeout        time.Duration // after which a silent master is given up
	AnnounceHost   string        // "": the address of the connection
	AnnouncePort   int
	MaxArgument    uint64 // bytes
	MaxCommand     uint64 // bytes of a command, and of a transaction
	Databases      int
	PassErrors     bool // commands that fail are counted, and the others go on
	PassUnknown    bool // so are those that are unknown
}

// Options are what a Follower needs beside the data.
type Options struct {
	Host string
	Port int
	// Dial connects to the master.
	Dial     func(ctx context.Context, host string, port int) (net.Conn, error)
	Settings func() Settings
	// Durable returns the offset of what is on the device; nil if that is not known.
	Durable func() int64
	Logf    func(warning bool, format string, args ...any)
	// TakeOver, if set, makes the other server a master first, which it is asked for until it has replied. It is called with
	// the error if that refuses, and nil if it is the master; it must not wait for the follower.
	TakeOver func(refused error)
}

// State is how far a connection has got.
type State string

// The states, as ROLE shows them.
const (
	Waiting     State = "connect"
	Connecting  State = "connecting"
	Handshaking State = "handshake"
	Syncing     State = "sync"
	Connected   State = "connected"
)

// Status is what INFO and ROLE show.
type Status struct {
	Host       string
	Port       int
	State      State
	Offset     int64     // applied; -1 before the first synchronization
	Read       int64     // read
	Heard      time.Time // when the master sent something last; zero: never
	Down       time.Time // since when it is not connected; zero: it is
	SyncTotal  int64     // bytes of the file; -1: not known
	SyncRead   int64     // of these, read
	Stopped    error     // why it has stopped for good; nil if it has not
	Passed     int64     // commands that failed, and were passed over
	LastFailed string    // the last of these
}

// Up reports whether the master is connected, and its stream applied.
func (s *Status) Up() bool { return s.State == Connected }

// Follower follows one master, from Start to Stop.
type Follower struct {
	o      Options
	data   Data
	cancel context.CancelFunc
	ended  sync.WaitGroup
	taken  bool // by the other server; used by run only

	heard    atomic.Int64 // unix ns
	applied  atomic.Int64
	read     atomic.Int64
	syncRead atomic.Int64
	passed   atomic.Int64

	mu     sync.Mutex
	status Status // but for the counters above; guarded by mu
}

// Start begins to follow.
func Start(o Options, data Data) *Follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Follower{o: o, data: data, cancel: cancel}
	f.status = Status{Host: o.Host, Port: o.Port, State: Waiting, Down: time.Now()}
	f.applied.Store(-1)
	if at := data.Position(); at.ID != "" {
		f.applied.Store(at.Offset)
		f.read.Store(at.Offset)
	}
	f.ended.Go(func() { f.run(ctx) }) // ends when Stop has ended ctx
	return f
}

// Stop ends the connection and returns when nothing is applied any more, and the data knows its position.
func (f *Follower) Stop() {
	f.cancel()
	f.ended.Wait()
}

// Status describes the follower.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.status
	s.Offset, s.Read, s.SyncRead, s.Passed = f.applied.Load(), f.read.Load(), f.syncRead.Load(), f.passed.Load()
	if at := f.heard.Load(); at > 0 {
		s.Heard = time.Unix(0, at)
	}
	return s
}

// enter changes the state.
func (f *Follower) enter(s State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was := f.status.State == Connected; was != (s == Connected) {
		f.status.Down = time.Time{}
		if was {
			f.status.Down = time.Now()
		}
	}
	f.status.State = s
}

// run connects again and again.
func (f *Follower) run(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		connected, err := f.connection(ctx)
		f.enter(Waiting)
		if ctx.Err() != nil {
			return
		}
		var failed *CommandError
		if errors.As(err, &failed) {
			f.mu.Lock()
			f.status.Stopped = err
			f.mu.Unlock()
			f.o.Logf(true, "REPLICATION HAS STOPPED and keeps its position: %v. Go on with REPLICAOF, when the cause is gone or replica-on-error allows it", err)
			<-ctx.Done()
			return
		}
		if connected {
			wait = firstWait
		}
		f.o.Logf(true, "MASTER <-> REPLICA sync: %v. Trying again in %d s", err, wait/time.Second)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, mostWait)
	}
}

// connection makes one connection and uses it until it fails. connected: the stream was reached.
func (f *Follower) connection(ctx context.Context) (connected bool, err error) {
	set := f.o.Settings()
	f.enter(Connecting)
	f.o.Logf(false, "Connecting to MASTER %s:%d", f.o.Host, f.o.Port)
	dialing, cancel := context.WithTimeout(ctx, set.Timeout)
	nc, err := f.o.Dial(dialing, f.o.Host, f.o.Port)
	cancel()
	if err != nil {
		return false, err
	}
	c := newConn(f, nc, set)
	defer c.close()
	stop := context.AfterFunc(ctx, c.hangUp)
	defer stop()
	f.enter(Handshaking)
	if err := c.handshake(); err != nil {
		return false, err
	}
	from, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	f.applied.Store(from.Offset)
	f.read.Store(from.Offset)
	f.enter(Connected)
	f.o.Logf(false, "MASTER <-> REPLICA sync: following at offset %d of %s", from.Offset, from.ID)
	return true, c.follow(from)
}
