// Demo runs the shop as a whole: vigil, the session microservice and the shop itself,
// whose programs lie beside its own. It prints the addresses of the shop and of vigil's
// window, and what to kill to see what happens then, and ends all three, in the
// reverse order, on Ctrl-C. A program that ends before is started again after a while.
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
	"slices"
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
	port := flag.Int("port", 8080, "`PORT` of the shop on localhost; vigil gets the one after it, and its window the next")
	dir := flag.String("dir", filepath.Join("data", "demo"), "`DIR` for data and logs")
	absence := flag.Duration("absence", 10*time.Second, "how long a program that was killed stays away")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	own, err := os.Executable()
	if err == nil {
		err = run(ctx, os.Stdout, demo{bin: filepath.Dir(own), dir: *dir, port: *port, absence: *absence})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// tryIt takes how long programs stay away, and the process of vigil.
const tryIt = `
  Try it: sign in, put something into the cart, and kill -9 the server from another terminal.
  It starts again in %s. Reload the page: you are signed in, and the cart is as it was.
    kill -9 %d   # vigil: the page says so, and comes back by itself
  The others may die, too:
`

// demo says where things are.
type demo struct {
	bin, dir string
	port     int
	absence  time.Duration
}

func (d demo) address(offset int) string { return "localhost:" + strconv.Itoa(d.port+offset) }

// program is one of the three.
type program struct {
	name    string // of the process and of its log
	file    string // in bin
	without string // what is to be seen without it
	again   string // what is to be seen then
	args    []string
	ready   func(context.Context) error // nil when it is of use
}

func (d demo) programs(rdb *redis.Client) []program {
	vigil, shop := d.address(1), d.address(0)
	return []program{
		{"vigil", "vigil-server", "pages say that the shop opens again in a moment", ": reload the page, and you are signed in, and your cart is as it was", []string{"--port", strconv.Itoa(d.port + 1), "--bind", "127.0.0.1", "-::1", "--dir", filepath.Join(d.dir, "vigil"),
			"--http-port", strconv.Itoa(d.port + 2)},
			func(ctx context.Context) error { return rdb.Ping(ctx).Err() }},
		{"microservice", "vigil-session", "pages are the same for everybody, and go on", "", []string{"--addr", vigil, "--config", d.config()}, func(ctx context.Context) error { return listening(ctx, rdb) }},
		{"shop", "shop", "there are no pages", "", []string{"-addr", vigil, "-listen", shop}, func(ctx context.Context) error { return opened(ctx, "http://"+shop) }},
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
	all := d.programs(rdb)
	running := make([]*process.Process, len(all))
	ended := make(chan int, len(all)) // each program ends once before it is started again
	defer func() {
		for _, p := range slices.Backward(running) {
			err = errors.Join(err, stopped(p))
		}
		fmt.Fprintln(w, "\nThe shop is closed.")
	}()
	begin := func(i int) (err error) {
		p := all[i]
		if running[i], err = process.Start(p.name, filepath.Join(d.dir, p.name+".log"), filepath.Join(d.bin, p.file), p.args...); err != nil {
			return err
		}
		now := running[i]
		if err := await(ctx, now, p.ready); err != nil {
			return err
		}
		go func() { <-now.Done(); ended <- i }() // ends with the program
		return nil
	}
	for i := range all {
		if err := begin(i); err != nil {
			return unlessEnding(ctx, err)
		}
	}
	fmt.Fprintf(w, "\n  The shop is open:  http://%s\n  its store:         redis-cli -p %d\n  the store inside:  http://%s\n  data and logs:     %s\n",
		d.address(0), d.port+1, d.address(2), d.dir)
	fmt.Fprintf(w, tryIt, d.absence, running[0].ID())
	for i, p := range all[1:] {
		fmt.Fprintf(w, "    kill -9 %d   # %s: %s\n", running[i+1].ID(), p.name, p.without)
	}
	fmt.Fprint(w, "\n  Ctrl-C ends it.\n")
	return unlessEnding(ctx, d.watch(ctx, w, all, ended, begin, func(i int) int { return running[i].ID() }))
}

// watch starts programs again that have ended, until ctx ends or one cannot be started.
func (d demo) watch(ctx context.Context, w io.Writer, all []program, ended <-chan int, begin func(int) error, id func(int) int) error {
	for {
		var i int
		select {
		case <-ctx.Done():
			return ctx.Err()
		case i = <-ended:
		}
		fmt.Fprintf(w, "\n%s has ended: %s. It starts again in %s.\n", all[i].name, all[i].without, d.absence)
		away := time.NewTimer(d.absence)
		select {
		case <-ctx.Done():
			away.Stop()
			return ctx.Err()
		case <-away.C:
		}
		if err := begin(i); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s is there again%s. To kill it: kill -9 %d\n", all[i].name, all[i].again, id(i))
	}
}

// unlessEnding is err, unless it comes from Ctrl-C.
func unlessEnding(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare says what would keep the programs from starting, in words that help.
func (d demo) prepare() error {
	for offset, what := range []string{"the shop", "vigil", "vigil's window"} {
		l, err := net.Listen("tcp", d.address(offset))
		if err != nil {
			return fmt.Errorf("port %d, for %s, cannot be had (%w); choose another: make demo DEMO_PORT=9090", d.port+offset, what, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(d.dir, "vigil"), 0o700); err != nil {
		return err
	}
	return d.configure()
}

func (d demo) config() string { return filepath.Join(d.dir, "session.toml") }

// configure writes the microservice's configuration at the first start. Minutes count
// from that day: with the paper's epoch, each visitor would have half a megabyte of
// zeros for the years without visits.
func (d demo) configure() error {
	f, err := os.OpenFile(d.config(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `# The microservice of the demo reads this again when it changes.
epoch = %q

[[combo]]
name = "hdmi-cable"
pages = ["/added/tv", "/added/tv-mount"]
`, time.Now().UTC().Format(time.DateOnly))
	return errors.Join(err, f.Close())
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
			return fmt.Errorf("%s is not ready after %s: %w", p.Name, startLimit, err)
		case <-again.C:
		}
	}
}

func failure(p *process.Process) error {
	return fmt.Errorf("%s has ended; its last words were\n%s", p.Name, p.Tail(8))
}

// stopped stops a program, unless it was not started or has ended.
func stopped(p *process.Process) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.Done():
		return nil
	default:
		return p.Stop(stopLimit)
	}
}
