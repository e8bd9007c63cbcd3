package server

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/transport"
)

// sockets are those that Listen has opened and CONFIG SET may move. A socket of
// Serve belongs to its caller and is not among them.
type sockets struct {
	srv       *Server
	mu        sync.Mutex
	listening bool // Listen has succeeded; guarded by mu
	plain     family
	secure    family
	// moveHTTP is the function passed to OnMoveHTTP; guarded by mu.
	moveHTTP func(old, new *conf.Settings) error
}

// family is the sockets of one port directive.
type family struct {
	serve func(net.Listener) error
	open  []socket     // guarded by sockets.mu
	port  atomic.Int64 // in use; 0 without one
}

// socket is a TCP listener with the address it was opened for.
type socket struct {
	host string // as the directive bind has it
	port int    // in use
	net.Listener
}

// ErrNoListeners is returned by Listen if the configuration names nothing to
// listen on: no port and no unix socket.
var ErrNoListeners = errors.New("server: configured to not listen anywhere")

// errEmbedded is the reason why CONFIG SET does not move the sockets of an
// embedded server.
var errEmbedded = errors.New("the sockets belong to the program that the server is part of")

// Listen opens the sockets that the configuration names (bind, port, tls-port,
// unixsocket) and serves them in the background. It returns the addresses in
// use, the encrypted ones after the plain ones. Port 0 opens no TCP socket; "auto"
// takes any free port, the same for every address. CONFIG SET of port, tls-port and
// bind moves the sockets later. With sockets of a supervisor these are all.
func (srv *Server) Listen() ([]net.Addr, error) {
	set := srv.settings().conf
	k := &srv.sockets
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(srv.opts.Inherited) > 0 {
		return k.inheritLocked(), nil
	}
	tcp, err := k.openTCP(set.Bind, set.Port)
	if err != nil {
		return nil, err
	}
	secure, err := k.openTCP(set.Bind, set.TLSPort)
	if err != nil {
		closeAll(tcp)
		return nil, err
	}
	var addrs []net.Addr
	for _, s := range slices.Concat(tcp, secure) {
		addrs = append(addrs, s.Addr())
	}
	if set.UnixSocket != "" {
		l, err := transport.ListenUnix(set.UnixSocket, os.FileMode(set.UnixSocketPerm))
		if err != nil {
			closeAll(slices.Concat(tcp, secure))
			return nil, err
		}
		k.serveBehind(l, srv.Serve)
		addrs = append(addrs, l.Addr())
	}
	if len(addrs) == 0 {
		return nil, ErrNoListeners
	}
	k.useLocked(&k.plain, tcp)
	k.useLocked(&k.secure, secure)
	k.listening = true
	return addrs, nil
}

// Inherited is a socket that a supervisor holds for the server.
type Inherited struct {
	net.Listener
	Secure bool // its clients speak TLS
}

// errInherited is the reason why CONFIG SET does not move such sockets.
var errInherited = errors.New("the sockets belong to the supervisor that holds them")

// inheritLocked serves the sockets that somebody else opened. Clients that come while no server runs wait in them.
func (k *sockets) inheritLocked() (addrs []net.Addr) {
	var plain, secure []socket
	for _, in := range k.srv.opts.Inherited {
		addrs = append(addrs, in.Addr())
		tcp, ok := in.Addr().(*net.TCPAddr)
		switch {
		case !ok:
			k.serveBehind(in.Listener, k.srv.Serve)
		case in.Secure:
			secure = append(secure, socket{tcp.IP.String(), tcp.Port, in.Listener})
		default:
			plain = append(plain, socket{tcp.IP.String(), tcp.Port, in.Listener})
		}
	}
	k.useLocked(&k.plain, plain)
	k.useLocked(&k.secure, secure)
	k.listening = true
	return addrs
}

// open reports whether Listen has opened the sockets.
func (k *sockets) open() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listening
}

// port is the TCP port that INFO shows: the plain one, or else the encrypted one.
func (k *sockets) port() int64 {
	if p := k.plain.port.Load(); p != 0 {
		return p
	}
	return k.secure.port.Load()
}

// serveBehind accepts clients in the background until the listener is closed,
// which Close does at the latest.
func (k *sockets) serveBehind(l net.Listener, serve func(net.Listener) error) {
	k.srv.workers.Add(1)
	go func() {
		defer k.srv.workers.Done()
		defer l.Close()
		if err := serve(l); !errors.Is(err, ErrClosed) {
			k.srv.logf(logWarning, "%v", err)
		}
	}()
}

// useLocked serves the sockets that are not served yet and remembers all.
func (k *sockets) useLocked(f *family, tcp []socket) {
	port := 0
	for _, s := range tcp {
		port = s.port
		if !slices.ContainsFunc(f.open, func(old socket) bool { return old.Listener == s.Listener }) {
			k.serveBehind(s.Listener, f.serve)
		}
	}
	f.open = tcp
	f.port.Store(int64(port))
}

// autoTries is the number of attempts of "auto" to find a port that is free at
// every address.
const autoTries = 16

// openTCP opens every address at one port.
func (k *sockets) openTCP(hosts []string, port int) (open []socket, err error) {
	switch port {
	case 0:
		return nil, nil
	case conf.PortAuto:
		for range autoTries {
			if open, err = k.openAt(hosts, 0); !errors.Is(err, syscall.EADDRINUSE) {
				break
			}
		}
		return open, err
	}
	return k.openAt(hosts, port)
}

// openAt opens every address, at any port that is free if port is 0: the same
// for all.
func (k *sockets) openAt(hosts []string, port int) ([]socket, error) {
	var open []socket
	for _, host := range hosts {
		l, err := transport.ListenTCP(host, port, k.srv.settings().conf.TCPBacklog)
		switch {
		case err == nil:
			port = l.Addr().(*net.TCPAddr).Port
			open = append(open, socket{host, port, l})
		case strings.HasPrefix(host, "-") && !errors.Is(err, syscall.EADDRINUSE):
			k.srv.logf(logNotice, "skipping optional address %s: %v", host, err)
		default:
			closeAll(open)
			return nil, err
		}
	}
	return open, nil
}

func closeAll(open []socket) {
	for _, s := range open {
		s.Close()
	}
}

// move is the hook of CONFIG SET port, tls-port and bind. After an error
// everything is as it was before.
func (k *sockets) move(old, new *conf.Settings) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.listening:
		return errEmbedded
	case len(k.srv.opts.Inherited) > 0:
		return errInherited
	}
	was := int(k.plain.port.Load())
	if err := k.moveLocked(&k.plain, old.Port, new.Port, new.Bind); err != nil {
		return err
	}
	err := k.moveLocked(&k.secure, old.TLSPort, new.TLSPort, new.Bind)
	if err != nil {
		_ = k.moveLocked(&k.plain, new.Port, was, old.Bind) // which were open a moment ago
	}
	return err
}

// moveLocked moves the sockets of a family. Those that are still needed are kept,
// new ones are opened, and only then are the others closed; connected clients stay.
// If a new socket conflicts with an old one, as 0.0.0.0 and 127.0.0.1 do at one
// port, the old ones are closed first, and reopened if that did not help.
func (k *sockets) moveLocked(f *family, oldPort, newPort int, bind []string) error {
	port := newPort
	if port == conf.PortAuto && oldPort == port {
		port = int(f.port.Load())
	}
	var kept, gone []socket
	var missing []string
	for _, s := range f.open {
		if s.port == port && slices.Contains(bind, s.host) {
			kept = append(kept, s)
		} else {
			gone = append(gone, s)
		}
	}
	for _, host := range bind {
		if !slices.ContainsFunc(kept, func(s socket) bool { return s.host == host }) {
			missing = append(missing, host)
		}
	}
	opened, err := k.openTCP(missing, port)
	if errors.Is(err, syscall.EADDRINUSE) && slices.ContainsFunc(gone, func(s socket) bool { return s.port == port }) {
		closeAll(gone)
		if opened, err = k.openTCP(missing, port); err != nil {
			k.useLocked(f, append(kept, k.reopen(gone)...))
		}
	}
	switch {
	case err != nil:
		k.srv.logf(logWarning, "%v", err)
		if oldPort == newPort {
			return commands.ErrCannotBind
		}
		return commands.ErrCannotListen
	case len(kept)+len(opened) == 0 && port != 0 && len(bind) > 0:
		return commands.ErrCannotBind // every address was optional
	}
	closeAll(gone)
	k.useLocked(f, append(kept, opened...))
	return nil
}

// reopen opens sockets again that were closed a moment ago.
func (k *sockets) reopen(gone []socket) (open []socket) {
	for _, s := range gone {
		again, err := k.openTCP([]string{s.host}, s.port)
		if err != nil {
			k.srv.logf(logWarning, "listen again: %v", err)
		}
		open = append(open, again...)
	}
	return open
}

// errNoWindow is the reason why CONFIG SET opens no window of an embedded
// server.
var errNoWindow = errors.New("the program that the server is part of has no window")

func (k *sockets) changeHTTP(old, new *conf.Settings) error {
	k.mu.Lock()
	move := k.moveHTTP
	k.mu.Unlock()
	if move == nil {
		return errNoWindow
	}
	return move(old, new)
}
