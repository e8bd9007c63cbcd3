package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestLargePipelinesAndRepliesOverTLS(t *testing.T) {
	for _, args := range [][]string{nil, {"--tls-protocols", "TLSv1.2"}, {"--appendfsync", "always"}} {
		r, a, addr := encrypted(t, args...)
		c := r.dialTLS(a, addr)
		big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
		c.want("SET small x", "OK")
		if got := c.do("SET", "big", big); got != "OK" {
			t.Fatal(got)
		}
		const n = 30
		sent := make(chan error, 1)
		go func() {
			var b bytes.Buffer
			for i := range n {
				b.WriteString(encode("GET", "big"))
				for j := range 300 {
					b.WriteString(encode("SET", fmt.Sprint("k", i, j), "v"))
				}
			}
			_, err := c.nc.Write(b.Bytes())
			sent <- err
		}()
		want := fmt.Sprintf("$%d\r\n%s\r\n", len(big), big) + strings.Repeat("+OK\r\n", 300)
		got := make([]byte, len(want))
		for i := range n {
			c.nc.SetReadDeadline(time.Now().Add(4 * patience))
			if _, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
				t.Fatalf("%v: reply %d: %v", args, i, err)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		c.want("PING", "PONG")
	}
}

func TestPublishedMessagesOverTLS(t *testing.T) {
	r, a, addr := encrypted(t)
	sub, pub := r.dialTLS(a, addr), r.dialTLS(a, addr)
	sub.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	for i := range 300 {
		pub.want(fmt.Sprintf("PUBLISH ch %d", i), "(int) 1")
	}
	for i := range 300 {
		sub.next(fmt.Sprintf(`["message" "ch" "%d"]`, i))
	}
	waiter := r.dialTLS(a, addr)
	waiter.send("BLPOP", "q", "0")
	r.blocked(1)
	pub.want("RPUSH q x", "(int) 1")
	waiter.next(`["q" "x"]`)
}

func TestSubscriberThatStopsReadingIsCutOverTLS(t *testing.T) {
	r, a, addr := encrypted(t, "--client-output-buffer-limit", "pubsub 1mb 0 0")
	sub, pub := r.dialTLS(a, addr), r.dialTLS(a, addr)
	sub.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	message := strings.Repeat("x", 1<<16)
	for end := time.Now().Add(patience); pub.do("PUBLISH", "ch", message) == "(int) 1"; {
		if time.Now().After(end) {
			t.Fatal("a subscriber that does not read is kept")
		}
	}
	r.connected(1)
}

func TestClientThatStopsReadingStopsBeingRunOverTLS(t *testing.T) {
	r, a, addr := encrypted(t)
	c, other := r.dialTLS(a, addr), r.dialTLS(a, addr)
	value := strings.Repeat("x", 1<<20)
	other.do("SET", "k", value)
	const n = 64
	for range n {
		c.send("GET", "k")
	}
	for range 20 { // it holds a reply or two, not all of them
		other.want("PING", "PONG")
		if held := r.srv.memory.total.Load(); held > 24<<20 {
			t.Fatalf("clients hold %d bytes", held)
		}
	}
	for range n {
		if got := c.reply(); len(got) != len(value)+2 {
			t.Fatalf("reply of %d bytes", len(got))
		}
	}
}

func TestLeavingClientsSayGoodbye(t *testing.T) {
	r, a, addr := encrypted(t)
	c := r.dialTLS(a, addr)
	c.want("QUIT", "OK")
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("after QUIT: %v, want the end that TLS announces", err)
	}
	half := r.dialTLS(a, addr)
	half.send("PING")
	if err := half.nc.(*tls.Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	half.next("PONG")
	half.ended()
	r.connected(0)
}

func TestSessionsAreResumedUnlessTurnedOff(t *testing.T) {
	for _, x := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--tls-session-caching", "no"}, false}} {
		_, a, addr := encrypted(t, x.args...)
		config := &tls.Config{RootCAs: a.pool(), ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(4)}
		resumed := false
		for range 2 {
			nc, err := handshake(addr, config)
			if err != nil {
				t.Fatal(err)
			}
			resumed = nc.ConnectionState().DidResume
			nc.Close()
		}
		if resumed != x.want {
			t.Errorf("%v: resumed %v", x.args, resumed)
		}
	}
}

// TestManyClientsOverTLS makes them send what ends within records, so that a turn
// finds part of a command, or several.
func TestManyClientsOverTLS(t *testing.T) {
	r, a, addr := encrypted(t)
	done := make(chan error, 16)
	for i := range cap(done) {
		c := r.dialTLS(a, addr)
		go func() {
			text := strings.Repeat(encode("INCR", fmt.Sprint("n", i)), 500)
			go func() {
				for at := 0; at < len(text); at += 37 + i {
					io.WriteString(c.nc, text[at:min(len(text), at+37+i)])
				}
			}()
			lines := bufio.NewReader(c.nc)
			c.nc.SetReadDeadline(time.Now().Add(4 * patience))
			for n := 1; n <= 500; n++ {
				if line, err := lines.ReadString('\n'); line != fmt.Sprintf(":%d\r\n", n) {
					done <- fmt.Errorf("client %d: got %q, %v, want %d", i, line, err, n)
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
