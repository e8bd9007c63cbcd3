// Package activation takes over the sockets that a supervisor holds for the server, as systemd passes them: LISTEN_PID is the process that
// they are for, LISTEN_FDS how many there are, from descriptor 3 on, and LISTEN_FDNAMES what they are called. Connections wait in such a
// socket while no server runs, and so requests wait through a restart.
package activation

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Socket is one that was passed.
type Socket struct {
	Name string // FileDescriptorName= of its unit, by default the name of that; "" if it has none
	net.Listener
}

const (
	// first is the descriptor of the first socket, and most a bound on their number that no unit reaches.
	first, most = 3, 1024
)

// variables are those of the environment, which go to no other process.
var variables = []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}

// Take returns the sockets that this process was passed, none if it was started without. It is called once.
func Take() ([]Socket, error) {
	sockets, err := take(os.Getenv, os.Getpid(), first)
	for _, name := range variables {
		os.Unsetenv(name)
	}
	return sockets, err
}

// take is Take with the environment, and the first descriptor.
func take(env func(string) string, pid int, first int) (sockets []Socket, err error) {
	if env("LISTEN_PID") != strconv.Itoa(pid) { // for a process that has started this one, or for none
		return nil, nil
	}
	n, err := strconv.Atoi(env("LISTEN_FDS"))
	if err != nil || n < 0 || n > most {
		return nil, fmt.Errorf("sockets of the supervisor: LISTEN_FDS is %q", env("LISTEN_FDS"))
	}
	names := strings.Split(env("LISTEN_FDNAMES"), ":")
	for i := range n {
		s := Socket{}
		if i < len(names) {
			s.Name = names[i]
		}
		f := os.NewFile(uintptr(first+i), "socket "+strconv.Itoa(first+i))
		if f == nil {
			return nil, errors.Join(closeAll(sockets), fmt.Errorf("sockets of the supervisor: descriptor %d is none", first+i))
		}
		s.Listener, err = net.FileListener(f) // a copy, which is not passed on to processes
		f.Close()
		if err != nil {
			return nil, errors.Join(closeAll(sockets), fmt.Errorf("sockets of the supervisor: descriptor %d (%s): %w; a stream that listens is needed", first+i, s.Name, err))
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

func closeAll(sockets []Socket) (err error) {
	for _, s := range sockets {
		err = errors.Join(err, s.Close())
	}
	return err
}
