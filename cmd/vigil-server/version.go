package main

import (
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server"
)

// version is the line of --version. Test harnesses look for "v=" in what a
// redis-server prints, so the version of Redis that clients may count on comes
// first, in Redis's form, and vigil's own last.
func version(build *debug.BuildInfo) string {
	commit, dirty := "00000000", 0
	if build != nil {
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 8:
				commit = s.Value[:8]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = 1
			}
		}
	}
	return fmt.Sprintf("vigil-server Redis-compatible v=%s sha=%s:%d malloc=go bits=%d vigil %s",
		commands.RedisVersion, commit, dirty, strconv.IntSize, server.Version)
}
