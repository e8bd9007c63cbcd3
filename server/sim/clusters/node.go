package clusters

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/membership"
)

// port is that of all servers, each on a machine of its own.
const port = 7000

// node is a server on a machine of its own, which outlives it.
type node struct {
	w     *world
	group int // at first
	id    int // in that, from 1
	host  string

	mu   sync.Mutex
	disk *disktest.Disk // guarded by mu
	boot byte           // of its machine; guarded by mu
	life *life          // nil while the server is down; guarded by mu
}

// life is a server from its start to its end.
type life struct {
	srv  *server.Server
	dead chan struct{} // closed when the process is no more, though its goroutines may be
	once sync.Once

	mu    sync.Mutex
	conns []net.Conn // of clients; guarded by mu
}

func (l *life) over() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

func (n *node) address() string { return net.JoinHostPort(n.host, strconv.Itoa(port)) }

// config is the configuration file of the server.
func (n *node) config() (*conf.Config, error) {
	var founders, peers []string
	for _, o := range n.w.nodes {
		if o.group == n.group {
			founders = append(founders, fmt.Sprintf("%d=%s", o.id, o.address()))
		} else {
			peers = append(peers, o.address())
		}
	}
	args := []string{"--port", strconv.Itoa(port), "--bind", n.host, "--appendfsync", n.w.policy, "--loglevel", "verbose", "--protected-mode", "no",
		"--cluster-secret", "a secret of the simulation", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"}
	if n.w.open {
		return conf.Load(append(args, "--cluster-enabled", "yes"), nil)
	}
	first, last := n.w.firstSlots(n.group)
	return conf.Load(append(args, "--cluster-view", "cluster", "--cluster-group", string(rune('a'+n.group)),
		"--cluster-members", strings.Join(founders, " "), "--cluster-member-id", strconv.Itoa(n.id), "--cluster-peers", strings.Join(peers, " "),
		"--cluster-slots", fmt.Sprintf("%d-%d", first, last)), nil)
}

// start starts the server on what its disk has.
func (n *node) start() {
	l := &life{dead: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life != nil {
		return
	}
	place, srv, err := n.open(l, n.disk, n.boot)
	if err != nil {
		n.w.violate("%s does not start: %v", n.host, err)
		return
	}
	l.srv, n.life = srv, l
	n.w.tasks.Go(func() { // ends when the server does
		if err := srv.Load(context.Background()); err != nil && !l.over() {
			n.w.violate("%s does not load: %v", n.host, err)
		}
	})
	n.w.tasks.Go(func() {
		select {
		case err := <-place.Failed():
			if !l.over() {
				n.w.violate("%s has ended by itself: %v", n.host, err)
			}
		case <-l.dead:
		}
	})
}

func (n *node) open(l *life, disk *disktest.Disk, boot byte) (membership.Member, *server.Server, error) {
	config, err := n.config()
	if err != nil {
		return membership.Member{}, nil, err
	}
	log := slog.New(&logHandler{n.w, n.host})
	place, err := membership.Listen(config, membership.Options{Log: log, Environment: &cluster.Environment{
		Listen: func(address string) (net.Listener, error) {
			if l.over() {
				return nil, net.ErrClosed
			}
			return n.w.net.listen(n.host, address)
		},
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			c, err := n.w.net.dial(ctx, n.host, address)
			if err == nil && l.over() { // that of a dead process
				c.Close()
				return nil, net.ErrClosed
			}
			return c, err
		},
		Now:   n.w.now,
		Clock: server.SystemClock{},
	}})
	if err != nil {
		return place, nil, err
	}
	options := server.Options{Config: config, Dir: "data", Log: log}
	options.Store = func(o *persistence.Options) { o.FS, o.Boot = disk, [16]byte{1, boot} }
	place.Join(&options)
	srv, err := server.Start(options)
	return place, srv, err
}

// end takes the server away: its clients and the other servers hear nothing from it any more.
func (n *node) end() *life {
	n.mu.Lock()
	l := n.life
	n.life = nil
	n.mu.Unlock()
	if l != nil {
		l.end()
	}
	return l
}

func (l *life) end() {
	l.once.Do(func() { close(l.dead) })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// kill is kill -9, which takes what the process has in buffers, or with power a power failure, in which the disk loses what was not synced.
func (n *node) kill(r *rand.Rand, power bool) {
	l := n.end()
	if l == nil {
		return
	}
	n.w.net.breakAll(n.host, true)
	left := []int{0, 0, 50}[r.IntN(3)] // percent of what was not synced
	n.mu.Lock()
	if power {
		n.boot++
	} else {
		left = 100
	}
	n.disk = n.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: left, RNG: r})
	n.mu.Unlock()
	n.w.tasks.Go(func() { l.srv.Close(context.Background()) }) // its goroutines, which nobody hears
}

// stop is SIGTERM: the server ends in order.
func (n *node) stop() {
	n.mu.Lock()
	l := n.life
	n.mu.Unlock()
	if l == nil {
		return
	}
	err := l.srv.Close(context.Background())
	if n.end() == l && err != nil {
		n.w.violate("%s does not end in order: %v", n.host, err)
	}
	n.w.net.breakAll(n.host, true)
}

// dial connects a client, nil if nobody is there.
func (n *node) dial() net.Conn {
	n.mu.Lock()
	l := n.life
	n.mu.Unlock()
	if l == nil {
		return nil
	}
	c, err := l.srv.Dial()
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over() {
		c.Close()
		return nil
	}
	l.conns = append(l.conns, c)
	return c
}

// logHandler keeps what the servers log.
type logHandler struct {
	w    *world
	host string
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *logHandler) WithGroup(string) slog.Handler            { return h }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	h.w.note("%s: %s", h.host, r.Message)
	if strings.Contains(r.Message, "with their keys, which were") {
		h.w.effect("moved")
	}
	return nil
}

// call makes one call as an administrator, over a connection of its own.
func (n *node) call(words ...string) string {
	c := n.dial()
	if c == nil {
		return "-down"
	}
	defer c.Close()
	k := &connection{nc: c}
	reply, err := k.call(5*time.Second, words...)
	if err != nil {
		return "-" + err.Error()
	}
	return reply
}
