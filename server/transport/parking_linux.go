package transport

import (
	"fmt"
	"os"
	"syscall"
)

// parking is where the goroutine of a loop waits while its epoll descriptor has
// nothing to report. The wait is the runtime's, so that the goroutine parks and
// its thread looks for other work. A blocking epoll_wait would hold the
// processor until the runtime's monitor takes it away; at a hundred requests a
// second that costs as much as the requests.
//
// The runtime does not watch the loop's descriptor itself: each event would wake
// one of its threads too, also under load, when the loop does not park. It
// watches a second descriptor, which has the loop's as its only member, and that
// one reports only between arm and disarm.
type parking struct {
	loop  int // the descriptor of the loop
	gate  int // the one that the runtime watches
	file  *os.File
	waits syscall.RawConn // of file
}

func newParking(loop int) (*parking, error) {
	gate, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	p := &parking{loop: loop, gate: gate}
	// The runtime watches what an os.File is made of only if it does not block.
	if err := syscall.SetNonblock(gate, true); err != nil {
		syscall.Close(gate)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	p.file = os.NewFile(uintptr(gate), "epoll")
	if p.waits, err = p.file.SyscallConn(); err == nil {
		err = p.control(syscall.EPOLL_CTL_ADD, 0)
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return p, nil
}

func (p *parking) close() { p.file.Close() }

func (p *parking) control(op int, events uint32) error {
	return syscall.EpollCtl(p.gate, op, p.loop, &syscall.EpollEvent{Events: events, Fd: int32(p.loop)})
}

// until parks the goroutine until done reports true. It is asked at first, and
// each time that the loop's descriptor has events. An error means that the
// runtime cannot wait.
func (p *parking) until(done func() bool) error {
	if err := p.control(syscall.EPOLL_CTL_MOD, syscall.EPOLLIN); err != nil {
		return err
	}
	err := p.waits.Read(func(uintptr) bool { return done() })
	if off := p.control(syscall.EPOLL_CTL_MOD, 0); err == nil {
		err = off
	}
	return err
}
