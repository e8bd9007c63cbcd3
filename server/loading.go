package server

import (
	"context"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/info"
)

// Load reads what the store holds, once. Until it returns nil, clients get
// -LOADING for every command that needs data. The error is ErrClosed if Close
// ended it, the cause if ctx did, else the store's; only Close may follow any of them.
func (srv *Server) Load(ctx context.Context) error {
	srv.mu.Lock()
	if srv.closed {
		srv.mu.Unlock()
		return ErrClosed
	}
	srv.workers.Add(1)
	srv.mu.Unlock()
	defer srv.workers.Done()
	began := srv.clock.Now()
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(srv.done, cancel)()
	if err := srv.store.Load(loading); err != nil {
		switch {
		case srv.done.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		return err
	}
	srv.scripts.loadLibraries()
	srv.users.recall()
	srv.recallConfiguration()
	srv.resharding.Moves.Note(srv.store.Texts(persistence.Moves), nil)
	srv.users.report()
	srv.reportConfiguration()
	if err := srv.join(); err != nil {
		return err
	}
	if err := srv.following.open(); err != nil {
		return err
	}
	srv.loading.Store(false)
	srv.logf(logNotice, "DB loaded from disk: %.3f seconds", srv.clock.Since(began).Seconds())
	return nil
}

// checkLoading refuses commands that need data while the data is loaded. Redis
// allows WATCH, but here it would have to wait for its keys.
func (a *admission) checkLoading(cmd *commands.Command) error {
	if !a.s.srv.loading.Load() {
		return nil
	}
	if !cmd.Is(commands.Loading) || a.unknownAdmin(cmd) || cmd.Is(commands.Keyspace) || len(cmd.Keys) > 0 {
		return commands.ErrLoading
	}
	return nil
}

// unknownAdmin reports that a call is for administrators of the group, whom the data
// names.
func (a *admission) unknownAdmin(cmd *commands.Command) bool {
	return a.s.srv.opts.Group != nil && cmd.Is(commands.Admin) && !a.s.access.observer
}

// reportLoading logs the progress of Load. The cron calls it once a second.
func (srv *Server) reportLoading() {
	loaded, total := srv.store.Progress().Bytes()
	srv.logf(logNotice, "Loading: %s of %s, %.0f%%", info.AppendHuman(nil, loaded), info.AppendHuman(nil, total), percent(loaded, total))
}

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 100
	}
	return float64(part) / float64(whole) * 100
}

// infoLoading shows the progress of Load.
func infoLoading(t *info.Text, s *session) {
	loaded, total := s.srv.store.Progress().Bytes()
	eta := int64(1)
	if loaded > 0 {
		elapsed := s.srv.clock.Now().UnixMilli() - s.srv.started
		eta = int64(float64(elapsed) / 1000 * float64(total-loaded) / float64(loaded))
	}
	info.Field(t, "loading_start_time", s.srv.started/1000)
	info.Field(t, "loading_total_bytes", total)
	info.Field(t, "loading_rdb_used_mem", 0)
	info.Field(t, "loading_loaded_bytes", loaded)
	t.Decimal("loading_loaded_perc", percent(loaded, total), 2, "")
	info.Field(t, "loading_eta_seconds", eta)
}
