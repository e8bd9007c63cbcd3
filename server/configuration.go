package server

import (
	"cmp"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/tracking"
	"github.com/vigildb/vigil/structures/glob"
)

// configure takes the configuration of the options, or the defaults, and keeps
// the snapshot that commands look at up to date.
func (srv *Server) configure() error {
	if err := srv.opts.check(); err != nil {
		return err
	}
	if srv.config = srv.opts.Config; srv.config == nil {
		srv.config = conf.New()
	}
	if err := srv.config.Add("server.Options", srv.opts.lines()...); err != nil {
		return err
	}
	srv.apply(srv.config.Settings())
	return nil
}

// apply makes a configuration the current one. CONFIG SET calls it for every
// change, one at a time.
func (srv *Server) apply(c *conf.Settings) {
	set := newSettings(c, &srv.opts)
	srv.current.Store(set)
	srv.memory.limit.Store(clientMemoryLimit(c.MaxMemoryClients, cmp.Or(c.MaxMemory, srv.opts.DerivedMaxMemory)))
	if srv.memory.over() {
		srv.memory.evictClients() // before CONFIG SET returns
	}
	srv.logLevel.Store(int32(c.LogLevel))
	for kind, of := range [admin.LogKinds][2]int64{
		admin.SlowCalls:     {c.SlowlogLogSlowerThan * 1000, c.SlowlogMaxLen},
		admin.LargeRequests: {c.LargeRequestBytes, c.LargeRequestMaxLen},
		admin.LargeReplies:  {c.LargeReplyBytes, c.LargeReplyMaxLen},
	} {
		srv.logs[kind].threshold.Store(of[0])
		srv.logs[kind].setLimit(of[1])
	}
	srv.latency.threshold.Store(c.LatencyThreshold)
	srv.importing.Store(c.ImportMode)
	srv.stats.untracked.Store(!c.LatencyTracking)
	srv.tracking.SetLimit(c.TrackingTableMaxKeys)
	srv.tracking.Trim(tracking.Effort)
	if srv.store != nil {
		srv.store.SetSync(set.sync)
		srv.store.Eviction().Set(c.MaxMemory, set.policy, c.MaxMemorySamples)
	}
}

// watchConfig follows CONFIG SET once the store is open.
func (srv *Server) watchConfig() {
	srv.config.Check(srv.secure.change, tlsDirectives...)
	srv.config.Check(srv.sockets.move, "port", "tls-port", "bind")
	srv.config.Check(srv.sockets.changeHTTP, "http-port", "http-bind")
	srv.config.Check(checkMaxClients, "maxclients")
	srv.config.Check(srv.keepThrowAway, "save", "appendonly")
	srv.config.Check(srv.keepFsync, "appendfsync")
	if srv.opts.Group == nil { // else the call that changes it keeps it: see keepSet
		srv.config.Watch(srv.users.setPassword, "requirepass")
	}
	srv.config.Watch(srv.apply)
}

// errThrowAway is the error of a CONFIG SET that asks an in-memory server to keep
// something.
var errThrowAway = errors.New(`the server is in memory only: it was started with save "" and appendonly no`)

// keepThrowAway refuses settings that an in-memory server cannot honor.
func (srv *Server) keepThrowAway(_, new *conf.Settings) error {
	if new.ThrowAway && srv.opts.InMemory && (new.AppendOnly || len(new.Save) > 0) {
		return errThrowAway
	}
	return nil
}

// ConfigGet lists names and values.
func (sh *sharing) ConfigGet(patterns []string) []string {
	sh.await()
	var out []string
	match := func(pattern, name string) bool { return glob.Match([]byte(pattern), []byte(name)) }
	for _, p := range sh.s.srv.config.Get(patterns, match) {
		out = append(out, p.Name, p.Value)
	}
	return out
}

// ConfigSet changes directives, all or none.
func (sh *sharing) ConfigSet(pairs []string) error {
	s := sh.s
	list := make([]conf.Pair, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, conf.Pair{Name: pairs[i], Value: pairs[i+1]})
	}
	caller := conf.Caller{Local: s.local(), Loading: s.srv.loading.Load()}
	var unkept error
	if sh.held {
		caller.Share = s.srv.mayShare()
		caller.Keep = func(shared []conf.Pair) error {
			unkept = sh.keepSet(pairs, shared)
			return unkept
		}
	}
	if err := s.srv.config.Set(caller, list); err != nil && unkept == nil {
		return commands.Errorf("%s", err)
	}
	return unkept
}

// setPassword gives the default user the password of the configuration.
func (u *users) setPassword(c *conf.Settings) {
	if err := u.SetPassword(c.RequirePass, nil); err != nil {
		u.srv.logf(logWarning, "requirepass: %v", err)
	}
}

// ConfigRewrite rewrites the configuration file, with all directives or with those that
// it needs.
func (h host) ConfigRewrite(all bool) error {
	if h.srv.config.File() == "" {
		return commands.ErrNoConfigFile
	}
	rewrite := h.srv.config.Rewrite
	if all {
		rewrite = h.srv.config.RewriteAll
	}
	if err := rewrite(); err != nil {
		h.srv.logf(logWarning, "CONFIG REWRITE: %v", err)
		return err
	}
	h.srv.logf(logNotice, "CONFIG REWRITE executed with success")
	return nil
}

// ConfigResetStat sets the counters to zero.
func (h host) ConfigResetStat() {
	srv, st := h.srv, &h.srv.stats
	st.reset()
	store, loops := srv.store.Counters(), srv.loops.Cycles()
	st.leftBehind.Store(store.LeftBehind)
	st.expiredFields.Store(store.ExpiredFields)
	st.expiryCapped.Store(store.ExpiryCapped)
	st.evictedScripts.Store(srv.scripts.engine.Evicted())
	st.cycles.Store(loops.Count)
	st.busy.Store(int64(loops.Busy))
	srv.rates.reset()
	srv.upkeep.reset(srv.clock.Now())
	srv.users.refusals.ResetCounts()
}

// local reports whether the client is on this machine, which some directives
// ask for.
func (s *session) local() bool {
	return s.Unix || isLoopback(s.Addr)
}
