package webtier

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
	"github.com/vigildb/vigil/server"
)

// patient is a budget that no test uses up, on a loaded machine either.
const patient = 30 * time.Second

// dial returns a Client on the server, and the pool below it.
func dial(t *testing.T, s *rig.Server, opts Options) (*Client, *redis.Client) {
	t.Helper()
	rdb := redis.NewClient(Pool(&redis.Options{Network: "unix", Addr: s.Addr}, 16))
	t.Cleanup(func() { rdb.Close() })
	return New(rdb, opts), rdb
}

func start(t *testing.T) *rig.Server {
	t.Helper()
	return rig.Start(t, server.Options{Seed: 1})
}

// respond hands every request to answer until the test ends.
func respond(t *testing.T, s *rig.Server, answer func(ctx context.Context, rdb *redis.Client, r wire.Request, payload string)) {
	t.Helper()
	rdb := s.Client(t)
	sub := rdb.PSubscribe(t.Context(), "ss:*")
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for msg := range sub.Channel() {
			r, err := wire.Names{}.Parse(msg.Channel)
			if err != nil {
				t.Errorf("channel %q: %v", msg.Channel, err)
				continue
			}
			answer(context.Background(), rdb, r, msg.Payload)
		}
	})
	t.Cleanup(func() {
		sub.Close()
		wg.Wait()
	})
}

// push answers r.
func push(ctx context.Context, t *testing.T, rdb *redis.Client, r wire.Request, text string) {
	if err := rdb.LPush(ctx, wire.Names{}.List(r), text).Err(); err != nil {
		t.Errorf("answer %v: %v", r, err)
	}
}

// script runs a server that leaves each read from a connection to handle, and
// returns its address.
func script(t *testing.T, handle func(c net.Conn, got []byte) (keep bool)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if !handle(c, buf[:n]) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}
