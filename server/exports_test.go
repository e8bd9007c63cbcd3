package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exported runs an export by command and waits for its end, whose status it returns.
func (r *rig) exported(c *testClient, args ...string) string {
	r.t.Helper()
	if got := c.do(append([]string{"VIGIL.EXPORT", "PATH"}, args...)...); got != "OK" {
		return got
	}
	r.until("the export ends", func() bool { return !strings.Contains(c.do("VIGIL.EXPORT", "STATUS"), `"running"`) })
	return c.do("VIGIL.EXPORT", "STATUS")
}

// What one server exports another one imports; what the target has no form for is left out, or an error.
func TestExportIsWhatAnImportReads(t *testing.T) {
	for _, durable := range []bool{false, true} {
		r, dir := importRig(t, nil, func(o *Options) {
			if durable {
				onDisk(t.TempDir())(o)
			}
		})
		c := r.dial()
		for _, call := range []string{"SET s v", "SET e v PXAT 4102444800000", "RPUSH l a b", "SADD set a 1", "ZADD z 1.5 a", "HSET h f v g w",
			"HPEXPIREAT h 4102444800000 FIELDS 1 f", "XADD x 1-1 f v", "XGROUP CREATE x g 0", "BF.ADD filter a", "SELECT 3", "SET other v", "SELECT 0"} {
			if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
				t.Fatalf("%s: %s", call, got)
			}
		}
		c.do("FUNCTION", "LOAD", library)
		if got := r.exported(c, "new.rdb", "FOR", "redis7.4"); !strings.Contains(got, `"keys" (int) 8`) || !strings.Contains(got, "skipped: 1 Bloom filters") {
			t.Error(got)
		}
		if got := r.exported(c, "old.rdb", "FOR", "redis7.0", "MODULES"); !strings.Contains(got, `"keys" (int) 9`) || !strings.Contains(got, "1 hashes lost the expiries") {
			t.Error(got)
		}
		if got := r.exported(c, "strict.rdb", "FOR", "redis7.4", "STRICT"); !strings.Contains(got, `"failed"`) || !strings.Contains(got, "Bloom filters, which redis7.4 does not have") {
			t.Error(got)
		}
		if got := r.exported(c, "new.rdb", "FOR", "valkey9"); !strings.Contains(got, "file already exists") {
			t.Error(got)
		}
		if got := r.exported(c, "x.rdb", "FOR", "redis6"); !strings.Contains(got, "unknown target") {
			t.Error(got)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 2 {
			t.Errorf("files %v, %v", names, err)
		}
		for file, filters := range map[string]string{"new.rdb": "(int) 0", "old.rdb": "(int) 1"} {
			other := newRig(t)
			if _, err := other.srv.Import(context.Background(), ImportOptions{Path: filepath.Join(dir, file)}, nil); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			d := other.dial()
			for _, same := range []string{"GET s", "PEXPIRETIME e", "LRANGE l 0 -1", "SISMEMBER set 1", "ZRANGE z 0 -1 WITHSCORES", "HGET h f", "XRANGE x - +",
				"XINFO GROUPS x", "FCALL knock 0"} {
				if got, want := d.do(strings.Fields(same)...), c.do(strings.Fields(same)...); got != want {
					t.Errorf("%s: %s: got %s, want %s", file, same, got, want)
				}
			}
			d.want("EXISTS filter", filters)
			if file == "new.rdb" {
				d.want("HPEXPIRETIME h FIELDS 1 f", "[(int) 4102444800000]")
			}
			d.want("SELECT 3", "OK")
			d.want("GET other", `"v"`)
		}
		if _, err := os.Stat(filepath.Join(r.srv.settings().dir, "frozen")); !os.IsNotExist(err) && durable {
			t.Errorf("a copy is left: %v", err)
		}
		c.want("VIGIL.EXPORT STOP", "(error) ERR no export is under way")
	}
}
