// Command vigil-server is the server.
//
//	vigil-server [file] [--directive value ...]
//	vigil-server --check --dir DIR
//	vigil-server --restore SNAPSHOT --dir NEW [--directive value ...]
//	vigil-server --restore s3://BUCKET/PREFIX [--until TIME] [--backup NAME] --dir NEW [--directive value ...]
//	vigil-server --check-backup s3://BUCKET/PREFIX [--backup-directive value ...]
//	vigil-server --import FILE|DIR|- --dir DIR [--import-on-conflict RULE] [--directive value ...]
//	vigil-server --export FILE --for TARGET --dir DIR [--directive value ...]
//	vigil-server --become member|alone --dir DIR
//	vigil-server --doctor|--ping [file] [--directive value ...]
//
// Directives are the same as in redis.conf; docs/configuration.md lists them. Exit status of
// the server: 0 after SIGTERM, SIGINT or SHUTDOWN, with everything acknowledged on disk; 3
// after one of these, if something acknowledged could not be written and is lost; 1
// if the server could not start or could not close its store, or if a second SIGINT cut the
// end short. That of --check and --restore: 0 if all is sound, 1 if there is damage, 2 if
// the work could not be done. That of --become: 0, or 2 if it could not be done. That of --import and
// --export: 0 if everything is there, 1 if it failed, 2 if it could not begin. That of --doctor is 0, 1 for something worth a warning, 2 for something bad; that of --ping 0 if the server
// answers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	_ "github.com/vigildb/vigil/server/certs/pkcs8" // encrypted keys
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/membership"
	"github.com/vigildb/vigil/server/window"
)

func main() {
	restrictFiles()
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
       vigil-server --check --dir DIR            (check a snapshot, or a store that no server has open)
       vigil-server --restore SNAPSHOT --dir NEW (create a new store from a snapshot; with more directives, start with it)
       vigil-server --restore s3://BUCKET/PREFIX|file:///PATH --dir NEW (create a new store from the newest backup and the log behind it; with
                                                 --until 2026-01-02T03:04:05Z, --backup NAME, --backup-key-file FILE and other --backup-* directives)
       vigil-server --check-backup s3://BUCKET/PREFIX|file:///PATH (read all that is there; with --backup-* directives)
       vigil-server --import FILE|DIR|- --dir DIR (make keys of an RDB file, an append-only file, a directory of these with a manifest, or
                                                 the standard input; with --import-on-conflict fail|skip|replace|replace-all, --import-only 0,3,
                                                 --import-until UNIX-TIME, --import-truncated no, --import-skip-unknown yes)
       vigil-server --export FILE --for redis7.0|redis7.4|valkey8|valkey9 --dir DIR (write an RDB file of a store that no server has open; with
                                                 --export-modules yes for a server with RedisBloom and RedisJSON, --export-strict yes to leave nothing out)
       vigil-server --become member --dir DIR    (make a store that no server has open, and that is alone, one that founds a group with its keys)
       vigil-server --become alone --dir DIR     (make the store of a member, that no server has open, one that is alone)
       vigil-server --doctor [file] ...          (look at the limits, memory, clock and disk that the server would have, and say what to change)
       vigil-server --ping [file] ...            (ask the server of this configuration whether it answers, for health checks)
       vigil-server --recover truncate ...       (start without the damaged part of a log)
       vigil-server --recover alone ...          (start as the only member of a group whose others are lost)
       vigil-server --version | --help

  vigil-server --port 6379 --dir /var/lib/vigil
  vigil-server /etc/vigil.conf --appendfsync always

Directives are the same as in redis.conf.
`

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case "-v", "--version":
			build, _ := debug.ReadBuildInfo()
			fmt.Fprintln(stdout, version(build))
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
	if done, err := offline(&mode, args, stdin, stdout); done || err != nil {
		return err
	}
	if mode.transfer.imports.Path != "" {
		if err := makeDir(args); err != nil {
			return &exitStatus{statusNotRun, err}
		}
	}
	return begin(mode, args, stdin, stdout)
}

// begin reads the configuration and does what it and the modes ask for. Errors are for the standard error, and those of a
// start are in the logfile as well.
func begin(mode modes, args []string, stdin io.Reader, stdout io.Writer) error {
	config, err := conf.Load(args, stdin)
	if err != nil {
		var bad *conf.LoadError
		if errors.As(err, &bad) && !mode.check {
			logFatal(bad.LogFile, err)
		}
		return err
	}
	set := config.Settings()
	switch {
	case mode.doctor:
		return examine(set, stdout)
	case mode.ping:
		return ping(set, stdout)
	case mode.check:
		return checkStore(set.Dir, stdout, os.Stderr)
	case mode.become != "":
		return becomeOther(mode.become, set, stdout)
	}
	if mode.transfer.path != "" {
		return mode.transfer.run(config, stdin, stdout, os.Stderr)
	}
	if mode.snapshot != "" {
		if _, err := restoreFrom(&mode, config, set.Dir, stdout); err != nil {
			logFatal(set.LogFile, err)
			return err
		}
	}
	out, err := openLog(set.LogFile, stdout, func() conf.LogLevel { return config.Settings().LogLevel })
	if err != nil {
		return err
	}
	out.style = config.Settings
	mode.newcomer = meet(args, set.Dir)
	if err := out.openTrail(set); err != nil {
		logFatal(set.LogFile, err)
		return err
	}
	defer out.trail.Close()
	if err := advise(serve(config, mode, out, catchSignals()), set.Dir); err != nil {
		if status := new(exitStatus); !errors.As(err, &status) { // else it is logged
			logFatal(set.LogFile, err)
		}
		return err
	}
	return nil
}

// statusLost is the exit status of a server that ended on request and could not write all that it had acknowledged.
const statusLost = 3

// explain says what helps against a port that is taken.
func explain(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w. Something else listens there, perhaps a Redis; --port 6380 is for another port", err)
	}
	return err
}

// serve runs the server until a signal or SHUTDOWN ends it.
func serve(config *conf.Config, mode modes, out *logHandler, sig *signals) error {
	log := slog.New(out)
	log.Info(fmt.Sprintf("vigil %s is starting, PID: %d", server.Version, os.Getpid()))
	set := config.Settings()
	for _, w := range append(config.Warnings(), warnings(set)...) {
		log.Warn(w)
	}
	group, err := membership.Listen(config, membership.Options{Alone: mode.alone, Log: log})
	if err != nil {
		return err
	}
	limit := findMemoryLimit(os.DirFS("/"))
	reportMemory(set, limit, log)
	mem := followMemory(config, limit)
	defer mem.close()
	options, err := optionsFor(config, mode, limit, out, log)
	if err != nil {
		return err
	}
	group.Join(&options)
	opened := sig.leave(log)
	srv, err := server.Start(options)
	opened()
	if err != nil {
		return err
	}
	log.Info("Server initialized")
	data := load(srv)
	data.wait(patienceFor(options.Inherited))
	addrs, err := srv.Listen()
	if errors.Is(err, server.ErrNoListeners) {
		log.Warn("Configured to not listen anywhere, exiting.")
	}
	if err != nil {
		return errors.Join(explain(err), srv.Close(context.Background()))
	}
	for _, a := range addrs {
		log.Info("listening on " + describe(a))
	}
	mode.newcomer.greet(set.Dir, addrs, log)
	view, err := window.Open(srv, config, log)
	if err != nil {
		return errors.Join(err, srv.Close(context.Background()))
	}
	defer writePidFile(set.PidFile, log)()
	if err := attend(srv, data, mem, group, config, out, sig); err != nil {
		return errors.Join(err, view.Close(), srv.Close(context.Background()))
	}
	notifySupervisor(set, "STOPPING=1", log)
	if err := errors.Join(view.Close(), srv.Close(context.Background())); err != nil {
		if lost := new(persistence.Lost); errors.As(err, &lost) {
			log.Error(lost.Error())
			return &exitStatus{statusLost, err}
		}
		return err
	}
	log.Warn("vigil is now ready to exit, bye bye...")
	return nil
}

// optionsFor returns what the server is opened with, but for its group.
func optionsFor(config *conf.Config, mode modes, limit memoryLimit, out *logHandler, log *slog.Logger) (o server.Options, err error) {
	set := config.Settings()
	o = server.Options{Config: config, Log: log, Audit: out.trail, OpenBackupTarget: openBackupTarget(config)}
	o.DerivedMaxMemory = derivedMaxMemory(set, limit)
	o.Store = func(o *persistence.Options) { o.Recover = mode.recover }
	o.Inherited, err = inherit(set, log)
	return o, err
}

// patience is how long ports stay closed at most while the data is loaded. What is
// little is there by then: programs that start a server, and use it as soon as they can
// connect, get no -LOADING from an empty one, as they get none from Redis. On a busy
// machine that takes a while.
const patience = time.Second

// loading is the data on its way into the server.
type loading struct {
	done chan struct{} // closed when err is known
	err  error
}

// load begins to load the data. Closing the server ends it.
func load(srv *server.Server) *loading {
	l := &loading{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = srv.Load(context.Background())
	}()
	return l
}

// wait waits for the data, or until d has passed.
func (l *loading) wait(d time.Duration) {
	select {
	case <-l.done:
	case <-time.After(d):
	}
}

// attend waits for the data, and then until the server is to be closed.
func attend(srv *server.Server, data *loading, mem *memory, group membership.Member, config *conf.Config, out *logHandler, sig *signals) error {
	log, loaded := slog.New(out), data.done
	files := watchCertificates(config.Settings())
	defer files.stop()
	for ready := false; ; {
		how, name := conf.ShutdownFlags(0), "SHUTDOWN"
		select {
		case <-loaded:
			if data.err != nil {
				return data.err
			}
			ready, loaded = true, nil
			log.Info("Ready to accept connections")
			notifySupervisor(config.Settings(), "READY=1", log)
			mem.ready()
			continue
		case <-sig.reload:
			reload(srv, group, config, out)
			continue
		case now := <-files.ticks():
			if set := config.Settings(); files.changed(set, now) {
				files.done(reloadCertificates(srv, group, set, log))
			}
			continue
		case <-sig.terminate:
			how, name = config.Settings().ShutdownOnSigterm, "SIGTERM"
		case <-sig.interrupt:
			how, name = config.Settings().ShutdownOnSigint, "SIGINT"
		case <-srv.ShutdownRequested():
		case err := <-group.Failed():
			return fmt.Errorf("this member of the group has ended: %w", err)
		}
		log.Warn("Received " + name + " scheduling shutdown...")
		sig.forget()
		stay := make(chan struct{})
		go sig.insist(srv, log, stay)
		if !ready || mayEnd(srv, how, log) {
			return nil
		}
		close(stay)
	}
}

// reload does what SIGHUP asks for: it opens the logfile and the audit log again and reads the certificates again, if there are
// some.
func reload(srv *server.Server, g membership.Member, config *conf.Config, out *logHandler) {
	log, set := slog.New(out), config.Settings()
	if err := out.trail.Reopen(); err != nil {
		log.Warn(err.Error())
	}
	if set.LogFile != "" {
		if err := out.reopen(); err != nil {
			log.Warn(err.Error())
		} else {
			log.Info("The log file was opened again")
		}
	}
	reloadCertificates(srv, g, set, log)
}

// reloadCertificates reads the certificates again, if there are some, and reports whether they are in use.
func reloadCertificates(srv *server.Server, g membership.Member, set *conf.Settings, log *slog.Logger) bool {
	if set.TLSPort == 0 && !g.Encrypted() {
		return true
	}
	if err := errors.Join(srv.ReloadTLS(), g.ReloadTLS(set)); err != nil {
		log.Warn(err.Error())
		return false
	}
	log.Info("Certificates were read again")
	return true
}

// mayEnd writes the snapshot that shutdown-on-sigint or shutdown-on-sigterm asks
// for. If that fails the server keeps running, as Redis does, unless it is forced
// to end.
func mayEnd(srv *server.Server, how conf.ShutdownFlags, log *slog.Logger) bool {
	if how&conf.ShutdownSafe != 0 && how&conf.ShutdownForce == 0 && !membership.MayLeave(srv) {
		log.Warn("Not shut down: no other member of the group could take over its keys")
		return false
	}
	if how&conf.ShutdownSave == 0 {
		return true
	}
	err := srv.Snapshot()
	if err == nil {
		return true
	}
	log.Warn(err.Error())
	if how&conf.ShutdownForce != 0 {
		return true
	}
	log.Warn("Errors trying to shut down the server. Check the logs for more information.")
	return false
}

func describe(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix socket " + a.String()
	}
	return a.String()
}
