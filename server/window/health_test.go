package window

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/server/internal/report"
)

func TestHealthWaitsForTheData(t *testing.T) {
	r := startRig(t, func(*server.Options) {})
	if status, body := r.ask(request("/healthz")); status != http.StatusServiceUnavailable || body != "loading the data\n" {
		t.Errorf("while loading: %d %q", status, body)
	}
	families := parse(t, r.get("/metrics"))
	if value(families, "redis_loading_dump_file") != 1 || value(families, "redis_up") != 1 || value(families, "vigil_healthy") != 0 {
		t.Errorf("metrics while loading: loading %v, up %v, healthy %v, want 1, 1, 0", value(families, "redis_loading_dump_file"),
			value(families, "redis_up"), value(families, "vigil_healthy"))
	}
	for _, path := range []string{"/", "/keys", "/clients", "/slowlog", "/schedules", "/schedules?db=0&key=k", "/placement"} {
		wants(t, path+" while loading", r.get(path), "loading, ")
	}
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if status, body := r.ask(request("/healthz")); status != http.StatusOK || body != "ok\n" {
		t.Errorf("after the load: %d %q", status, body)
	}
	wants(t, "the page after the load", r.get("/"), "takes reads and writes")
}

// failingDisk fails every write while broken is set.
type failingDisk struct{ broken atomic.Bool }

func (d *failingDisk) String() string { return "failing disk" }

func (d *failingDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFilePreallocate:
		if d.broken.Load() {
			return syscall.ENOSPC
		}
	}
	return nil
}

func TestHealthTellsOfAFailedDisk(t *testing.T) {
	d := &failingDisk{}
	r := newRigOn(t, func(o *server.Options) {
		o.InMemory = false
		mem := vfs.NewMem()
		o.Store = func(s *persistence.Options) { s.FS, s.Dir = errorfs.Wrap(mem, d), "db" }
	}, "--appendfsync", "always", "--requirepass", "pw")
	login := as("default", "pw")
	r.must("AUTH pw")
	r.must("SET k v")
	d.broken.Store(true)
	r.client.Ask(answerTime, 0, call{"SET", "k", "w"}) // its reply, if any, is lost with the disk
	poll(t, "the server knows of its disk", func() bool { return r.srv.Health() != nil })
	status, body := r.ask(request("/healthz", login))
	if status != http.StatusServiceUnavailable || !strings.HasPrefix(body, "writes are refused: the disk fails: ") {
		t.Errorf("with the password: %d %q", status, body)
	}
	if status, body = r.ask(request("/healthz")); status != http.StatusServiceUnavailable || body != "writes are refused: the disk fails\n" {
		t.Errorf("without: %d %q", status, body)
	}
	r.later(report.FiguresAge)
	if status, body = r.ask(request("/", login)); status != http.StatusOK || !strings.Contains(body, "writes are refused: the disk fails: ") {
		t.Errorf("the page: %d %s", status, body)
	}
	r.later(report.FiguresAge)
	_, body = r.ask(request("/metrics", login))
	families := parse(t, body)
	if value(families, "vigil_healthy") != 0 || value(families, "redis_aof_last_write_status") != 0 || value(families, "redis_up") != 1 {
		t.Errorf("the metrics: %s", body)
	}
	d.broken.Store(false)
	poll(t, "the disk is written again", func() bool { status, _ := r.ask(request("/healthz")); return status == http.StatusOK })
}
