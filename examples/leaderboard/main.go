package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

func main() {
	addr := flag.String("addr", "", "address of a server; without it, one in memory is started")
	players := flag.Int("players", 10000, "how many play, at least 1")
	games := flag.Int("games", 50000, "games they play in five weeks, at least 1")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *addr, max(*players, 1), max(*games, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "leaderboard:", err)
		os.Exit(1)
	}
}

// run plays games of chance and prints what a page would show. The games are the
// same in each run; the keys of the run before are deleted.
func run(ctx context.Context, w io.Writer, addr string, players, games int) (err error) {
	if addr == "" {
		var stop func() error
		if addr, stop, err = startServer(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	b := &Board{Redis: rdb, Prefix: "example:leaderboard", Weeks: 4}
	now := time.Now()
	if err := b.reset(ctx, now); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range games {
		player := fmt.Sprintf("player-%d", int(float64(players)*rng.Float64()*rng.Float64()))
		at := now.Add(-time.Duration(rng.IntN(5*7*24)) * time.Hour)
		if _, err := b.Score(ctx, player, float64(rng.IntN(100)), at); err != nil {
			return err
		}
	}
	top, err := b.Top(ctx, 5)
	if err != nil {
		return err
	}
	show(w, "all time", top)
	lately, err := b.Lately(ctx, now, 5)
	if err != nil {
		return err
	}
	show(w, "the last four weeks", lately)
	near, err := b.Around(ctx, top[len(top)-1].Player, 2)
	if err != nil {
		return err
	}
	show(w, "around "+top[len(top)-1].Player, near)
	return nil
}

func show(w io.Writer, title string, entries []Entry) {
	fmt.Fprintf(w, "%s\n", title)
	for _, e := range entries {
		fmt.Fprintf(w, "%6d  %-14s %8.0f\n", e.Place, e.Player, e.Points)
	}
}

// reset deletes the boards of all weeks that a game of this run can be in.
func (b *Board) reset(ctx context.Context, now time.Time) error {
	keys := []string{b.all()}
	for i := range 6 {
		keys = append(keys, b.week(now.AddDate(0, 0, -7*i)))
	}
	return b.Redis.Del(ctx, keys...).Err()
}

// startServer starts a server in memory on a free loopback port.
func startServer() (addr string, stop func() error, err error) {
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, srv.Close(context.Background()))
	}
	served := make(chan error, 1)          // of capacity 1: Serve returns once
	go func() { served <- srv.Serve(l) }() // ends with srv.Close
	return l.Addr().String(), func() error {
		err := srv.Close(context.Background())
		if e := <-served; !errors.Is(e, server.ErrClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}
