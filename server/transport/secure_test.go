package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// testTLS is a configuration with a certificate of its own.
func testTLS(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, DynamicRecordSizingDisabled: true}
}

// dialled is the two ends of a TCP connection.
func dialled(t *testing.T) (own, other net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if other, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if own, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return own, other
}

// secure serves an encrypted connection, whose client is returned.
func (r *rig) secure() (*lineSession, *client) {
	r.t.Helper()
	own, other := dialled(r.t)
	h := NewHandshakes()
	r.t.Cleanup(h.Close)
	opened := make(chan net.Conn, 1)
	if err := h.Begin(own, testTLS(r.t), func(nc net.Conn, err error) { opened <- nc }); err != nil {
		r.t.Fatal(err)
	}
	mine := tls.Client(other, &tls.Config{InsecureSkipVerify: true})
	if err := mine.Handshake(); err != nil {
		r.t.Fatal(err)
	}
	return r.open(<-opened, mine)
}

func TestTLSOnBothTransports(t *testing.T) {
	for _, loops := range []bool{true, false} {
		r := newRig(t, echo)
		if !loops {
			started := r.loops
			defer func() { r.loops = started }() // to be ended
			r.loops = NewLoops(started.host)     // not started: a goroutine serves
		}
		s, c := r.secure()
		c.send("a\nb\n")
		c.want("a")
		c.want("b")
		s.conn.Wake()
		until(t, "the session is resumed", func() bool { return s.resumes.Load() > 0 })
		c.send("c\n")
		c.want("c")
		s.conn.HangUp()
		c.ended()
		until(t, "the session has left", func() bool { return s.left.Load() == 1 })
	}
}

// TestRecordsThatEpollDoesNotSeeAreRead sends many records at once while the
// session can run only one line a time: it waits for its client to read, and for
// the device.
func TestRecordsThatEpollDoesNotSeeAreRead(t *testing.T) {
	long := strings.Repeat("y", 300<<10)
	r := newRig(t, func(s *lineSession, line string) {
		if strings.HasPrefix(line, "long") {
			line += long
		}
		if strings.HasPrefix(line, "sync") {
			s.lsn = uint64(len(s.r.t.Name()))
		}
		echo(s, line)
	})
	_, c := r.secure()
	const n = 200
	go func() {
		for i := range n {
			switch i % 3 {
			case 0:
				fmt.Fprintf(c.nc, "long%d\n", i)
			case 1:
				fmt.Fprintf(c.nc, "sync%d\n", i)
			default:
				fmt.Fprintf(c.nc, "%d\nx", i) // a record ends within a line
				fmt.Fprintf(c.nc, "%d\n", i)
			}
		}
	}()
	for i := range n {
		switch i % 3 {
		case 0:
			c.want(fmt.Sprint("long", i, long))
		case 1:
			if i == 1 {
				r.store.sync(1000, nil)
			}
			c.want(fmt.Sprint("sync", i))
		default:
			c.want(fmt.Sprint(i))
			c.want(fmt.Sprint("x", i))
		}
	}
}

func TestSilentHandshakesMakeRoom(t *testing.T) {
	h := NewHandshakes()
	defer h.Close()
	h.slots = make(chan struct{}, 2)
	h.time, h.grace = time.Hour, 0
	config := testTLS(t)
	ended := make(chan error, 10)
	for range 6 {
		own, _ := dialled(t)
		if err := h.Begin(own, config, func(_ net.Conn, err error) { ended <- err }); err != nil {
			t.Fatal(err)
		}
		if n := h.Count(); n > 2 {
			t.Fatalf("%d handshakes are open", n)
		}
	}
	for range 4 {
		if err := <-ended; err == nil {
			t.Error("a silent client was let in")
		}
	}
	own, other := dialled(t)
	go tls.Client(other, &tls.Config{InsecureSkipVerify: true}).Handshake()
	done := make(chan error, 1)
	if err := h.Begin(own, config, func(_ net.Conn, err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a client behind silent ones: %v", err)
	}
}

func TestHandshakesEnd(t *testing.T) {
	h := NewHandshakes()
	h.time = time.Millisecond
	config := testTLS(t)
	ended := make(chan error, 2)
	report := func(_ net.Conn, err error) { ended <- err }
	own, other := dialled(t)
	io.WriteString(other, "\x16\x03\x01") // and nothing else
	if err := h.Begin(own, config, report); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a handshake that takes too long goes on")
	}
	h.time = time.Hour
	own, _ = dialled(t)
	if err := h.Begin(own, config, report); err != nil {
		t.Fatal(err)
	}
	h.Close()
	h.Close()
	if err := <-ended; err == nil {
		t.Error("Close leaves a handshake open")
	}
	own, _ = dialled(t)
	if err := h.Begin(own, config, report); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// recorder keeps what a client receives.
type recorder struct {
	net.Conn
	received []byte
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.received = append(r.received, b[:n]...)
	return n, err
}

func TestLastRecordSaysGoodbye(t *testing.T) {
	for _, loops := range []bool{true, false} {
		r := newRig(t, echo)
		if !loops {
			started := r.loops
			defer func() { r.loops = started }()
			r.loops = NewLoops(started.host)
		}
		own, other := dialled(t)
		h := NewHandshakes()
		opened := make(chan net.Conn, 1)
		if err := h.Begin(own, testTLS(t), func(nc net.Conn, err error) { opened <- nc }); err != nil {
			t.Fatal(err)
		}
		// In TLS 1.2 anybody can read what kind a record is.
		seen := &recorder{Conn: other}
		mine := tls.Client(seen, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		if err := mine.Handshake(); err != nil {
			t.Fatal(err)
		}
		_, c := r.open(<-opened, mine)
		c.send("bye\n")
		c.want("bye")
		c.ended()
		kind := byte(0) // 21 is an alert
		for rest := seen.received; len(rest) >= 5; {
			kind = rest[0]
			rest = rest[5+int(rest[3])<<8+int(rest[4]):]
		}
		if kind != 21 {
			t.Errorf("loops %v: the last record is of kind %d, want an alert", loops, kind)
		}
	}
}
