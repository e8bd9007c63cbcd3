package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/conf"
)

// certificates tells when the files of TLS have changed, as often as tls-auto-reload-interval says.
type certificates struct {
	ticker *time.Ticker
	next   time.Time // when they are to be looked at
	seen   string    // what they were; "" if they could not be used
}

// watchCertificates begins with the files that are in use.
func watchCertificates(set *conf.Settings) *certificates {
	return &certificates{ticker: time.NewTicker(time.Second), seen: stampFiles(set)}
}

func (c *certificates) stop() { c.ticker.Stop() }

// ticks is when changed is to be asked.
func (c *certificates) ticks() <-chan time.Time { return c.ticker.C }

// changed reports whether the files are others than when they were last read. The caller reads them, and calls done.
func (c *certificates) changed(set *conf.Settings, now time.Time) bool {
	if set.TLSAutoReload == 0 || now.Before(c.next) {
		return false
	}
	c.next = now.Add(set.TLSAutoReload)
	before := c.seen
	c.seen = stampFiles(set) // before they are read: what changes meanwhile is seen the next time
	return c.seen != before
}

// done says whether they could be used. If not, they are read again even if they do not change.
func (c *certificates) done(used bool) {
	if !used {
		c.seen = ""
	}
}

// stampFiles describes the files of TLS by their times and sizes: a file that is replaced has others.
func stampFiles(set *conf.Settings) string {
	files := []string{set.TLSCertFile, set.TLSKeyFile, set.TLSCACertFile, set.TLSClientCertFile, set.TLSClientKeyFile}
	if set.TLSCACertDir != "" {
		more, _ := filepath.Glob(filepath.Join(set.TLSCACertDir, "*")) // it fails for a bad pattern only
		files = append(append(files, set.TLSCACertDir), more...)
	}
	var b strings.Builder
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(&b, path, info.ModTime().UnixNano(), info.Size())
		} else {
			fmt.Fprintln(&b, path)
		}
	}
	return b.String()
}
