package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/admin/hotkeys"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/backup"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/hold"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/server/pubsub"
	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/server/source"
	"github.com/vigildb/vigil/server/tracking"
	"github.com/vigildb/vigil/server/transport"
	"github.com/vigildb/vigil/structures/slots"
)

// Server is one vigil server: a store, its clients and what they share.
type Server struct {
	opts    Options
	clock   Clock
	table   *commands.Table
	store   *persistence.Store
	journal transport.Store // what replies wait for
	started int64           // unix milliseconds
	runID   string

	config         *conf.Config
	current        atomic.Pointer[settings]
	clients        clients
	users          users
	shared         sharedTexts
	audits         audits
	memory         clientMemory
	broker         pubsub.Broker
	fanout         pubsub.Fanout
	channels       pubsub.ShardChannels
	blocked        blocking.Calls
	internalClient internalClient
	computes       blocking.Workers
	links          links
	scripts        scripts
	watches        watches
	tracking       tracking.Table
	monitors       monitors
	pause          hold.Pause
	fence          hold.Fence
	incoming       hold.Importing
	resharding     resharding.Resharding
	logs           [admin.LogKinds]callLog
	latency        latency
	hot            hotkeys.Watch
	stats          stats
	peers          peers.Peers
	snapshots      backup.Snapshots
	cluster        *backup.Cluster
	backups        backups
	imports        transfers
	exports        transfers
	following      following
	failover       failover
	source         *source.Source
	loops          *transport.Loops
	cron           cron
	rates          rates
	upkeep         upkeep
	sockets        sockets
	secure         secure
	rewrites       rewrites
	figures        info.Figures
	leader         leaderView
	history        history

	loading      atomic.Bool  // from Start until Load is done
	activeExpire atomic.Bool  // off only by DEBUG SET-ACTIVE-EXPIRE
	importing    atomic.Bool  // import-mode
	logLevel     atomic.Int32 // logLevel
	crossed      atomic.Int64 // unix ms of the last line about cross-protocol scripting

	randMu sync.Mutex
	rand   *rand.Rand // guarded by randMu

	mu        sync.Mutex
	listeners map[net.Listener]struct{} // guarded by mu
	closed    bool                      // guarded by mu
	// dismissing are the IDs of masters that are to leave when their replicas have, or of this server while it leaves. Guarded by mu.
	dismissing []string

	stop    context.CancelFunc // ends the background work
	done    context.Context
	workers sync.WaitGroup // clients and background work; waited for by Close

	shutdown chan struct{} // closed by SHUTDOWN: the owner of the server has to close it
	downOnce sync.Once

	ended    chan struct{} // closed when Close has done its work
	endError error         // set before that
}

// ErrClosed is returned by Serve after Close.
var ErrClosed = errors.New("server: closed")

// Open opens the store and makes a server that has no listener yet. When it
// returns, all data is loaded. If ctx ends before that, Open closes the store and
// returns the cause.
func Open(ctx context.Context, o Options) (*Server, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	srv, err := Start(o)
	if err != nil {
		return nil, err
	}
	if err := srv.Load(ctx); err != nil {
		return nil, errors.Join(err, srv.Close(context.WithoutCancel(ctx)))
	}
	return srv, nil
}

// Start is Open without reading the data: call Load next. Clients can connect
// meanwhile, and get -LOADING errors as from Redis.
func Start(o Options) (*Server, error) {
	o.fill()
	table, err := commands.NewTable(groups.All())
	if err != nil {
		return nil, fmt.Errorf("command table: %w", err)
	}
	srv := newServer(o, table)
	srv.loading.Store(true)
	srv.stats.open(table, func(text string) { srv.logf(logWarning, "%s", text) })
	srv.audits.open(o.Audit, table)
	srv.scripts.open(o.Clock)
	if err := srv.configure(); err != nil {
		return nil, err
	}
	if srv.opts.Group != nil && srv.settings().conf.MasterHost != "" {
		return nil, errors.New("replicaof is not for the configuration of a member of a group: REPLICAOF at the leader makes the group follow")
	}
	srv.scripts.engine.Report(srv.settings().limits.RedisVersion)
	if err := srv.users.open(); err != nil {
		return nil, err
	}
	if err := srv.fitMaxClients(); err != nil {
		return nil, err
	}
	if o.Dir == "" && srv.settings().conf.ThrowAway {
		srv.opts.InMemory = true
	}
	if !srv.opts.InMemory {
		srv.fitBulk(fileSizeLimit())
	}
	if srv.opts.InMemory && srv.opts.DerivedMaxMemory > 0 {
		srv.opts.DerivedMaxMemory = 0 // there is no disk that values could move to
		srv.apply(srv.config.Settings())
	}
	for _, r := range srv.settings().conf.Renames {
		if err := table.Rename(r.From, r.To); err != nil {
			return nil, fmt.Errorf("rename-command %s: %w", r.From, err)
		}
	}
	if srv.store, err = persistence.Start(srv.storeOptions()); err != nil {
		return nil, err
	}
	srv.users.recall() // those that are known by now: the rest of the log is read by Load
	srv.journal = srv.gated()
	openRooms(srv)
	srv.loops = transport.NewLoops(transport.Host{Store: srv.journal, Closed: srv.done, Workers: &srv.workers})
	srv.sockets.plain.serve, srv.sockets.secure.serve = srv.Serve, srv.ServeTLS
	if err := srv.secure.open(); err != nil {
		return nil, errors.Join(err, srv.store.Close())
	}
	srv.watchConfig()
	srv.recallConfiguration() // what is known of it by now, too
	openSnapshots(srv)
	srv.backups.open()
	srv.figures.Open(srv.store, figureSource{srv})
	srv.openSource()
	srv.activeExpire.Store(true)
	srv.cron.plan(srv)
	return srv, nil
}

// newServer makes a server that has opened nothing, and tells its parts whose they are.
func newServer(o Options, table *commands.Table) *Server {
	srv := &Server{opts: o, clock: o.Clock, table: table, started: o.Clock.Now().UnixMilli(),
		listeners: map[net.Listener]struct{}{}, shutdown: make(chan struct{}), ended: make(chan struct{}),
		rand: rand.New(rand.NewPCG(o.Seed, o.Seed^0x9e3779b97f4a7c15))}
	srv.runID = fmt.Sprintf("%016x%016x%08x", srv.rand.Uint64(), srv.rand.Uint64(), srv.rand.Uint32())
	srv.done, srv.stop = context.WithCancel(context.Background())
	srv.backups.srv, srv.failover.srv, srv.following.srv, srv.memory.srv = srv, srv, srv, srv
	srv.scripts.srv, srv.secure.srv, srv.sockets.srv, srv.users.srv = srv, srv, srv, srv
	return srv
}

// openRooms makes known to the rooms of the server what they need of it.
func openRooms(srv *Server) {
	srv.tracking.Open(&srv.clients)
	srv.pause.Open(srv.clock)
	srv.incoming.Open(srv.done, srv.clock, func() *slots.Set {
		coming, _, _ := srv.opts.Group.Passing()
		return coming
	})
	srv.internalClient.srv = srv
	srv.blocked.Open(&srv.internalClient)
	srv.computes.Open(&srv.workers)
	srv.fanout.Open(&srv.broker, srv.journal, srv.opts.Group, srv.tellReplicas)
	srv.channels.Open()
	openPeers(srv)
}

// openPeers makes known what the server responds to the others of its cluster.
func openPeers(srv *Server) {
	srv.peers.Open(peers.Options{Network: srv.opts.Group, Membership: host{srv}.Membership, Go: srv.workers.Go})
	asksDismissal.Handle(&srv.peers, srv.dismissed)
	openResharding(srv)
}

// Serve accepts clients until the listener fails or the server is closed,
// which it reports as ErrClosed. It may be called for several listeners.
func (srv *Server) Serve(l net.Listener) error {
	return srv.serve(l, func(nc net.Conn) { srv.accept(nc) })
}

// serve accepts connections and passes them on.
func (srv *Server) serve(l net.Listener, admit func(net.Conn)) error {
	srv.mu.Lock()
	if srv.closed {
		srv.mu.Unlock()
		return ErrClosed
	}
	if err := srv.loops.Start(srv.settings().conf.IOThreads); err != nil {
		srv.mu.Unlock()
		return err
	}
	srv.listeners[l] = struct{}{}
	srv.mu.Unlock()
	defer func() {
		srv.mu.Lock()
		delete(srv.listeners, l)
		srv.mu.Unlock()
	}()
	for {
		nc, err := l.Accept()
		if err == nil {
			admit(nc)
			continue
		}
		if srv.done.Err() != nil || errors.Is(err, net.ErrClosed) {
			return ErrClosed
		}
		var temporary interface{ Temporary() bool }
		if !errors.As(err, &temporary) || !temporary.Temporary() {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		srv.logf(logWarning, "accept: %v", err)
		srv.waitABit()
	}
}

// background runs a function in a goroutine that Close waits for, unless the server is closed. It reports whether it does.
func (srv *Server) background(f func()) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if !srv.closed {
		srv.workers.Go(f)
	}
	return !srv.closed
}

// Dial connects a client inside the process, without a socket.
func (srv *Server) Dial() (net.Conn, error) {
	client, own := transport.Pipe()
	if !srv.accept(own) {
		return nil, ErrClosed
	}
	return client, nil
}

// accept admits a client, or sends it the reason why not. It reports whether
// the server is open.
func (srv *Server) accept(nc net.Conn) bool {
	remote, _, unix := addresses(nc)
	why := srv.refusal(remote, unix)
	if why == "" {
		srv.stats.connections.Add(1)
		return srv.enter(nc, func(*session) {})
	}
	srv.stats.rejectedClients.Add(1)
	r := commands.NewReply(nil, 2)
	r.Error(why)
	nc.Write(r.Encoded())
	nc.Close()
	return srv.done.Err() == nil
}

// enter makes a session of a connection and starts its goroutine, which ends
// when the client leaves or Close closes the connection. prepare sees the
// session before anything is read. It reports whether the server is open.
func (srv *Server) enter(nc net.Conn, prepare func(*session)) bool {
	srv.mu.Lock()
	if srv.closed {
		srv.mu.Unlock()
		nc.Close()
		return false
	}
	srv.workers.Add(1) // for the client; its transport calls Done
	srv.mu.Unlock()
	srv.tune(nc)
	conn, start := srv.loops.Open(nc)
	s := srv.newSession(conn)
	s.Addr, s.LocalAddr, s.Unix = addresses(nc)
	if secure, encrypted := nc.(*tls.Conn); encrypted {
		s.foot.tls = tlsBytes
		s.foot.weigh()
		s.access.recognise(secure.ConnectionState())
	}
	prepare(s)
	srv.clients.add(s)
	if srv.done.Err() != nil {
		conn.HangUp() // Close may have visited the clients already
	}
	start(s)
	return true
}

// refusal is the reason why a client is not admitted, empty if it is.
func (srv *Server) refusal(remote string, unix bool) commands.WireError {
	set := srv.settings()
	switch {
	case srv.clients.count()+srv.secure.handshakes.Count() >= set.maxClients:
		return commands.ErrMaxClients
	case set.conf.ProtectedMode && srv.users.Default().Rules().NoPass() && !unix && !isLoopback(remote):
		return commands.ErrProtected
	}
	return ""
}

func (srv *Server) newSession(conn transport.Conn) *session {
	s := makeSession(srv, srv.store.NewTx())
	s.conn = conn
	s.ID = srv.clients.nextID()
	s.Created = srv.clock.Now().UnixMilli()
	s.lastInput.Store(s.Created)
	s.SetProto(2)
	s.SetText(func(t *commands.ClientText) { t.LastCommand = "NULL" })
	s.access.become(srv.users.Default())
	s.ctx.Tx, s.ctx.Client, s.ctx.Table, s.ctx.Host = s.tx, &s.Client, srv.table, s
	s.ctx.Take = s.takeArgument
	s.ctx.Reply = commands.NewReply(nil, 2)
	s.ctx.Reply.Bound(s.foot.grant)
	s.output.total = &srv.memory.total
	s.cache.Open(s)
	set := srv.settings()
	s.in.framer.SetMaxBulk(set.limits.MaxBulk)
	s.access.setAuthenticated(s.Open())
	s.foot.weigh()
	return s
}

// Close stops listening, disconnects the clients, ends the background work and
// closes the store. Everything acknowledged is durable when it returns nil.
//
// If ctx ends first, Close returns the cause and the work goes on: the
// directory is in use until a later call has returned. All calls that wait for the end
// return the same.
func (srv *Server) Close(ctx context.Context) error {
	srv.mu.Lock()
	if !srv.closed {
		srv.closed = true
		go func() {
			defer close(srv.ended)
			srv.endError = srv.end()
		}()
	}
	srv.mu.Unlock()
	select {
	case <-srv.ended:
		return srv.endError
	case <-ctx.Done():
		return fmt.Errorf("server: it is still being closed: %w", context.Cause(ctx))
	}
}

// end does the work of Close.
func (srv *Server) end() error {
	srv.stopListening()
	srv.handOver()
	srv.stop()
	srv.scripts.endLate()
	srv.following.end() // which may wait for a script
	srv.cron.stop()
	srv.backups.close()
	srv.secure.handshakes.Close()
	srv.clients.hangUpAll()
	err := srv.part()
	srv.loops.End()
	srv.workers.Wait()
	srv.internalClient.stop()
	srv.links.closeAll()
	if failed := srv.store.Close(); failed != nil {
		err = errors.Join(err, fmt.Errorf("close store: %w", failed))
	}
	return err
}

// stopListening closes the listeners: from now on connections are refused.
func (srv *Server) stopListening() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for l := range srv.listeners {
		l.Close()
	}
}

// ShutdownRequested is closed when a client has sent SHUTDOWN: the owner of the
// server has to call Close.
func (srv *Server) ShutdownRequested() <-chan struct{} { return srv.shutdown }
