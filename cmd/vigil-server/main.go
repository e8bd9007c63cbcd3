// Command vigil-server is the server.
//
//	vigil-server [file] [--directive value ...]
//
// Directives are those of redis.conf; docs/configuration.md lists them. Exit
// status: 0 after SIGTERM, SIGINT or SHUTDOWN, with everything acknowledged on
// disk; 1 if the server could not start or could not close its store; 130 if a
// second signal cut the end short.
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

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		var bad *conf.LoadError
		if errors.As(err, &bad) {
			fmt.Fprint(os.Stderr, bad.Report())
		} else {
			fmt.Fprintln(os.Stderr, "vigil-server:", err)
		}
		os.Exit(1)
	}
}

const usage = `usage: vigil-server [file] [--directive value ...]
       vigil-server - (read directives from standard input)
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
	config, err := conf.Load(args, stdin)
	if err != nil {
		return err
	}
	out, err := logFile(config.Settings().LogFile, stdout)
	if err != nil {
		return err
	}
	log := slog.New(newLogHandler(out))
	// Two signals fit: one to end, one to force it.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return serve(config, log, signals)
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
func serve(config *conf.Config, log *slog.Logger, signals <-chan os.Signal) error {
	log.Info(fmt.Sprintf("vigil %s is starting, PID: %d", server.Version, os.Getpid()))
	set := config.Settings()
	for _, w := range append(config.Warnings(), warnings(set)...) {
		log.Warn(w)
	}
	srv, err := server.Start(server.Options{Config: config, Log: log})
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
