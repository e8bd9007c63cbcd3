package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
)

// options are the flags.
type options struct {
	addr, glob, config, http string
	db                       int
	wire, epoch              string
	filters, version         bool
	format, level            string
	set                      map[string]bool // flags that were given
	log                      *slog.Logger
	store                    *redis.Options
}

// Variables that hold what should not be seen in a list of processes.
const (
	userVariable     = "VIGIL_SESSION_USERNAME"
	passwordVariable = "VIGIL_SESSION_PASSWORD"
)

func readOptions(args []string, stdout, stderr io.Writer) (o options, err error) {
	f := o.flags()
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: vigil-session [flags]\n       vigil-session bench [flags]\n\n"+
			"The password may be in the URL of -addr, or in %s (and %s).\n\n", passwordVariable, userVariable)
		f.PrintDefaults()
	}
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.version {
		fmt.Fprintln(stdout, "vigil-session", buildVersion())
		return o, flag.ErrHelp
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%w: unexpected argument %q", errUsage, f.Arg(0))
	}
	o.set = map[string]bool{}
	f.Visit(func(f *flag.Flag) { o.set[f.Name] = true })
	if o.glob == "" || strings.Contains(o.glob, ":") {
		return o, fmt.Errorf("%w: -session-glob %q: empty, or with a colon, which no session has", errUsage, o.glob)
	}
	if o.log, err = logger(stderr, o.format, o.level); err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.store, err = storeOptions(o.addr, o.db, o.set["db"]); err != nil {
		return o, fmt.Errorf("%w: -addr: %w", errUsage, err)
	}
	if o.http, err = httpAddress(o.http); err != nil {
		return o, fmt.Errorf("%w: -http: %w", errUsage, err)
	}
	return o, nil
}

// flags are the flags of the microservice, which the manual page lists too.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("vigil-session", flag.ContinueOnError)
	f.StringVar(&o.addr, "addr", "localhost:6379", "the server: `host:port`, a path of a socket, or redis[s]://[user:password@]host:port[/db]; rediss is TLS")
	f.IntVar(&o.db, "db", 0, "the database, unless -addr is a URL that includes it")
	f.StringVar(&o.glob, "session-glob", "?*", "the sessions that this instance serves, as a `pattern`")
	f.StringVar(&o.config, "config", "", "a TOML `file`, read again on SIGHUP and when it changes")
	f.StringVar(&o.wire, "wire", "demo", "`form` of the answers: demo, or vigil (with unread in addition to the inverted seen); overrides the file")
	f.StringVar(&o.epoch, "epoch", "2018-04-01", "minute 0 of activity: a `date`, in UTC unless it has a zone; overrides the file")
	f.BoolVar(&o.filters, "filters", true, "use Bloom filters; =false for a Redis without the module; overrides the file")
	f.StringVar(&o.http, "http", "", "serve /metrics, /healthz and /readyz on `host:port`; a port alone is on loopback; off by default")
	f.StringVar(&o.format, "log-format", "text", "`format` of the log: text or json")
	f.StringVar(&o.level, "log-level", "info", "minimum `level` of log messages: debug, info, warn or error")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	return f
}

func logger(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("-log-level: %w", err)
	}
	opts := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("-log-format %q: want text or json", format)
}

// storeOptions reads -addr; what a URL says comes before flag and variables.
func storeOptions(addr string, db int, dbGiven bool) (*redis.Options, error) {
	o := &redis.Options{Addr: addr}
	switch {
	case strings.Contains(addr, "://"):
		var err error
		if o, err = redis.ParseURL(addr); err != nil {
			return nil, err
		}
	case strings.HasPrefix(addr, "/"):
		o.Network = "unix"
	default:
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, err
		}
	}
	if dbGiven && o.DB == 0 {
		o.DB = db
	}
	if o.Username == "" && o.Password == "" {
		o.Username, o.Password = os.Getenv(userVariable), os.Getenv(passwordVariable)
	}
	return o, nil
}

// httpAddress puts a port alone, with or without its colon, on loopback.
func httpAddress(addr string) (string, error) {
	if addr == "" {
		return "", nil
	}
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

// override puts the flags that were given above the file.
func (o options) override(c config.Config, now time.Time) (config.Config, error) {
	if o.set["wire"] {
		c.Wire = config.Wire(o.wire)
	}
	if o.set["filters"] {
		c.Filters = o.filters
	}
	if o.set["epoch"] {
		epoch, err := config.ParseEpoch(o.epoch)
		if err != nil {
			return c, err
		}
		c.Epoch = epoch
	}
	return c, c.Check(now)
}

// buildVersion is what the build stamped.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
