// Command vigil-session is the session microservice of the white paper "Making
// Session Stores more Intelligent with Microservices", on vigil or on any Redis
// with the Bloom module.
//
//	vigil-session -addr localhost:6379
//	vigil-session -addr redis://user:password@host:6379/1 -config session.toml -http localhost:9187
//	vigil-session -session-glob '[a-r]*'      one of several instances that share the sessions
//	vigil-session bench -h                    the load tool
//
// SIGHUP, and any change of the file, reload the configuration; SIGTERM and
// SIGINT stop after what was published before is answered, a second one at
// once. Exit codes: 0; 1 if something failed; 2 for flags that make no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage is returned for flags that make no sense.
var errUsage = errors.New("usage")

// run is main with its surroundings as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := command(ctx, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "vigil-session: %v\n", err)
		return 2
	}
	fmt.Fprintf(stderr, "vigil-session: %v\n", err)
	return 1
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "bench" {
		quietClient(slog.New(slog.DiscardHandler))
		return bench.Run(ctx, args[1:], stdout, stderr, errUsage)
	}
	o, err := readOptions(args, stdout, stderr)
	if err != nil {
		return err
	}
	return o.serve(ctx, stderr)
}

// clientLog passes the client library's lines on. They say what errors say
// anyway, so they are for troubleshooting.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, fmt.Sprintf(format, v...))
}

func quietClient(log *slog.Logger) { redis.SetLogger(clientLog{log}) }
