// Command embed is a program that has a server in itself, as small as it gets: its size and its
// modules are what embedding costs.
//
//	go run . -dir data -addr localhost:6379
//
// Clients connect as to any server, and the program itself without a socket. SIGINT and SIGTERM end it: what
// was acknowledged is on disk then.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/vigildb/vigil/server"
)

// closeTime is how long the end may take.
const closeTime = 10 * time.Second

func main() {
	dir := flag.String("dir", "", "where the data is kept; none keeps it in memory")
	addr := flag.String("addr", "localhost:6379", "where clients connect")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *addr, func(listening net.Addr) { fmt.Println("clients connect to", listening) }); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run serves clients until ctx ends. ready is called when they can connect.
func run(ctx context.Context, dir, addr string, ready func(net.Addr)) (err error) {
	srv, err := server.Open(ctx, server.Options{
		Dir:       dir,
		InMemory:  dir == "",
		MaxMemory: 256 << 20, // what is beyond that moves to the disk
		Sync:      server.SyncEverySecond,
		Log:       slog.Default(),
		// What has no field of its own is a line of redis.conf.
		Directives: []string{"notify-keyspace-events Ex"},
	})
	if err != nil {
		return err
	}
	defer func() {
		// ctx has ended: this is another one.
		closing, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err = errors.Join(err, srv.Close(closing))
	}()
	starts, err := count(srv)
	if err != nil {
		return err
	}
	slog.Info("started", "times", starts)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	ready(l.Addr())
	if err := srv.Serve(l); !errors.Is(err, server.ErrClosed) {
		return err
	}
	return nil
}

// count counts the starts of the program in its own store.
func count(srv *server.Server) (string, error) {
	nc, err := srv.Dial()
	if err != nil {
		return "", err
	}
	defer nc.Close()
	if _, err := fmt.Fprint(nc, "INCR starts\r\n"); err != nil {
		return "", err
	}
	reply, err := bufio.NewReader(nc).ReadString('\n')
	if err != nil {
		return "", err
	}
	n, ok := strings.CutPrefix(strings.TrimSpace(reply), ":")
	if !ok {
		return "", fmt.Errorf("INCR: %s", reply)
	}
	return n, nil
}
