package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/conf"
)

// A line has the form and shows the time that are configured.
func TestLinesOfTheLogHaveTheirForm(t *testing.T) {
	at := time.Date(2026, 11, 27, 8, 9, 10, 11e6, time.FixedZone("", 3600))
	for _, x := range []struct {
		set  conf.Settings
		want string
	}{
		{conf.Settings{}, "PID:M 27 Nov 2026 08:09:10.011 # a \"text\"\n"},
		{conf.Settings{LogTime: conf.LogTimeISO}, "PID:M 2026-11-27T08:09:10.011+01:00 # a \"text\"\n"},
		{conf.Settings{LogFormat: conf.LogFmt, LogTime: conf.LogTimeMillis},
			"pid=PID role=primary timestamp=\"1795763350011\" level=warning message=\"a \\\"text\\\"\"\n"},
		{conf.Settings{LogFormat: conf.LogJSON},
			"{\"pid\":PID,\"role\":\"primary\",\"timestamp\":\"27 Nov 2026 08:09:10.011\",\"level\":\"warning\",\"message\":\"a \\\"text\\\"\"}\n"},
	} {
		h := &logHandler{style: func() *conf.Settings { return &x.set }}
		r := slog.NewRecord(at, slog.LevelWarn, "a \"text\"", 0)
		if got, want := string(h.line(&r)), strings.Replace(x.want, "PID", fmt.Sprint(os.Getpid()), 1); got != want {
			t.Errorf("%v: got %q, want %q", x.set.LogFormat, got, want)
		}
	}
}
