package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// newcomer is somebody who starts the server for the first time, without a word of how.
type newcomer bool

// meet reports whether a server without arguments is to begin a store in dir. A folder that cannot be read is not new: the start
// says what is wrong with it.
func meet(args []string, dir string) newcomer {
	if len(args) > 0 {
		return false
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "marker.manifest.") { // of Pebble, before anything is stored
			return false
		}
	}
	return newcomer(err == nil)
}

// greet says what to do next.
func (n newcomer) greet(dir string, addrs []net.Addr, log *slog.Logger) {
	if !n {
		return
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	port := "6379"
	if _, p, err := net.SplitHostPort(addrs[0].String()); err == nil {
		port = p
	}
	for _, line := range []string{
		fmt.Sprintf("This is the first start here. The data is in %s and stays there; --dir DIR is for another place", dir),
		fmt.Sprintf("To connect: redis-cli -p %s, or any client of Redis at 127.0.0.1:%s; from other machines with --bind and --requirepass", port, port),
		"To stop: Ctrl-C, or SHUTDOWN in redis-cli. What was acknowledged is there at the next start, and after kill -9 too",
		"To see if this machine suits: vigil-server --doctor. All options: vigil-server --help, man vigil-server",
		"To read on: docs/README.md of github.com/vigildb/vigil says where to begin",
	} {
		log.Info(line)
	}
}
