package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// start runs a server in memory on a loopback port and connects a client that
// speaks the given protocol version.
func start(t *testing.T, proto int) (*redis.Client, string) {
	t.Helper()
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, server.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return client(t, l.Addr().String(), proto), l.Addr().String()
}

func client(t *testing.T, addr string, proto int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: proto, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}

// microservice is the session microservice of the white paper: it hears of
// page views, keeps what can be computed from them, and answers on the list
// that the web tier waits for.
type microservice struct {
	rdb *redis.Client
	sub *redis.PubSub
	wg  sync.WaitGroup
}

func startMicroservice(ctx context.Context, t *testing.T, rdb *redis.Client) *microservice {
	t.Helper()
	m := &microservice{rdb: rdb, sub: rdb.PSubscribe(ctx, "ss:pageview:*")}
	if _, err := m.sub.Receive(ctx); err != nil {
		t.Fatalf("PSUBSCRIBE: %v", err)
	}
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		for msg := range m.sub.Channel() {
			if err := m.view(ctx, msg.Channel, msg.Payload); err != nil {
				t.Errorf("page view %s: %v", msg.Channel, err)
			}
		}
	}()
	t.Cleanup(m.stop)
	return m
}

func (m *microservice) stop() {
	m.sub.Close()
	m.wg.Wait()
}

// view handles one page view: channel ss:pageview:<session>:<request>, the
// page's address as the payload.
func (m *microservice) view(ctx context.Context, channel, page string) error {
	parts := strings.Split(channel, ":")
	id, request := parts[2], parts[3]
	var pages *redis.IntCmd
	var isNew *redis.BoolCmd
	_, err := m.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.PFAdd(ctx, "ss:pages:"+id, page)
		p.Incr(ctx, "ss:views:"+id)
		p.BitField(ctx, "ss:activity:"+id, "SET", "u1", "#1500", 1)
		pages = p.PFCount(ctx, "ss:pages:"+id)
		isNew = p.BFAdd(ctx, "ss:seen:"+id, page)
		return nil
	})
	if err != nil {
		return err
	}
	answer := fmt.Sprintf("pages=%d new=%t", pages.Val(), isNew.Val())
	list := "async:pageview:" + id + ":" + request
	_, err = m.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LPush(ctx, list, answer)
		p.PExpire(ctx, list, 10*time.Second)
		return nil
	})
	return err
}

// visit is the web tier: it publishes the view and waits for the answer.
func visit(ctx context.Context, rdb *redis.Client, id, request, page string, wait time.Duration) (string, error) {
	if err := rdb.Publish(ctx, "ss:pageview:"+id+":"+request, page).Err(); err != nil {
		return "", err
	}
	got, err := rdb.BLPop(ctx, wait, "async:pageview:"+id+":"+request).Result()
	if err != nil {
		return "", err
	}
	return got[1], nil
}

func TestPageViewIsAnsweredThroughTheList(t *testing.T) {
	for _, proto := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", proto), func(t *testing.T) {
			ctx := t.Context()
			web, addr := start(t, proto)
			startMicroservice(ctx, t, client(t, addr, proto))
			for i, step := range []struct{ page, want string }{
				{"/added/tv", "pages=1 new=true"},
				{"/added/tv-mount", "pages=2 new=true"},
				{"/added/tv", "pages=2 new=false"},
			} {
				got, err := visit(ctx, web, "s1", fmt.Sprint(i), step.page, 5*time.Second)
				if err != nil || got != step.want {
					t.Errorf("visit %d of %s: got %q, %v; want %q", i, step.page, got, err, step.want)
				}
			}
			if n, err := web.Get(ctx, "ss:views:s1").Int(); n != 3 || err != nil {
				t.Errorf("views: got %d, %v; want 3", n, err)
			}
			if bit, err := web.GetBit(ctx, "ss:activity:s1", 1500).Result(); bit != 1 || err != nil {
				t.Errorf("activity bit of minute 1500: got %d, %v; want 1", bit, err)
			}
		})
	}
}

func TestPageDegradesWhenNoMicroserviceAnswers(t *testing.T) {
	ctx := t.Context()
	web, _ := start(t, 3)
	began := time.Now()
	_, err := visit(ctx, web, "s1", "r1", "/", 100*time.Millisecond)
	if !errors.Is(err, redis.Nil) {
		t.Errorf("visit without a microservice: got %v, want a timeout without a value", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the page waited %v for an answer that nobody gives", took)
	}
}

func TestDeadWebServerLosesNoOtherAnswer(t *testing.T) {
	ctx := t.Context()
	web, addr := start(t, 3)
	// A web server that waits for its answer, and dies while it waits.
	dead, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(dead, "BLPOP shared 0\r\n")
	waitBlocked(ctx, t, web, 1)
	dead.Close()
	waitBlocked(ctx, t, web, 0)
	if err := web.LPush(ctx, "shared", "answer").Err(); err != nil {
		t.Fatal(err)
	}
	got, err := web.BLPop(ctx, time.Second, "shared").Result()
	if err != nil || got[1] != "answer" {
		t.Errorf("answer after a waiting client died: got %v, %v", got, err)
	}
	startMicroservice(ctx, t, client(t, addr, 3))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			id := fmt.Sprintf("s%d", i)
			if got, err := visit(ctx, web, id, "r", "/", 5*time.Second); err != nil || got != "pages=1 new=true" {
				t.Errorf("session %s: got %q, %v", id, got, err)
			}
		}()
	}
	wg.Wait()
}

// waitBlocked asks until n clients are blocked. Each question is a round trip
// to the server, so nothing sleeps.
func waitBlocked(ctx context.Context, t *testing.T, rdb *redis.Client, n int) {
	t.Helper()
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	for range 10000 {
		info, err := rdb.Info(ctx, "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, want) {
			return
		}
	}
	t.Fatalf("the server never reported %d blocked clients", n)
}
