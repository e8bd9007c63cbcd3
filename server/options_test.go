package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/conf"
)

func TestOptionsAreDirectives(t *testing.T) {
	config, err := conf.Load([]string{"--maxmemory", "1mb", "--databases", "3", "--save", "900 1", "--maxmemory-samples", "7"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *Options) {
		*o = Options{Config: config, InMemory: true, Clock: o.Clock, Log: o.Log, MaxMemory: 5 << 20, Policy: AllKeysLFU, Sync: SyncAlways, Databases: 4,
			Password: `a "b" c`, Directives: []string{"maxmemory 2mb", "notify-keyspace-events KEA", "save 60 5", "# a comment", ""}}
	})
	c := r.dial()
	c.do("AUTH", `a "b" c`)
	for name, want := range map[string]string{"maxmemory": "5242880", "maxmemory-policy": "allkeys-lfu", "appendfsync": "always", "databases": "4",
		"requirepass": `a "b" c`, "notify-keyspace-events": "AKE", "save": "900 1 60 5", "maxmemory-samples": "7"} {
		if got := c.do("CONFIG", "GET", name); got != fmt.Sprintf("[%q %q]", name, want) {
			t.Errorf("%s is %s, want %q", name, got, want)
		}
	}
	c.do("CONFIG", "SET", "maxmemory", "3mb") // nothing says so for good
	if got := r.srv.settings().conf.MaxMemory; got != 3<<20 {
		t.Errorf("maxmemory is %d after CONFIG SET", got)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	for want, o := range map[string]Options{
		"server.Options, line 1: 'maxmemory-policy \"some\"': ":           {Policy: "some"},
		"server.Options, line 1: 'appendfsync \"sometimes\"': ":           {Sync: "sometimes"},
		"server.Options, line 1: 'databases \"-1\"': ":                    {Databases: -1},
		"server: Options.MaxMemory is -5, less than 0":                    {MaxMemory: -5},
		"server: Options.TLS has no certificate":                          {TLS: &tls.Config{}},
		"server.Options, line 2: 'maxmemry 1': Bad directive":             {Directives: []string{"hz 10", "maxmemry 1"}},
		"server.Options, line 1: 'requirepass (redacted)': ":              {Directives: []string{"requirepass a b"}},
		"server.Options, line 1: 'loadmodule x.so': vigil does not load ": {Directives: []string{"loadmodule x.so"}},
	} {
		o.InMemory = true
		srv, err := Open(t.Context(), o)
		if err == nil {
			srv.Close(context.Background())
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestOptionsEncrypt tries the certificates of a program.
func TestOptionsEncrypt(t *testing.T) {
	a := newAuthority(t)
	a.make("server", nil)
	r := newRig(t, func(o *Options) { o.TLS = &tls.Config{Certificates: a.pair("server")} })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.srv.ServeTLS(l) }()
	nc, err := handshake(l.Addr().String(), &tls.Config{RootCAs: a.pool()})
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	c := r.dial()
	if got := c.do("CONFIG", "SET", "tls-cert-file", "other.crt"); !strings.Contains(got, "has given it the certificates") {
		t.Errorf("CONFIG SET tls-cert-file: %s", got)
	}
	if err := r.srv.ReloadTLS(); err != nil {
		t.Errorf("ReloadTLS: %v", err)
	}
	if nc, err = handshake(l.Addr().String(), &tls.Config{RootCAs: a.pool()}); err != nil {
		t.Fatalf("after the changes: %v", err)
	}
	nc.Close()
	if err := r.srv.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, ErrClosed) {
		t.Errorf("ServeTLS returned %v", err)
	}
}

func TestOpenGivesUp(t *testing.T) {
	dir, over := t.TempDir(), errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, over) {
		t.Errorf("Open returned %v", err)
	}
	srv, err := Start(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Load(ctx); !errors.Is(err, over) {
		t.Errorf("Load returned %v", err)
	}
	if err := srv.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if srv, err = Open(t.Context(), Options{Dir: dir}); err != nil { // nothing is in the way
		t.Fatal(err)
	}
	if err := srv.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseReturnsWhenItsContextEnds(t *testing.T) {
	r := newRig(t)
	free := make(chan struct{})
	r.srv.workers.Go(func() { <-free }) // what takes its time
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := r.srv.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close returned %v", err)
	}
	if _, err := r.srv.Dial(); !errors.Is(err, ErrClosed) {
		t.Errorf("Dial returned %v while the server is closed", err)
	}
	ends := make(chan error)
	for range 2 {
		go func() { ends <- r.srv.Close(context.Background()) }()
	}
	select {
	case err := <-ends:
		t.Errorf("Close returned %v, and a worker goes on", err)
	default:
	}
	close(free)
	for range 2 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}
