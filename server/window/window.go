package window

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/transport"

	"github.com/vigildb/vigil/server/internal/door"

	"github.com/vigildb/vigil/server/internal/report"
)

// Window serves a server's figures over HTTP. Its methods may be called from any
// goroutine.
type Window struct {
	srv    *server.Server
	inside door.Server // of srv
	config *conf.Config
	log    *slog.Logger
	now    func() time.Time
	http   *http.Server

	source    *report.Source
	observer  *observer // of source
	sample    report.Cached[*sample]
	discovery discovery
	survey    survey
	slow      report.Cached[[]report.SlowEntry]
	counts    *rested[struct{}, map[string]float64] // of keys by type
	appraiser *appraiser
	keys      *rested[keyQuestion, []keyFigures]
	schedules *rested[scheduleQuestion, *scheduleBody]
	maps      *rested[mapQuestion, *mapBody]

	mu      sync.Mutex
	sockets []socket       // guarded by mu
	closed  bool           // guarded by mu
	serving sync.WaitGroup // a goroutine for each socket; waited for by Close
	slots   chan struct{}  // one is taken by each connection
}

// socket is a listener with what it was opened for.
type socket struct {
	host string // as the directive http-bind has it
	net.Listener
}

// errClosed is returned by a CONFIG SET during shutdown.
var errClosed = errors.New("window: closed")

// Open makes the window of a server and opens the sockets that http-port and
// http-bind name: none if the port is 0. CONFIG SET of either moves them later.
// The server may still be loading, which /healthz then reports.
func Open(srv *server.Server, config *conf.Config, log *slog.Logger) (*Window, error) {
	w := newWindow(srv, config, log)
	sockets, err := openSockets(config.Settings())
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.useLocked(sockets)
	w.mu.Unlock()
	w.inside.OnMoveHTTP(w.move)
	return w, nil
}

func newWindow(srv *server.Server, config *conf.Config, log *slog.Logger) *Window {
	w := &Window{srv: srv, inside: door.Of(srv), config: config, log: log, now: time.Now, slots: make(chan struct{}, maxConns)}
	w.source = report.NewSource(srv, clientName, func() time.Time { return w.now() })
	w.observer, w.appraiser, w.sample.TTL = w.source.Observer, newAppraiser(w.source.Observe()), sampleAge
	w.slow.TTL, w.counts = slowAge, newRested[struct{}, map[string]float64]()
	w.keys, w.schedules, w.maps = newRested[keyQuestion, []keyFigures](), newRested[scheduleQuestion, *scheduleBody](), newRested[mapQuestion, *mapBody]()
	w.http = w.newServer()
	return w
}

// clientName is how CLIENT LIST shows the window's connections.
const clientName = "vigil-window"

// Addrs are the addresses in use.
func (w *Window) Addrs() []net.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []net.Addr
	for _, s := range w.sockets {
		all = append(all, s.Addr())
	}
	return all
}

// Close closes the sockets and every connection, and waits for what they began.
// It is to be called before the server's Close.
func (w *Window) Close() error {
	w.mu.Lock()
	w.closed = true
	closeSockets(w.sockets)
	w.sockets = nil
	w.mu.Unlock()
	err := w.http.Close()
	w.appraiser.close()
	w.observer.Close()
	w.serving.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) { // the sockets are closed twice
		return fmt.Errorf("close the window: %w", err)
	}
	return nil
}

// openSockets opens what the configuration names, all of it or none.
func openSockets(set *conf.Settings) (open []socket, err error) {
	port := set.HTTPPort
	switch port {
	case 0:
		return nil, nil
	case conf.PortAuto:
		port = 0 // any; the first address decides for all
	}
	for _, host := range set.HTTPBind {
		l, err := transport.ListenTCP(host, port, set.TCPBacklog)
		if err != nil {
			if strings.HasPrefix(host, "-") && !errors.Is(err, syscall.EADDRINUSE) {
				continue // it may be missing
			}
			closeSockets(open)
			return nil, fmt.Errorf("http-port: %w", err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		open = append(open, socket{host, l})
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("http-bind names no address for http-port %s", strconv.Itoa(set.HTTPPort))
	}
	return open, nil
}

func closeSockets(list []socket) {
	for _, s := range list {
		s.Close()
	}
}

// useLocked serves sockets that were just opened.
func (w *Window) useLocked(sockets []socket) {
	w.sockets = sockets
	for _, s := range sockets {
		w.log.Info("the window is at http://" + s.Addr().String() + "/")
		w.serving.Add(1)
		go func() { // ends when the socket is closed
			defer w.serving.Done()
			err := w.http.Serve(&limitedListener{s.Listener, w.slots})
			if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				w.log.Warn(fmt.Sprintf("window: %v", err))
			}
		}()
	}
}

// move is the hook of CONFIG SET. The old sockets are closed first, as the new ones
// may be at the same port; if these cannot be had the old ones are opened again.
// Connections that are open stay.
func (w *Window) move(old, new *conf.Settings) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	was := *old
	if len(w.sockets) > 0 {
		was.HTTPPort = w.sockets[0].Addr().(*net.TCPAddr).Port // also if it was "auto"
	}
	closeSockets(w.sockets)
	sockets, err := openSockets(new)
	if err == nil {
		w.useLocked(sockets)
		return nil
	}
	if again, failed := openSockets(&was); failed != nil {
		w.sockets = nil
		w.log.Warn(fmt.Sprintf("window: listen again: %v", failed))
	} else {
		w.useLocked(again)
	}
	return err
}
