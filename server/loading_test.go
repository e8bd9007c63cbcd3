package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// newLoadingRig opens a server whose Load the test has yet to call.
func newLoadingRig(t *testing.T, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: newTestClock(), log: &testLog{}}
	o := Options{Config: testConfig(t), InMemory: true, Seed: 1, Clock: r.clock, Log: slog.New(r.log)}
	for _, f := range change {
		f(&o)
	}
	srv, err := Start(o)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	r.srv = srv
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func TestCommandsThatNeedDataAreRefusedWhileLoading(t *testing.T) {
	r := newLoadingRig(t)
	c := r.dial()
	const loading = "(error) LOADING Redis is loading the dataset in memory"
	for _, call := range []string{"PING", "GET k", "SET k v", "DBSIZE", "FLUSHALL", "KEYS *", "SCAN 0", "BLPOP l 0",
		"WATCH k", "SAVE", "BGSAVE", "DEBUG RELOAD", "CONFIG SET appendonly yes"} {
		if got := c.do(strings.Fields(call)...); !strings.HasSuffix(got, strings.TrimPrefix(loading, "(error) ")) {
			t.Errorf("%s: got %s, want %s", call, got, loading)
		}
	}
	c.want("ECHO hi", `"hi"`)
	c.want("SELECT 1", "OK")
	c.want("CLIENT SETNAME me", "OK")
	c.want("CONFIG SET maxmemory 100mb", "OK")
	c.want("UNWATCH", "OK")
	c.want("MULTI", "OK")
	c.want("GET k", loading)
	c.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
	if got := c.do("HELLO", "2"); strings.HasPrefix(got, "(error)") {
		t.Errorf("HELLO: %s", got)
	}
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatalf("Load: %v", err)
	}
	c.quiet()
	c.want("SET k v", "OK")
	c.want("GET k", `"v"`)
}

func TestInfoShowsTheLoading(t *testing.T) {
	r := newLoadingRig(t)
	c := r.dial()
	for range clientRound {
		r.clock.advance(cronPeriod)
	}
	info := c.do("INFO")
	for _, line := range []string{"loading:1", "loading_start_time:", "loading_total_bytes:0", "loading_loaded_bytes:0",
		"loading_loaded_perc:100.00", "loading_eta_seconds:1"} {
		if !strings.Contains(info, line) {
			t.Errorf("no %s in INFO while loading", line)
		}
	}
	r.until("the log tells of the loading", func() bool { return r.log.has("Loading: ") })
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatalf("Load: %v", err)
	}
	if info := c.do("INFO"); !strings.Contains(info, "loading:0") || strings.Contains(info, "loading_start_time") {
		t.Error("INFO shows a loading that is over")
	}
}

func TestShutdownWorksWhileLoading(t *testing.T) {
	r := newLoadingRig(t)
	r.dial().send("SHUTDOWN", "SAVE")
	<-r.srv.ShutdownRequested()
	if err := r.srv.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := r.srv.Load(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("Load after Close: got %v, want %v", err, ErrClosed)
	}
}
