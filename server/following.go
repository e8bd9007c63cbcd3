package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/replica"
)

// following is what a server has that follows a master.
type following struct {
	srv    *Server
	active atomic.Bool                      // it is a replica, whose keys the master changes
	now    atomic.Pointer[replica.Follower] // nil: it is a master, or about to change

	change sync.Mutex // one change of the role at a time

	mu    sync.Mutex
	reign uint64 // guarded by mu: how often this member of a group has ceased to lead; what one leadership begins ends with it
}

// readOnly reports whether clients may change no keys because they are a master's.
func (f *following) readOnly() bool {
	return f.active.Load() && f.srv.settings().conf.ReplicaReadOnly
}

// unwritable is the error of writes if there are none now. What a master sends is written although clients may not.
func (a *admission) unwritable() error {
	if a.s.applies {
		return refused(a.s.srv.store.WriteError())
	}
	return a.s.srv.unwritable()
}

// checkStale refuses a call that needs data while the link to the master is down, and stale data may not be served.
func (a *admission) checkStale(cmd *commands.Command) error {
	f := a.s.srv.following.now.Load()
	if f == nil || a.s.applies || a.s.srv.settings().conf.ReplicaServeStaleData || cmd.Is(commands.Stale) {
		return nil
	}
	if st := f.Status(); st.Up() {
		return nil
	}
	return commands.ErrMasterDown
}

// open makes the server what its configuration says when its data is loaded: a replica, or a master, although its data may be
// that of another one.
func (f *following) open() error {
	srv := f.srv
	set := srv.settings().conf
	switch {
	case srv.opts.Group != nil:
		return nil // see lead
	case set.MasterHost != "":
		return f.follow(0, set.MasterHost, set.MasterPort)
	case srv.store.Replicated().Follows:
		srv.logf(logNotice, "The data is that of a master that the configuration does not name: this server is a master from now on")
		_, err := f.promote(0)
		return err
	}
	return nil
}

// errRoleAmidKeys is the error of a change of the role in a transaction that has locked keys: all have to be locked for it.
// Sentinel's transactions have none.
const errRoleAmidKeys = commands.WireError("ERR REPLICAOF is not allowed in a transaction that works on keys")

// ReplicaOf makes the server the replica of a master. already: it is that.
func (s *session) ReplicaOf(host string, port int) (already bool, err error) {
	srv := s.srv
	if err := srv.failover.changesRole(&s.shards); err != nil {
		return false, err
	}
	if srv.slotted() {
		return false, errRoleInCluster
	}
	f := &srv.following
	f.change.Lock()
	defer f.change.Unlock()
	if now := f.now.Load(); now != nil {
		if st := now.Status(); st.Host == host && st.Port == port && st.Stopped == nil {
			return true, nil
		}
	}
	reign := f.current()
	lsn, err := f.remember(reign, host+" "+strconv.Itoa(port))
	if err != nil {
		return false, err
	}
	s.durability.change(lsn)
	srv.logf(logNotice, "Before turning into a replica, this server may have had data of its own: it is replaced when the master's has come")
	return false, f.follow(reign, host, port)
}

// ReplicaOfNoOne makes the server a master, with the data that it has.
func (s *session) ReplicaOfNoOne() error {
	srv := s.srv
	if err := srv.failover.changesRole(&s.shards); err != nil {
		return err
	}
	f := &srv.following
	f.change.Lock()
	defer f.change.Unlock()
	if !f.active.Load() {
		return nil
	}
	lsn, err := f.becomeMaster("MASTER MODE enabled (by a client)")
	s.durability.change(lsn)
	return err
}

// becomeMaster ends following; the configuration is told first.
func (f *following) becomeMaster(why string) (lsn uint64, err error) {
	reign := f.current()
	if f.srv.opts.Group == nil {
		if _, err := f.remember(reign, "no one"); err != nil {
			return 0, err
		}
	}
	f.srv.logf(logNotice, "%s", why)
	return f.promote(reign)
}

// remember sets the directive replicaof: for CONFIG GET and CONFIG REWRITE or, in a group, for all members, by a record.
func (f *following) remember(reign uint64, text string) (lsn uint64, err error) {
	if f.srv.opts.Group != nil {
		return f.rememberInGroup(reign, text)
	}
	return 0, f.srv.config.Set(conf.Caller{Own: true}, []conf.Pair{{Name: replicaOf, Value: text}})
}

// replicaOf is the name of the directive.
const replicaOf = "replicaof"

// follow follows a master from now on.
func (f *following) follow(reign uint64, host string, port int) error {
	return f.followHeir(reign, host, port, nil)
}

// followHeir is follow for a server that is to take over first.
func (f *following) followHeir(reign uint64, host string, port int, takeOver func(refused error)) error {
	srv := f.srv
	f.end()
	if !f.activate(reign, true) {
		return errDeposed
	}
	// A write that was admitted before is over when its shards can be had.
	if _, err := srv.lockAll(reign, func(*session) {}); err != nil {
		return err
	}
	for _, s := range srv.clients.list() {
		if w := srv.blocked.Of(s); w != nil && len(w.Keys) > 0 {
			s.conn.HangUp() // it waits for what it could not change
		}
	}
	f.begin(reign, host, port, takeOver)
	return nil
}

// begin connects to a master.
func (f *following) begin(reign uint64, host string, port int, takeOver func(refused error)) {
	a := f.srv.newApplier(reign)
	now := replica.Start(replica.Options{Host: host, Port: port, Dial: f.dial, Settings: f.settings, Durable: a.Durable, TakeOver: takeOver,
		Logf: f.srv.report}, a)
	f.now.Store(now)
	if f.current() != reign && f.now.CompareAndSwap(now, nil) {
		now.Stop() // resign came before it was there
	}
}

// lockAll calls f with all shards locked, and commits what it changes with the record that it returns. It is for one leadership, if
// the server is a member of a group.
func (srv *Server) lockAll(reign uint64, f func(s *session)) (lsn uint64, err error) {
	s := srv.backstage()
	var all persistence.Shards
	all.AddAll()
	if err := s.lockToChange(srv.done, &all, reign); err != nil {
		return 0, err
	}
	f(s)
	err = s.tx.Err()
	s.commit()
	s.release()
	return s.durability.Awaited(), err
}

// end ends the connection to the master.
func (f *following) end() {
	if now := f.now.Swap(nil); now != nil {
		now.Stop()
	}
}

// promote ends the connection to the master and lets clients change keys. A part of the master's data is removed.
func (f *following) promote(reign uint64) (lsn uint64, err error) {
	srv := f.srv
	f.end()
	was := srv.store.Replicated()
	next := persistence.Replicated{ID: host{srv}.RandomHex(40), Offset: max(0, was.Offset), DB: was.DB}
	if was.Follows && was.ID != "" {
		next.ID2, next.Second = was.ID, was.Offset+1
	}
	lsn, err = srv.lockAll(reign, func(s *session) {
		if was == persistence.Incomplete() {
			srv.logf(logWarning, "The part of the master's data that had come is removed")
			s.tx.Databases().FlushAll()
		}
		if was != (persistence.Replicated{}) {
			s.tx.SetReplicated(next)
		}
		f.forgetInGroup(s)
	})
	if err != nil {
		return 0, err
	}
	if next.ID2 != "" && srv.opts.Group == nil {
		if err := srv.source.Continue(next.ID, next.ID2, next.Offset); err != nil {
			srv.logf(logWarning, "replication: other replicas of the former master have to synchronize anew: %v", err)
		}
	}
	f.activate(reign, false)
	return lsn, nil
}

// Succeed makes the server the master in place of the one that it follows, which asks for it and names its stream.
func (s *session) Succeed(stream string) error {
	srv := s.srv
	f := &srv.following
	f.change.Lock()
	defer f.change.Unlock()
	switch {
	case !f.active.Load():
		return commands.ErrTakeOverMaster
	case !strings.EqualFold(srv.store.Replicated().ID, stream):
		return commands.ErrTakeOverStream
	}
	lsn, err := f.becomeMaster("MASTER MODE enabled (failover request from the master)")
	s.durability.change(lsn)
	return err
}

// lineage is what replicas are told of the data: IDs of streams, the offset of the first, and the first one that is not of the second.
func (srv *Server) lineage() (id, id2 string, offset, second int64) {
	r := srv.store.Replicated()
	if r.ID == "" {
		return srv.runID, noReplicationID, r.Offset, -1
	}
	if r.ID2 == "" {
		return r.ID, noReplicationID, r.Offset, -1
	}
	return r.ID, r.ID2, r.Offset, r.Second
}

const noReplicationID = "0000000000000000000000000000000000000000"

// settings are those of the connection to a master.
func (f *following) settings() replica.Settings {
	set := f.srv.settings()
	c := set.conf
	r := replica.Settings{User: c.MasterUser, Password: c.MasterAuth, Timeout: c.ReplTimeout, AnnounceHost: c.ReplicaAnnounceIP, AnnouncePort: c.ReplicaAnnouncePort,
		MaxArgument: uint64(set.limits.MaxBulk), MaxCommand: uint64(set.queryBuffer), Databases: set.limits.Databases,
		PassErrors: c.ReplicaPassErrors, PassUnknown: c.ReplicaPassUnknown}
	if r.AnnouncePort == 0 {
		// At the start the listeners are not open yet.
		r.AnnouncePort = cmp.Or(int(f.srv.sockets.port()), c.Port, c.TLSPort)
		if c.TLSReplication && c.TLSPort != 0 {
			r.AnnouncePort = cmp.Or(int(f.srv.sockets.secure.port.Load()), c.TLSPort)
		}
	}
	return r
}

// dial connects to a master.
func (f *following) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	c := f.srv.settings().conf
	dialer := net.Dialer{KeepAlive: max(c.TCPKeepAlive, -1)}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if !c.TLSReplication {
		return dialer.DialContext(ctx, "tcp", address)
	}
	o := certs.Options{CertFile: c.TLSClientCertFile, KeyFile: c.TLSClientKeyFile, KeyPass: c.TLSClientKeyFilePass, CAFile: c.TLSCACertFile, CADir: c.TLSCACertDir,
		Protocols: c.TLSProtocols, Ciphers: c.TLSCiphers, CipherSuites: c.TLSCipherSuites}
	if o.CertFile == "" {
		o.CertFile, o.KeyFile, o.KeyPass = c.TLSCertFile, c.TLSKeyFile, c.TLSKeyFilePass
	}
	config, err := o.Client()
	if err != nil {
		return nil, err
	}
	config.Time = f.srv.clock.Now
	return (&tls.Dialer{NetDialer: &dialer, Config: config}).DialContext(ctx, "tcp", address)
}

// Follows reports whether the keys are those of a master.
func (h host) Follows() bool { return h.srv.following.active.Load() }

// Master describes the master that the server follows; nil if it is one itself.
func (h host) Master() *admin.Master {
	f := h.srv.following.now.Load()
	if f == nil {
		return nil
	}
	st := f.Status()
	return &admin.Master{Host: st.Host, Port: st.Port, State: string(st.State), Offset: st.Offset}
}

// infoMaster shows the master that the server follows.
func infoMaster(t *info.Text, s *session, st *replica.Status) {
	now, set := time.Now(), s.srv.settings().conf
	since := func(at time.Time) int64 {
		if at.IsZero() {
			return -1
		}
		return int64(max(0, now.Sub(at)) / time.Second)
	}
	link := "down"
	if st.Up() {
		link = "up"
	}
	info.Field(t, "role", "slave")
	info.Field(t, "master_host", st.Host)
	info.Field(t, "master_port", st.Port)
	info.Field(t, "master_link_status", link)
	info.Field(t, "master_last_io_seconds_ago", since(st.Heard))
	info.Field(t, "master_sync_in_progress", info.Number(st.State == replica.Syncing))
	info.Field(t, "slave_read_repl_offset", st.Read)
	info.Field(t, "slave_repl_offset", st.Offset)
	if st.State == replica.Syncing {
		left, part := int64(0), 0.0
		if st.SyncTotal > 0 {
			left, part = max(0, st.SyncTotal-st.SyncRead), percent(st.SyncRead, st.SyncTotal)
		}
		info.Field(t, "master_sync_total_bytes", max(0, st.SyncTotal))
		info.Field(t, "master_sync_read_bytes", st.SyncRead)
		info.Field(t, "master_sync_left_bytes", left)
		t.Decimal("master_sync_perc", part, 2, "")
		info.Field(t, "master_sync_last_io_seconds_ago", since(st.Heard))
	}
	if !st.Up() {
		info.Field(t, "master_link_down_since_seconds", since(st.Down))
	}
	if st.Stopped != nil {
		info.Field(t, "vigil_replication_error", oneLine(st.Stopped.Error()))
	}
	if st.Passed > 0 {
		info.Field(t, "vigil_replication_passed", st.Passed)
		info.Field(t, "vigil_replication_last_passed", oneLine(st.LastFailed))
	}
	info.Field(t, "slave_priority", int64(set.ReplicaPriority))
	info.Field(t, "slave_read_only", info.Number(set.ReplicaReadOnly))
	info.Field(t, "replica_announced", info.Number(set.ReplicaAnnounced))
}

// oneLine is a text without the ends of lines, which are those of a field.
func oneLine(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}
