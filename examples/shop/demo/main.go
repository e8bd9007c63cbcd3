// Demo runs the shop as a whole: vigil, the session microservice and the shop itself,
// whose programs lie beside its own. It prints the address, and ends all three, in the
// reverse order, on Ctrl-C, or when one of them ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/examples/shop/internal/process"
)

// How long a program may take to be of use, and to end. A start may find data of an
// earlier day; vigil ends within some two seconds.
const (
	startLimit = time.Minute
	stopLimit  = 15 * time.Second
	pollEvery  = 50 * time.Millisecond
)

func main() {
	port := flag.Int("port", 8080, "`PORT` of the shop on localhost; vigil gets the one after it")
	dir := flag.String("dir", filepath.Join("data", "demo"), "`DIR` for data and logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	own, err := os.Executable()
	if err == nil {
		err = run(ctx, os.Stdout, demo{bin: filepath.Dir(own), dir: *dir, port: *port})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo says where things are.
type demo struct {
	bin, dir string
	port     int
}

func (d demo) address(offset int) string { return "localhost:" + strconv.Itoa(d.port+offset) }

// program is one of the three.
type program struct {
	name  string // of the process and of its log
	file  string // in bin
	args  []string
	ready func(context.Context) error // nil when it is of use
}

func (d demo) programs(rdb *redis.Client) []program {
	vigil, shop := d.address(1), d.address(0)
	return []program{
		{"vigil", "vigil-server", []string{"--port", strconv.Itoa(d.port + 1), "--bind", "127.0.0.1", "-::1", "--dir", filepath.Join(d.dir, "vigil")},
			func(ctx context.Context) error { return rdb.Ping(ctx).Err() }},
		{"microservice", "vigil-session", []string{"--addr", vigil}, func(ctx context.Context) error { return listening(ctx, rdb) }},
		{"shop", "shop", []string{"-addr", vigil, "-listen", shop}, func(ctx context.Context) error { return opened(ctx, "http://"+shop) }},
	}
}

// listening says whether the microservice has subscribed to its patterns.
func listening(ctx context.Context, rdb *redis.Client) error {
	n, err := rdb.PubSubNumPat(ctx).Result()
	if err == nil && n == 0 {
		return errors.New("no subscription yet")
	}
	return err
}

func opened(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// run starts the programs one after the other and stops them when ctx ends.
func run(ctx context.Context, w io.Writer, d demo) (err error) {
	if err := d.prepare(); err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: d.address(1), MaxRetries: -1})
	defer func() { err = errors.Join(err, rdb.Close()) }()
	ended := make(chan *process.Process, 3) // one place for each program
	var running []*process.Process
	defer func() {
		for i := len(running) - 1; i >= 0; i-- {
			err = errors.Join(err, stopped(running[i]))
		}
		fmt.Fprintln(w, "\nThe shop is closed.")
	}()
	for _, p := range d.programs(rdb) {
		started, err := process.Start(p.name, filepath.Join(d.dir, p.name+".log"), filepath.Join(d.bin, p.file), p.args...)
		if err != nil {
			return err
		}
		running = append(running, started)
		go func() { <-started.Done(); ended <- started }() // ends with the program
		switch err := await(ctx, started, p.ready); {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		}
	}
	fmt.Fprintf(w, "\n  The shop is open:  http://%s\n  its store:         redis-cli -p %d\n  data and logs:     %s\n\n  Ctrl-C ends it.\n",
		d.address(0), d.port+1, d.dir)
	select {
	case <-ctx.Done():
		return nil
	case p := <-ended:
		return failure(p)
	}
}

// prepare says what would keep the programs from starting, in words that help.
func (d demo) prepare() error {
	for offset, what := range []string{"the shop", "vigil"} {
		l, err := net.Listen("tcp", d.address(offset))
		if err != nil {
			return fmt.Errorf("port %d, for %s, cannot be had (%w); choose another: make demo DEMO_PORT=9090", d.port+offset, what, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(d.dir, "vigil"), 0o700)
}

// await returns when the program is of use, or says why it is not.
func await(ctx context.Context, p *process.Process, ready func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	again := time.NewTicker(pollEvery)
	defer again.Stop()
	for {
		err := ready(limited)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return failure(p)
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s is not ready after %s: %w", p.Name, startLimit, err)
		case <-again.C:
		}
	}
}

func failure(p *process.Process) error {
	return fmt.Errorf("%s has ended; its last words were\n%s", p.Name, p.Tail(8))
}

// stopped stops a program, unless it has ended and was told of.
func stopped(p *process.Process) error {
	select {
	case <-p.Done():
		return nil
	default:
		return p.Stop(stopLimit)
	}
}
