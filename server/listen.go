package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
)

// Listen opens the sockets that the configuration names (bind, port,
// unixsocket) and serves them in the background. Port 0 takes any free port,
// the same for every address. It answers the addresses in use.
func (srv *Server) Listen() ([]net.Addr, error) {
	set := srv.settings()
	var open []net.Listener
	fail := func(err error) ([]net.Addr, error) {
		for _, l := range open {
			l.Close()
		}
		return nil, err
	}
	port := set.port
	for _, host := range set.bind {
		l, optional, err := listenTCP(host, port)
		if err != nil {
			if optional {
				srv.logf(LogNotice, "%s is not there and was marked optional: %v", host, err)
				continue
			}
			return fail(err)
		}
		if port == 0 {
			port = l.Addr().(*net.TCPAddr).Port
		}
		open = append(open, l)
	}
	if set.unixSocket != "" {
		l, err := listenUnix(set.unixSocket, set.unixPerm)
		if err != nil {
			return fail(err)
		}
		open = append(open, l)
	}
	if len(open) == 0 {
		return nil, errors.New("nothing to listen on: give bind addresses or a unix socket")
	}
	srv.port.Store(int64(port))
	addrs := make([]net.Addr, len(open))
	for i, l := range open {
		addrs[i] = l.Addr()
		srv.workers.Add(1)
		// Ends when Close closes the listener.
		go func() {
			defer srv.workers.Done()
			if err := srv.Serve(l); !errors.Is(err, ErrClosed) {
				srv.logf(LogWarning, "%v", err)
			}
		}()
	}
	return addrs, nil
}

// listenTCP opens one address in the notation of the directive bind: "*" is
// every interface, a leading "-" allows the address to be missing.
func listenTCP(host string, port int) (l net.Listener, optional bool, err error) {
	if len(host) > 0 && host[0] == '-' {
		optional, host = true, host[1:]
	}
	network := "tcp"
	switch host {
	case "*":
		network, host = "tcp4", "0.0.0.0"
	case "::*":
		network, host = "tcp6", "::"
	}
	l, err = net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, optional, fmt.Errorf("listen on %s port %d: %w", host, port, err)
	}
	return l, optional, nil
}

// listenUnix opens a unix socket, in place of one that a killed server left.
func listenUnix(path string, perm os.FileMode) (net.Listener, error) {
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
