// Command vigil-server is the server.
//
//	vigil-server [file] [--directive value ...]
//	vigil-server --check --dir DIR
//	vigil-server --restore SNAPSHOT --dir NEW
//
// Directives are those of redis.conf; docs/configuration.md lists them. Exit
// status of the server: 0 after SIGTERM, SIGINT or SHUTDOWN, with everything acknowledged on
// disk; 1 if the server could not start or could not close its store; 130 if a
// second signal cut the end short. That of --check and --restore: 0 if all is
// sound, 1 if there is damage, 2 if the work could not be done.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		status := &exitStatus{1, err}
		errors.As(err, &status)
		var bad *conf.LoadError
		if errors.As(err, &bad) {
			fmt.Fprint(os.Stderr, bad.Report())
		} else if status.err != nil {
			fmt.Fprintln(os.Stderr, "vigil-server:", status.err)
		}
		os.Exit(status.code)
	}
}

const usage = `usage: vigil-server [file] [--directive value ...]
       vigil-server - (read directives from standard input)
       vigil-server --check --dir DIR            (read a store, which nobody has open, or a snapshot)
       vigil-server --restore SNAPSHOT --dir NEW (make a new store of a snapshot)
       vigil-server --recover truncate ...       (start without what a damaged log holds behind the damage)
       vigil-server --version | --help

  vigil-server --port 6379 --dir /var/lib/vigil
  vigil-server /etc/vigil.conf --appendfsync always

Directives are those of redis.conf.
`

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case "-v", "--version":
			fmt.Fprintln(stdout, "vigil-server", server.Version)
			return nil
		case "-h", "--help":
			fmt.Fprint(stdout, usage)
			return nil
		}
	}
	mode, args, err := splitModes(args)
	if err != nil {
		return err
	}
	if mode.snapshot != "" {
		return restore(mode.snapshot, args, stdout, os.Stderr)
	}
	config, err := conf.Load(args, stdin)
	if err != nil {
		return err
	}
	set := config.Settings()
	if mode.check {
		return check(set.Dir, stdout, os.Stderr)
	}
	out, err := logFile(set.LogFile, stdout)
	if err != nil {
		return err
	}
	log := slog.New(newLogHandler(out))
	// Two signals fit: one to end, one to force it.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return advise(serve(config, mode.recover, log, signals), set.Dir)
}

func logFile(path string, stdout io.Writer) (io.Writer, error) {
	if path == "" {
		return stdout, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// serve runs the server until a signal or SHUTDOWN ends it.
func serve(config *conf.Config, recovery persistence.Recovery, log *slog.Logger, signals <-chan os.Signal) error {
	log.Info(fmt.Sprintf("vigil %s is starting, PID: %d", server.Version, os.Getpid()))
	set := config.Settings()
	for _, w := range append(config.Warnings(), warnings(set)...) {
		log.Warn(w)
	}
	srv, err := server.Start(server.Options{Config: config, Log: log,
		Store: func(o *persistence.Options) { o.Recover = recovery }})
	if err != nil {
		return err
	}
	addrs, err := srv.Listen()
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	for _, a := range addrs {
		log.Info("listening on " + describe(a))
	}
	defer writePidFile(set.PidFile, log)()
	loaded := make(chan error, 1) // the outcome of Load
	go func() { loaded <- srv.Load() }()
	for open := true; open; {
		select {
		case err := <-loaded:
			if err != nil {
				return errors.Join(err, srv.Close())
			}
			log.Info("Ready to accept connections")
			notifySupervisor(set, "READY=1", log)
			go newMemory().watch(srv.ShutdownRequested()) // or until the process ends
		case s := <-signals:
			log.Warn(fmt.Sprintf("Received %v, shutting down; a second signal forces it", s))
			open = false
		case <-srv.ShutdownRequested():
			log.Warn("User requested shutdown...")
			open = false
		}
	}
	notifySupervisor(set, "STOPPING=1", log)
	go func() {
		// Ends with the process: a second signal does not wait for the store.
		<-signals
		log.Warn("forced by a second signal")
		os.Exit(130)
	}()
	if err := srv.Close(); err != nil {
		return err
	}
	log.Warn("vigil is now ready to exit, bye bye...")
	return nil
}

func describe(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix socket " + a.String()
	}
	return a.String()
}
