package server

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// loop is an event loop: one goroutine that serves many sockets. With a
// goroutine for each client, most of a short command's cost is the runtime's
// waking and parking of threads; a loop asks the kernel once for all sockets
// that have input, and its reads and writes never block, so they need not tell
// the scheduler. See docs/adr/0010-event-loops.md.
//
// What may block (a wait for the device under appendfsync always) is done by
// the loop's waiter goroutine, which wakes the loop. A client whose turn takes
// long keeps the goroutine, and the loop gets another owner: see turns_linux.go.
type loop struct {
	srv     *Server
	epoll   int
	parking *parking // of epoll
	wakeup  int      // an eventfd that ends a wait for events

	conns    map[int32]*loopConn // the owner's
	unsure   []*loopConn         // wait for the journal; the owner's
	settling []*loopConn         // of these, what settleUnsure has not looked at yet; the owner's
	resuming []*loopConn         // what resumeWoken has not looked at yet; the owner's

	turns   atomic.Uint64 // counts beginnings and ends: odd during a turn
	current *loopConn     // whose turn it is; the owner's
	watched atomic.Bool   // somebody looks for turns that take long
	stir    chan struct{} // capacity 1: a token says that turns are to be watched again
	gone    chan struct{} // closed when the loop has ended

	wrote atomic.Bool // changes were settled in this round

	asleep   atomic.Bool // the owner waits for events, or is about to
	patience int         // shortSleep, or 0 if the owner would sleep on the only processor

	waits   chan uint64 // positions of the journal to wait for; one fits, the owner asks again
	waiting bool        // the waiter has a position and has not answered; the owner's

	mu     sync.Mutex
	over   bool        // the loop has ended; guarded by mu
	added  []*loopConn // not registered yet; guarded by mu
	back   []*loopConn // their long turn is over; guarded by mu
	woken  []*loopConn // to be resumed; guarded by mu
	waited bool        // the waiter has answered; guarded by mu
	failed error       // its answer, if it was an error; guarded by mu
}

// loopConn is the transport of one client of a loop.
type loopConn struct {
	l  *loop
	s  *session
	fd int

	// These belong to whoever runs the session.
	behind [][]byte // replies that the socket did not take, in order
	owing  int      // bytes of these; while there are any EPOLLOUT is asked for alone
	gone   int      // bytes of the first that went and whose memory is still held
	burst  int      // bytes sent in this turn
	unsure bool     // the session waits for the journal
	left   bool     // the session has left the server
	err    error    // of a long turn

	// These are the owner's.
	listed bool // stands in l.unsure or l.settling
	deaf   bool // EPOLLIN is not asked for
	away   bool // in a long turn: the owner leaves it alone
	heavy  bool // its last turn was long: the next begins as one

	mu     sync.Mutex
	closed bool // fd is not ours any more; guarded by mu
	queued bool // stands in l.woken; guarded by l.mu
}

const (
	loopRead   = 64 << 10 // bytes offered to a read
	loopEvents = 128      // events taken from the kernel at once
)

func newLoop(srv *Server) (*loop, error) {
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
	l := &loop{srv: srv, epoll: epoll, parking: parking, wakeup: int(wakeup), conns: map[int32]*loopConn{},
		waits: make(chan uint64, 1), stir: make(chan struct{}, 1), gone: make(chan struct{})}
	if runtime.GOMAXPROCS(0) > 1 {
		l.patience = shortSleep
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

// adopt takes a connection over from the runtime's poller. ok is false if it
// is not a socket.
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

// start gives a client to the loop. If that has ended, so has the client.
func (l *loop) start(c *loopConn) {
	l.mu.Lock()
	over := l.over
	if !over {
		l.added = append(l.added, c)
	}
	l.mu.Unlock()
	if over {
		c.end()
		return
	}
	l.rouse()
}

// rouse ends the owner's sleep, if it sleeps.
func (l *loop) rouse() {
	if l.asleep.CompareAndSwap(true, false) {
		one := uint64(1)
		syscall.RawSyscall(syscall.SYS_WRITE, uintptr(l.wakeup), uintptr(unsafe.Pointer(&one)), 8)
	}
}

// loopOwner is what the goroutine that owns a loop has for itself.
type loopOwner struct {
	*loop
	buf    []byte // for reads of clients that have nothing unread
	events []syscall.EpollEvent
}

// run owns the loop until the server is closed and every client is gone, or
// until a turn takes so long that the loop is given another owner.
func (l *loop) run() {
	o := &loopOwner{loop: l, buf: make([]byte, loopRead), events: make([]syscall.EpollEvent, loopEvents)}
	for {
		if l.takeIn(); l.ended() {
			close(l.gone)
			close(l.waits)
			l.free()
			return
		}
		if !o.resumeWoken() || !o.settleUnsure() {
			return
		}
		if l.wrote.Load() {
			// Once for all clients: each of them waits while one does.
			l.wrote.Store(false)
			l.srv.store.Throttle()
		}
		n := l.poll(o.events)
		for i := range n {
			if fd := o.events[i].Fd; int(fd) == l.wakeup {
				l.drain()
			} else if c := l.conns[fd]; c != nil && !o.ready(c, o.events[i].Events) {
				return // the kernel reports the other events again
			}
		}
	}
}

// noteWrite is what its sessions tell of writes.
func (l *loop) noteWrite() {
	if !l.wrote.Load() {
		l.wrote.Store(true)
	}
}

// ended reports that the server is closed and no client is left or coming.
func (l *loop) ended() bool {
	if l.srv.done.Err() == nil || len(l.conns) > 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = len(l.added) == 0
	return l.over
}

// shortSleep is how many milliseconds the owner sleeps without telling the
// scheduler. Under load the next event comes sooner, and handing the processor
// over and taking it back costs more than the sleep. The runtime can still stop
// the world: its signal ends the sleep.
const shortSleep = 1

// poll waits for events, unless somebody has something for the loop.
func (l *loop) poll(events []syscall.EpollEvent) int {
	l.asleep.Store(true)
	defer l.asleep.Store(false)
	if l.busy() {
		return l.pollFor(0, events)
	}
	if n := l.pollFor(l.patience, events); n > 0 || l.busy() {
		return n
	}
	return l.park(events)
}

// park is the part of poll that tells the scheduler.
func (l *loop) park(events []syscall.EpollEvent) (n int) {
	err := l.parking.until(func() bool {
		n = l.pollFor(0, events)
		return n > 0 || l.busy()
	})
	if err == nil {
		return n
	}
	// The system had no memory for it, perhaps: the thread waits in its place.
	if n, err = syscall.EpollWait(l.epoll, events, -1); err != nil {
		return 0 // interrupted
	}
	return n
}

// pollFor waits for events for some milliseconds, without telling the scheduler.
// It returns 0 when it is interrupted.
func (l *loop) pollFor(millis int, events []syscall.EpollEvent) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.epoll),
		uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(millis), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// busy reports that there is something to do that is no event. It is asked
// after asleep was set, so that who comes later ends the sleep.
func (l *loop) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.added)+len(l.back)+len(l.woken) > 0 || l.waited || l.srv.done.Err() != nil && len(l.conns) == 0
}

func (l *loop) drain() {
	var b [8]byte
	syscall.RawSyscall(syscall.SYS_READ, uintptr(l.wakeup), uintptr(unsafe.Pointer(&b[0])), 8)
}

// takeIn registers the clients that came.
func (l *loop) takeIn() {
	l.mu.Lock()
	added, back := l.added, l.back
	l.added, l.back = nil, nil
	l.mu.Unlock()
	for _, c := range added {
		l.conns[int32(c.fd)] = c
		if err := l.control(syscall.EPOLL_CTL_ADD, c.fd, syscall.EPOLLIN); err != nil {
			c.end()
		}
	}
	for _, c := range back {
		c.takeBack()
	}
}

// resumeWoken lets the clients go on that others have woken. It reports false
// if the loop has another owner by now.
func (o *loopOwner) resumeWoken() bool {
	l := o.loop
	l.mu.Lock()
	for _, c := range l.woken {
		c.queued = false
	}
	l.resuming = append(l.resuming, l.woken...)
	clear(l.woken)
	l.woken = l.woken[:0]
	l.mu.Unlock()
	for len(l.resuming) > 0 {
		c := l.resuming[0]
		l.resuming = l.resuming[1:]
		if l.conns[int32(c.fd)] == c && !o.turn(c, resumed) {
			return false
		}
	}
	l.resuming = nil
	return true
}

// settleUnsure looks whether the journal has come as far as clients wait for,
// and asks to be woken when it has come further. It reports false if the loop
// has another owner by now.
func (o *loopOwner) settleUnsure() bool {
	l := o.loop
	l.mu.Lock()
	failed := l.failed
	if l.waited {
		l.waiting, l.waited, l.failed = false, false, nil
	}
	l.mu.Unlock()
	l.settling = append(l.settling, l.unsure...)
	l.unsure = nil
	for len(l.settling) > 0 {
		c := l.settling[0]
		l.settling = l.settling[1:]
		c.listed = false
		if l.conns[int32(c.fd)] != c || c.away {
			continue
		}
		c.unsure = false
		if failed != nil && c.s.undone() {
			c.finish(failed)
		} else if !o.turn(c, resumed) {
			return false
		}
	}
	l.settling = nil
	if len(l.unsure) > 0 && !l.waiting {
		l.waiting = true
		l.waits <- l.unsure[0].s.awaited()
	}
	return true
}

// wait is the loop's waiter: it blocks for the device in the loop's place. It
// ends when run closes its channel.
func (l *loop) wait() {
	for lsn := range l.waits {
		err := l.srv.store.WaitDurable(lsn)
		l.mu.Lock()
		l.waited, l.failed = true, err
		l.mu.Unlock()
		l.rouse()
	}
}
