package server

import (
	"context"
	"path/filepath"

	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/server/backup"
)

// openSnapshots tells snapshots what they need of the server.
func openSnapshots(srv *Server) {
	o := backup.Options{Store: srv.store, Copies: srv.store.Snapshots(), Peers: &srv.peers, Clock: srv.clock, InMemory: srv.opts.InMemory, Membership: host{srv}.Membership,
		Go: srv.workers.Go}
	if srv.opts.Group != nil {
		o.Group = srv.opts.Group
	}
	o.Settings = func() backup.Settings {
		set := srv.settings()
		return backup.Settings{Dir: filepath.Join(set.dir, "snapshots"), Points: set.savePoints, Keep: set.conf.SnapshotKeep}
	}
	o.ID = func() uint64 {
		srv.randMu.Lock()
		defer srv.randMu.Unlock()
		return srv.rand.Uint64()
	}
	o.Logf = srv.report
	srv.snapshots.Open(o)
	srv.cluster = backup.ClusterOf(&srv.snapshots)
}

// Snapshot writes a snapshot, as SAVE does.
func (srv *Server) Snapshot() error { return srv.snapshots.Make(srv.snapshots.Name()) }

// Snapshots lists the complete snapshots, the oldest first.
func (h host) Snapshots() ([]admin.Snapshot, error) {
	found, err := h.srv.snapshots.List()
	list := make([]admin.Snapshot, len(found))
	for i, f := range found {
		list[i] = admin.Snapshot{Name: f.Name, Made: f.Made.Unix(), Bytes: f.Bytes, Automatic: backup.Automatic(f.Name)}
	}
	return list, err
}

// CreateSnapshot makes a snapshot; without a name it gets the time.
func (h host) CreateSnapshot(name string) (string, error) { return h.srv.snapshots.Create(name) }

// DeleteSnapshot removes a snapshot, an automatic one too.
func (h host) DeleteSnapshot(name string) error { return h.srv.snapshots.Delete(name) }

// Save makes a snapshot; in the background it returns at once.
func (h host) Save(background bool) error { return h.srv.snapshots.Save(background) }

// Saving reports whether a snapshot is made in the background.
func (h host) Saving() bool { return h.srv.snapshots.Status().Running }

// LastSave is the time of the last snapshot, in unix seconds.
func (h host) LastSave() int64 { return h.srv.snapshots.Status().Last }

// CreateClusterSnapshot implements [members.ClusterSnapshots], as do the methods below.
func (h host) CreateClusterSnapshot(ctx context.Context, name string) (s *members.ClusterSnapshot, err error) {
	h.srv.computes.Abroad(func() { s, err = h.srv.cluster.Create(ctx, name) })
	return s, err
}

// ClusterSnapshots lists the snapshots of the cluster that some server has a part of.
func (h host) ClusterSnapshots(ctx context.Context) (all []*members.ClusterSnapshot, silent []string, err error) {
	h.srv.computes.Abroad(func() { all, silent, err = h.srv.cluster.List(ctx) })
	return all, silent, err
}

// DeleteClusterSnapshot removes the parts of all snapshots of the cluster with a name.
func (h host) DeleteClusterSnapshot(ctx context.Context, name string) (parts int, err error) {
	h.srv.computes.Abroad(func() { parts, err = h.srv.cluster.Delete(ctx, name) })
	return parts, err
}
