package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/conf"
)

func TestChangedCertificatesAreReadAgainOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cert.pem")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	set := &conf.Settings{TLSCertFile: path, TLSAutoReload: 10 * time.Second}
	c := watchCertificates(set)
	defer c.stop()
	now := time.Unix(1000, 0)
	for i, step := range []struct {
		do    func()
		after time.Duration
		want  bool
	}{
		{func() {}, 0, false},
		{func() { write("another") }, 9 * time.Second, false}, // it is not yet time
		{func() {}, time.Second, true},
		{func() { c.done(true) }, 10 * time.Second, false},
		{func() { os.Remove(path) }, 10 * time.Second, true},
		{func() { c.done(false) }, 10 * time.Second, true}, // they could not be used
		{func() { c.done(false); set.TLSAutoReload = 0 }, time.Hour, false},
	} {
		step.do()
		now = now.Add(step.after)
		if got := c.changed(set, now); got != step.want {
			t.Errorf("step %d: changed is %v", i+1, got)
		}
	}
}
