package transport

import (
	"fmt"
	"math/bits"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// loop is an event loop: one goroutine that serves many sockets. With a
// goroutine for each client, most of a short command's cost is the runtime's
// waking and parking of threads; a loop asks the kernel once for all sockets
// that have input, and its reads and writes never block, so that the scheduler
// is not involved. See docs/adr/0010-event-loops.md.
//
// It waits for the device, under appendfsync always, as it does for its clients: the
// store wakes it. A client whose turn takes long keeps the goroutine, and the loop gets
// another owner: see turns_linux.go.
type loop struct {
	host    Host
	epoll   int
	parking *parking // of epoll
	wakeup  int      // an eventfd that ends a wait for events

	events  [loopEvents]syscall.EpollEvent // the room for reports; the owner's
	reports []syscall.EpollEvent           // of the kernel, not handled yet; the owner's

	conns        connTable     // the owner's
	awaitingSync []*loopConn   // wait for the journal; the owner's
	syncCheck    []*loopConn   // of these, the ones resumeSynced has yet to look at; the owner's
	resuming     []*loopConn   // the ones resume has yet to look at; the owner's
	held         []heldReplies // not sent yet; the owner's
	heldSince    time.Duration // when the first of them was held, see sinceEpoch; the owner's

	turns      atomic.Uint64 // counts beginnings and ends: odd during a turn
	current    *loopConn     // whose turn it is, nil for the end of a round; the owner's
	waited     uint64        // which of the last 64 turns with input ended in a wait for the device; the owner's
	inRound    bool          // between BeginRound and EndRound; the owner's
	began      time.Duration // when the round began, see sinceEpoch; the owner's
	cycles     cycles        // rounds
	watched    atomic.Bool   // the watcher looks for turns that take long
	watchAgain chan struct{} // capacity 1: a token makes the watcher look again
	finished   chan struct{} // closed when the loop has ended

	wrote atomic.Bool // changes were settled in this round

	asleep      atomic.Bool // the owner waits for events, or is about to
	sleepMillis int         // shortSleep, or 0 if the owner would sleep on the only processor

	reached func(error) // is told by the store that a position of the journal is reached
	waiting bool        // it is to be told; the owner's
	syncErr error       // how the device has failed, for resumeSynced; the owner's

	posted    atomic.Bool // there may be something in the fields that mu guards
	mu        sync.Mutex
	stopped   bool        // the loop has ended; guarded by mu
	added     []*loopConn // not registered yet; guarded by mu
	rejoining []*loopConn // their long turn is over; guarded by mu
	woken     []*loopConn // to be resumed; guarded by mu
	waitDone  bool        // reached was called; guarded by mu
	waitErr   error       // how the device has failed; guarded by mu
}

// loopConn is the transport of one client of a loop.
type loopConn struct {
	l   *loop
	s   Session
	fd  int
	tls *loopTLS // nil: the connection is not encrypted

	// These belong to the goroutine that runs the session.
	unsent       [][]byte    // replies that the socket did not take, in order
	unsentBytes  int         // of these; while there are any only EPOLLOUT is asked for
	firstSent    int         // bytes of the first that are sent and whose memory is still held
	turnSent     int         // bytes sent in this turn
	awaitingSync bool        // the session waits for the journal
	paused       bool        // the session waits for pause
	pause        *time.Timer // wakes the session; nil before its first pause
	holder       *loopOwner  // holds the replies of this turn; nil if they are sent at once
	heldFrom     int         // where they begin in its buffer
	left         bool        // the session has left the server
	unread       bool        // there may be input that the kernel has reported and does not report again
	err          error       // of a long turn

	// These are the owner's.
	listed       bool // is in l.awaitingSync or l.syncCheck
	held         bool // the replies of its last turn are in l.held
	inputPaused  bool // EPOLLIN is not asked for
	ended        bool // the kernel has reported the end of the input, or of the connection
	inLongTurn   bool // the owner leaves it alone
	lastTurnLong bool // the next turn begins as a long one

	mu     sync.Mutex
	closed bool // fd is not ours any more; guarded by mu
	queued bool // is in l.woken; guarded by l.mu
}

const (
	loopRead   = 64 << 10 // bytes offered to a read
	loopEvents = 128      // events taken from the kernel at once
)

func newLoop(host Host) (*loop, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	parking, err := newParking(epoll)
	if err != nil {
		syscall.Close(epoll)
		return nil, err
	}
	wakeup, _, errno := syscall.RawSyscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		parking.close()
		syscall.Close(epoll)
		return nil, fmt.Errorf("eventfd: %w", errno)
	}
	l := &loop{host: host, epoll: epoll, parking: parking, wakeup: int(wakeup),
		watchAgain: make(chan struct{}, 1), finished: make(chan struct{})}
	l.reached = l.noteReached
	if runtime.GOMAXPROCS(0) > 1 {
		l.sleepMillis = shortSleep
	}
	if err := l.control(syscall.EPOLL_CTL_ADD, l.wakeup, syscall.EPOLLIN); err != nil {
		l.free()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return l, nil
}

func (l *loop) free() {
	l.parking.close()
	syscall.Close(l.epoll)
	syscall.Close(l.wakeup)
}

func (l *loop) control(op, fd int, events uint32) error {
	return syscall.EpollCtl(l.epoll, op, fd, &syscall.EpollEvent{Events: events, Fd: int32(fd)})
}

// adopt takes a connection over from the runtime's poller. ok is false if it is
// not a socket.
func (l *loop) adopt(nc net.Conn) (c *loopConn, ok bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, false
	}
	fd := -1
	if err := raw.Control(func(own uintptr) {
		// The copy shares the socket and its non-blocking mode.
		n, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, own, syscall.F_DUPFD_CLOEXEC, 0)
		if errno == 0 {
			fd = int(n)
		}
	}); err != nil || fd < 0 {
		return nil, false
	}
	nc.Close()
	return &loopConn{l: l, fd: fd}, true
}

// start gives a client to the loop. If the loop has ended, so has the client.
func (l *loop) start(c *loopConn) {
	l.mu.Lock()
	stopped := l.stopped
	if !stopped {
		l.added = append(l.added, c)
		l.posted.Store(true)
	}
	l.mu.Unlock()
	if stopped {
		c.end()
		return
	}
	l.wake()
}

// wake ends the owner's sleep, if it sleeps.
func (l *loop) wake() {
	if l.asleep.CompareAndSwap(true, false) {
		one := uint64(1)
		syscall.RawSyscall(syscall.SYS_WRITE, uintptr(l.wakeup), uintptr(unsafe.Pointer(&one)), 8)
	}
}

// loopOwner is the part of a loop that only the goroutine which owns it uses.
type loopOwner struct {
	*loop
	buf     []byte        // for reads of clients that have nothing unread
	replies []byte        // of turns, see heldReplies; at most holdRoom
	yielded time.Duration // when the owner yielded, since the epoch
}

// run owns the loop until the server is closed and every client is gone, or
// until a turn takes so long that the loop is given another owner.
func (l *loop) run() {
	o := &loopOwner{loop: l, buf: make([]byte, loopRead), replies: make([]byte, 0, holdRoom)}
	o.sendHeld() // of the owner before
	for {
		if l.take(); !l.inRound && l.ended() { // the round of the owner before is to be ended first
			close(l.finished)
			l.free()
			return
		}
		l.beginRound()
		o.yield()
		if !o.handleReports() || !o.resume() || !o.resumeSynced() {
			return
		}
		if o.sendHeld(); !o.endRound() {
			return
		}
		if l.wrote.Load() {
			// Once for all clients, as each of them waits while one does.
			l.wrote.Store(false)
			l.host.Store.Throttle()
		}
		l.reports = l.events[:l.poll()]
	}
}

// idleTurns is how many of the last 64 turns have to end in a wait for the device for the loop to wait itself.
// One of 64 clients that does not wait is too many: it would have its replies at the pace of the device.
const idleTurns = 63

// yieldTime is how long the owner runs without giving the processor up: less than the 10 ms after which the runtime
// interrupts a goroutine. For that it sends a signal, and then looks every 20 us for a millisecond, which took a
// tenth of the CPU of a server with one client.
const yieldTime = 4 * time.Millisecond

// yield lets other goroutines run, at times.
func (o *loopOwner) yield() {
	if o.began-o.yielded > yieldTime {
		o.yielded = o.began
		runtime.Gosched()
	}
}

// beginRound begins a round, unless another owner has begun it.
func (l *loop) beginRound() {
	if !l.inRound {
		l.inRound, l.began = true, sinceEpoch()
		l.host.Store.BeginRound()
	}
}

// endRound ends a round. It reports false if the loop has another owner by now.
func (o *loopOwner) endRound() bool {
	l := o.loop
	l.inRound, l.current = false, nil
	began, idle := l.began, bits.OnesCount64(l.waited) >= idleTurns // which another owner may set from here on
	n := l.beginTurn()
	l.host.Store.EndRound(idle)
	l.cycles.done(began)
	return l.turns.CompareAndSwap(n, n+1)
}

// handleReports handles what the kernel has reported, which it does not report again.
// It returns false if the loop has another owner by now, which handles the rest.
func (o *loopOwner) handleReports() bool {
	l := o.loop
	for len(l.reports) > 0 {
		r := l.reports[0]
		l.reports = l.reports[1:]
		if int(r.Fd) == l.wakeup {
			l.drain()
		} else if c := l.conns.get(int(r.Fd)); c != nil && !o.ready(c, r.Events) {
			return false
		}
	}
	return true
}

// ended reports whether the server is closed and no client is left or coming.
func (l *loop) ended() bool {
	if l.host.Closed.Err() == nil || l.conns.n > 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = len(l.added) == 0
	return l.stopped
}

// shortSleep is how many milliseconds the owner sleeps without telling the
// scheduler. Under load the next event comes sooner, and handing the processor
// over and taking it back costs more than the sleep. The runtime can still stop
// the world: its signal ends the sleep.
const shortSleep = 1

// awaitingSleep is how many times as long it sleeps while a client waits for the device, or for other members of the group.
const awaitingSleep = 4

// poll waits for events, unless there is other work for the loop.
func (l *loop) poll() int {
	l.asleep.Store(true)
	defer l.asleep.Store(false)
	if l.busy() {
		return l.pollFor(0)
	}
	millis := l.sleepMillis
	if len(l.awaitingSync) > 0 {
		millis *= awaitingSleep
	}
	if n := l.pollFor(millis); n > 0 || l.busy() {
		return n
	}
	return l.park()
}

// park is the part of poll that tells the scheduler.
func (l *loop) park() (n int) {
	err := l.parking.until(func() bool {
		n = l.pollFor(0)
		return n > 0 || l.busy()
	})
	if err == nil {
		return n
	}
	// The system had no memory for it, perhaps: the thread waits in its place.
	if n, err = syscall.EpollWait(l.epoll, l.events[:], -1); err != nil {
		return 0 // interrupted
	}
	return n
}

// pollFor waits for events for some milliseconds, without telling the scheduler.
// It returns 0 when it is interrupted.
func (l *loop) pollFor(millis int) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.epoll),
		uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), uintptr(millis), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// busy reports whether there is work that is not an event. It is asked after
// asleep was set, so that work which comes later ends the sleep.
func (l *loop) busy() bool {
	return l.posted.Load() || l.host.Closed.Err() != nil && l.conns.n == 0
}

// drain takes the event of wake from its descriptor.
func (l *loop) drain() {
	var b [8]byte
	syscall.RawSyscall(syscall.SYS_READ, uintptr(l.wakeup), uintptr(unsafe.Pointer(&b[0])), 8)
}

// take takes what others have left for the owner: new clients, which are registered,
// those whose long turn is over, those to be resumed, and word of the journal.
func (l *loop) take() {
	if !l.posted.Load() {
		return
	}
	l.mu.Lock()
	l.posted.Store(false)
	added, rejoining := l.added, l.rejoining
	l.added, l.rejoining = nil, nil
	for _, c := range l.woken {
		c.queued = false
	}
	l.resuming = append(l.resuming, l.woken...)
	clear(l.woken)
	l.woken = l.woken[:0]
	if l.waitDone {
		l.waiting, l.waitDone = false, false
		l.syncErr, l.waitErr = l.waitErr, nil
	}
	l.mu.Unlock()
	for _, c := range added {
		l.conns.add(c)
		if err := l.control(syscall.EPOLL_CTL_ADD, c.fd, c.asked(syscall.EPOLLIN)); err != nil {
			c.end()
		} else if c.tls != nil {
			l.resuming = append(l.resuming, c)
		}
	}
	for _, c := range rejoining {
		c.rejoin()
	}
}

// resume resumes the clients that others have woken. It reports false if the loop
// has another owner by now.
func (o *loopOwner) resume() bool {
	l := o.loop
	for len(l.resuming) > 0 {
		c := l.resuming[0]
		l.resuming = l.resuming[1:]
		if l.conns.has(c) && !o.turn(c, resumed) {
			return false
		}
	}
	l.resuming = nil
	return true
}

// resumeSynced resumes the clients that wait for the journal, which find out for
// themselves whether it has come far enough, and asks the store to wake the loop when
// it has come further. It reports false if the loop has another owner by now.
func (o *loopOwner) resumeSynced() bool {
	l := o.loop
	failed := l.syncErr
	l.syncErr = nil
	l.syncCheck = append(l.syncCheck, l.awaitingSync...)
	l.awaitingSync = nil
	for len(l.syncCheck) > 0 {
		c := l.syncCheck[0]
		l.syncCheck = l.syncCheck[1:]
		c.listed = false
		if !l.conns.has(c) || c.inLongTurn {
			continue
		}
		c.awaitingSync = false
		if failed != nil && c.s.SyncFailed() {
			c.finish(failed)
		} else if !o.turn(c, resumed) {
			return false
		}
	}
	l.syncCheck = nil
	if len(l.awaitingSync) > 0 && !l.waiting {
		l.waiting = true
		l.host.Store.NotifyDurable(l.awaitingSync[0].s.Awaited(), l.reached)
	}
	return true
}

// noteReached makes the owner look at the clients that wait for the journal: the first of them need not
// any more, or the device has failed.
func (l *loop) noteReached(err error) {
	l.mu.Lock()
	l.waitDone, l.waitErr = true, err
	l.posted.Store(true)
	l.mu.Unlock()
	l.wake()
}
