package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
)

// waiting bounds the pages that wait for the microservice at once.
const waiting = 256

func main() {
	listen := flag.String("listen", "localhost:8080", "`HOST:PORT` to serve on")
	addr := flag.String("addr", "localhost:6379", "`HOST:PORT` of vigil")
	budget := flag.Duration("budget", 0, "how long a page waits for the microservice (default 100ms)")
	proxied := flag.Bool("proxied", false, "visitors come by https through a proxy, which sets X-Forwarded-For")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, *listen, *addr, options{Budget: *budget, Proxied: *proxied, Log: log}); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and finishes then what visitors have asked for.
func run(ctx context.Context, listen, addr string, o options) (err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	o.Redis = redis.NewClient(storeOptions(addr))
	asking := storeOptions(addr)
	asking.ReadTimeout += o.Budget // or the answer to a page that waits would count as late
	o.Asking = redis.NewClient(webtier.Pool(asking, waiting))
	defer func() { err = errors.Join(err, o.Redis.Close(), o.Asking.Close()) }()
	s, err := newShop(o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := s.notices.begin(ctx); err != nil {
		o.Log.Warn("cannot put the first notifications up", "err", err)
	}
	srv := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // ends with Shutdown
	o.Log.Info("serving", "address", "http://"+l.Addr().String())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return srv.Shutdown(patient)
}

// storeOptions are those of a page that would rather say that the store is away
// than keep its visitor waiting.
func storeOptions(addr string) *redis.Options {
	return &redis.Options{Addr: addr, DialTimeout: time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second,
		ContextTimeoutEnabled: true, MaxRetries: 1, DialerRetries: 1}
}
