//go:build unix

package transport

import (
	"net"
	"syscall"
)

// setBacklog sets the length of the queue of connections that are not accepted yet,
// which the system may bound.
func setBacklog(l net.Listener, n int) error {
	socket, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := socket.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) }); err != nil {
		return err
	}
	return failed
}
