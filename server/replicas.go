package server

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/source"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdbfile"
)

// fillBytes is how much a replica is given at a time.
const fillBytes = 128 << 10

// openSource makes the source of servers that follow this one.
func (srv *Server) openSource() {
	srv.source = source.New(srv.runID, source.Options{
		Store:    feedStore{srv},
		Settings: func() *source.Settings { return &srv.settings().source },
		Now:      srv.clock.Now,
		Done:     srv.done,
		Commits:  srv.opts.Group != nil,
		Grew:     func() { srv.blocked.Poll() },
		Go:       func(f func()) { srv.workers.Go(f) },
		NewID:    func() string { return host{srv}.RandomHex(40) },
		Logf:     func(format string, args ...any) { srv.logf(logNotice, format, args...) },
	})
	if srv.opts.Group == nil {
		srv.workers.Go(func() { srv.blocked.RunPolls(srv.done.Done()) })
	}
}

// sourceSettings are the settings of the source.
func sourceSettings(c *conf.Settings, dir string) source.Settings {
	limit := c.OutputLimits[conf.ReplicaClient]
	return source.Settings{
		Backlog: c.ReplBacklogSize, BacklogTTL: c.ReplBacklogTTL, Timeout: c.ReplTimeout,
		Ping: c.ReplPingPeriod, Delay: c.ReplSyncDelay, Dir: dir,
		Hard: limit.Hard, Soft: limit.Soft, SoftFor: time.Duration(limit.SoftSeconds) * time.Second,
	}
}

// feedStore is the store as the source sees it.
type feedStore struct{ srv *Server }

// StartFeed begins a feed.
func (f feedStore) StartFeed(to persistence.Feed) (uint64, error) {
	return f.srv.store.StartFeed(to, persistence.FeedOptions{Modules: f.srv.settings().conf.ReplModules})
}

// StopFeed ends it.
func (f feedStore) StopFeed() { f.srv.store.StopFeed() }

// AwaitRecord waits for a commit.
func (f feedStore) AwaitRecord(lsn uint64) error { return f.srv.store.Commits().AwaitRecord(lsn) }

// Cut makes a copy that nothing changes any more.
func (f feedStore) Cut() (source.Cut, error) {
	frozen, err := f.srv.store.Freeze()
	if err != nil {
		return nil, err
	}
	return cut{Frozen: frozen, srv: f.srv}, nil
}

// cut is a frozen copy as a replica gets it.
type cut struct {
	*persistence.Frozen
	srv *Server
}

// Write writes it as an RDB file.
func (c cut) Write(ctx context.Context, out io.Writer, f source.Format) error {
	target, ok := rdbfile.TargetNamed(f.For)
	if !ok {
		return fmt.Errorf("%w %q", errExportTarget, f.For)
	}
	// What expires meanwhile stays: commands that come before its deletion may be about it.
	const now = 0
	buffered := bufio.NewWriterSize(out, fillBytes)
	w := c.srv.rdbWriter(buffered, target, now, c.srv.settings().conf.ReplModules)
	w.Aux("ctime", fmt.Sprint(c.srv.clock.Now().Unix()))
	w.Aux("repl-stream-db", "0")
	w.Aux("repl-id", f.ID)
	w.Aux("repl-offset", fmt.Sprint(f.Offset))
	if f.Filter != source.Nothing {
		writeLibraries(w, c.Frozen)
	}
	left := map[rdbfile.Outcome]int{}
	if f.Filter == source.Everything {
		err := writeDatabases(ctx, w, c.Frozen, now, func(_ int, key []byte, v structures.Value, text []byte, expire int64) error {
			outcome, err := w.Key(key, v, text, expire)
			left[outcome]++
			return err
		})
		if err != nil {
			return err
		}
	}
	if n := left[rdbfile.NoType]; n > 0 {
		c.srv.logf(logWarning, "replication: replicas do not get %d keys of types that they have not, see repl-modules", n)
	}
	return errors.Join(w.Close(), buffered.Flush())
}

// replicaLink is the connection of a client that is a replica, or says that it is to be one.
type replicaLink struct {
	s    *session
	link *source.Replica // nil unless the client has said that it is one
}

// replica is the replica that the client is, which is made when it first says that it is one.
func (r *replicaLink) replica() *source.Replica {
	s := r.s
	if r.link == nil {
		host, _, err := net.SplitHostPort(s.Addr)
		if err != nil {
			host = s.Addr
		}
		r.link = s.srv.source.NewReplica(host, s.output.Kick, func(string) {
			s.Set(commands.ClientCloseSoon)
			s.conn.HangUp()
		})
	}
	return r.link
}

// ReplicaHello takes what the client says of itself.
func (r *replicaLink) ReplicaHello(h *admin.ReplicaHello) {
	hello := source.Hello{Port: h.Port, IP: h.IP, Capa: h.Capa, Version: h.Version, RDBOnly: h.RDBOnly}
	if h.Filter != nil {
		f := source.Filter(*h.Filter)
		hello.Filter = &f
	}
	r.replica().Greet(hello)
}

// ReplicaSync makes the client a replica.
func (r *replicaLink) ReplicaSync(stream string, offset int64, old bool) error {
	s := r.s
	switch {
	case s.Has(commands.ClientReplica):
		return nil // as in Redis, which does not reply either
	case !s.srv.leads():
		return commands.ErrFollowerNotASource
	case s.began > 0 || s.conn.Unsent() > 0 || s.output.size() > 0:
		return commands.ErrSyncPending
	case !r.replica().Complete():
		return commands.ErrSyncFiltered
	}
	s.Set(commands.ClientReplica)
	s.srv.logf(logNotice, "replication: client %d, %s, asks for synchronization", s.ID, s.Addr)
	r.link.Sync(strings.ToLower(stream), offset, old)
	return nil
}

// ReplicaAck takes what the client has.
func (r *replicaLink) ReplicaAck(offset, synced int64) {
	if r.s.Has(commands.ClientReplica) {
		r.link.Ack(offset, synced)
		r.s.srv.blocked.Poll()
	}
}

// fill adds what the client, a replica, is to get to its replies, if the connection has room.
func (r *replicaLink) fill() {
	s := r.s
	if s.conn.Unsent() > 0 || s.closing {
		return
	}
	b, more, over := r.link.Fill(nil, fillBytes)
	s.ctx.Reply.Raw(b)
	s.closing = over
	if more && !over {
		s.output.Kick()
	}
}

// rogue closes a replica whose call has a reply, for which its stream has no place.
func (r *replicaLink) rogue(argv [][]byte) {
	s := r.s
	s.srv.logf(logWarning, "closing client %d: a replica has sent %.40q, to which there is a reply", s.ID, argv[0])
	s.ctx.Reply.Rewind(s.began)
	s.closing = true
}

// Replicas are the replicas that ROLE shows: those whose port is known.
func (h host) Replicas() (offset int64, all []admin.Replica) {
	rep := h.srv.source.Report()
	for _, r := range rep.Replicas {
		if r.State == "online" {
			all = append(all, admin.Replica{Host: r.IP, Port: r.Port, Offset: r.Offset})
		}
	}
	slices.SortFunc(all, func(a, b admin.Replica) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return rep.Offset, all
}

// copies counts the replicas that have what the client has written by now. They are asked.
func (r *replicaLink) copies(durable bool) func() int {
	src, offset := r.s.srv.source, int64(0)
	if r.s.durability.last() > 0 {
		offset = src.Offset()
	}
	src.Ask()
	return func() int { return src.Copies(offset, durable) }
}

// lonely is the error of writes if too few replicas confirm what they have.
func (srv *Server) lonely() error {
	c := srv.settings().conf
	if c.MinReplicas == 0 || c.MinReplicasMaxLag == 0 {
		return nil
	}
	good := 0
	if m := (host{srv}).Membership(); m != nil {
		m.Others(m.Self, func(_ int, o *commands.Member) {
			if o.Active {
				good++
			}
		})
	} else {
		good = srv.source.Good(c.MinReplicasMaxLag)
	}
	if good < c.MinReplicas {
		return commands.ErrNoReplicas
	}
	return nil
}

// infoReplicas shows the replicas of a server that is in no group.
func infoReplicas(t *info.Text, s *session, rep *source.Report) {
	info.Field(t, "connected_slaves", len(rep.Replicas))
	if c := s.srv.settings().conf; c.MinReplicas > 0 && c.MinReplicasMaxLag > 0 {
		info.Field(t, "min_slaves_good_slaves", s.srv.source.Good(c.MinReplicasMaxLag))
	}
	infoEachReplica(t, "slave", rep)
}

// infoOutsiders shows the replicas of a leader, which are no members of the group, and the stream that they get.
func infoOutsiders(t *info.Text, rep *source.Report) {
	info.Field(t, "vigil_replicas", len(rep.Replicas))
	if rep.Active {
		info.Field(t, "vigil_stream_id", rep.ID)
		info.Field(t, "vigil_stream_offset", rep.Offset)
	}
	infoEachReplica(t, "vigil_replica", rep)
}

func infoEachReplica(t *info.Text, name string, rep *source.Report) {
	slices.SortFunc(rep.Replicas, func(a, b source.ReplicaReport) int {
		return cmp.Or(strings.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
	})
	for i, r := range rep.Replicas {
		info.Field(t, fmt.Sprint(name, i), fmt.Sprintf("ip=%s,port=%d,state=%s,offset=%d,lag=%d", r.IP, r.Port, r.State, r.Offset, int64(r.Lag/time.Second)))
	}
}
