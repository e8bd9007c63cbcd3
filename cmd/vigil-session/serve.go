package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/service"
)

// serve runs the microservice until ctx ends.
func (o options) serve(ctx context.Context, stderr io.Writer) error {
	quietClient(o.log)
	var file *config.File
	c := config.Default()
	if o.config != "" {
		file = config.NewFile(o.config)
		var err error
		if c, _, err = file.Load(time.Now()); err != nil {
			return err
		}
	}
	c, err := o.override(c, time.Now())
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	rdb := redis.NewClient(service.ClientOptions(o.store, c.Limits.Workers))
	defer rdb.Close()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := service.New(rdb, c, service.Options{Glob: o.glob, Log: o.log, Metrics: reg})

	beside, end := context.WithCancel(context.WithoutCancel(ctx))
	var others sync.WaitGroup
	defer others.Wait()
	defer end()
	if o.http != "" {
		l, err := net.Listen("tcp", o.http)
		if err != nil {
			return fmt.Errorf("-http: %w", err)
		}
		o.log.Info("metrics and health", "address", "http://"+l.Addr().String())
		others.Go(func() { serveHTTP(beside, l, s, reg, stderr) })
	}
	if file != nil {
		others.Go(func() { o.reload(beside, file, s) })
	}
	err = s.Run(ctx)
	if err == nil {
		o.log.Info("stopped")
	}
	return err
}

// settle is how long a file must have been left alone before it is read: an
// editor that empties a file before it writes it is not to be overtaken.
const settle = 50 * time.Millisecond

// reload reads the file on SIGHUP and when it changes, until ctx ends.
func (o options) reload(ctx context.Context, file *config.File, s *service.Service) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	changed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		if err := config.Watch(ctx, o.config, changed); err != nil {
			o.log.Warn("changes of the configuration are not noticed; SIGHUP still reloads it", "error", err)
		}
	})
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			settled = time.After(settle)
		case <-settled:
			settled = nil
			o.reloadOnce(file, s, false)
		case <-hangups:
			o.reloadOnce(file, s, true)
		}
	}
}

// reloadOnce takes what the file says now, or keeps what there is. asked makes
// it tell that nothing changed.
func (o options) reloadOnce(file *config.File, s *service.Service, asked bool) {
	c, changed, err := file.Load(time.Now())
	if err == nil && changed {
		c, err = o.override(c, time.Now())
	}
	switch {
	case err != nil:
		s.Refuse()
		o.log.Error("configuration refused; the old one stays", "error", err)
	case changed:
		if kept := s.Reload(c); len(kept) > 0 {
			o.log.Warn("some settings need a restart", "settings", kept)
		}
		o.log.Info("configuration reloaded", "file", o.config)
	case asked:
		o.log.Info("configuration has not changed", "file", o.config)
	}
}

// serveHTTP serves metrics and health until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, s *service.Service, reg *prometheus.Registry, stderr io.Writer) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Ready() {
			http.Error(w, "not subscribed", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(stderr, "vigil-session: -http: %v\n", err)
	}
}
