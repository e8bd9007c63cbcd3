package transport

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
)

// ListenTCP opens one address in the notation of the directive bind: "*" is every
// IPv4 interface, "::*" every one of IPv6; a leading "-", which allows the address to
// be missing, is ignored. Port 0 takes any that is free.
func ListenTCP(host string, port, backlog int) (net.Listener, error) {
	name, network := host, "tcp"
	host = strings.TrimPrefix(host, "-")
	switch host {
	case "*":
		network, host = "tcp4", "0.0.0.0"
	case "::*":
		network, host = "tcp6", "::"
	}
	l, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on %s port %d: %w", name, port, err)
	}
	if err := setBacklog(l, backlog); err != nil {
		l.Close()
		return nil, fmt.Errorf("backlog of %s port %d: %w", name, port, err)
	}
	return l, nil
}

// ListenUnix opens a unix socket, replacing one that a killed server has left. It
// fails if another server uses it.
func ListenUnix(path string, perm os.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("listen on %s: another server is using it", path)
		}
		os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if perm != 0 {
		if err := os.Chmod(path, perm); err != nil {
			l.Close()
			return nil, fmt.Errorf("permissions of %s: %w", path, err)
		}
	}
	return l, nil
}
