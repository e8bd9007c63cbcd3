package server

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// sealer writes records of TLS 1.3 (RFC 8446, 5.2) behind the back of crypto/tls, which
// lets no program ask for new keys.
type sealer struct {
	t      testing.TB
	nc     net.Conn
	suite  uint16
	secret []byte
	sent   uint64 // records with this secret
}

// newSealer takes over a connection on which the client has sent one record. keys is its
// key log.
func newSealer(t testing.TB, nc *tls.Conn, keys string) *sealer {
	t.Helper()
	for line := range strings.Lines(keys) {
		if words := strings.Fields(line); words[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(words[2])
			if err != nil {
				t.Fatal(err)
			}
			return &sealer{t: t, nc: nc.NetConn(), suite: nc.ConnectionState().CipherSuite, secret: secret, sent: 1}
		}
	}
	t.Fatalf("no secret in %q", keys)
	return nil
}

// expand is HKDF-Expand-Label with an empty context.
func (s *sealer) expand(label string, size int) []byte {
	label = "tls13 " + label
	info := append(binary.BigEndian.AppendUint16(nil, uint16(size)), byte(len(label)))
	key, err := hkdf.Expand(sha256.New, s.secret, string(append(append(info, label...), 0)), size)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// aead is what records are sealed with: AES, or ChaCha20 on a processor without it.
func (s *sealer) aead() (aead cipher.AEAD) {
	var err error
	switch s.suite {
	case tls.TLS_AES_128_GCM_SHA256:
		var block cipher.Block
		if block, err = aes.NewCipher(s.expand("key", 16)); err == nil {
			aead, err = cipher.NewGCM(block)
		}
	case tls.TLS_CHACHA20_POLY1305_SHA256:
		aead, err = chacha20poly1305.New(s.expand("key", chacha20poly1305.KeySize))
	default:
		err = fmt.Errorf("cipher suite %x", s.suite)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return aead
}

func (s *sealer) seal(kind byte, message []byte) []byte {
	aead := s.aead()
	nonce := s.expand("iv", aead.NonceSize())
	for i, b := range binary.BigEndian.AppendUint64(nil, s.sent) {
		nonce[len(nonce)-8+i] ^= b
	}
	s.sent++
	inner := append(bytes.Clone(message), kind)
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(inner)+aead.Overhead()))
	return aead.Seal(head, nonce, inner, head)
}

// keyUpdate is a request for new keys of both sides.
func (s *sealer) keyUpdate() []byte {
	record := s.seal(22, []byte{24, 0, 0, 1, 1})
	s.secret, s.sent = s.expand("traffic upd", 32), 0
	return record
}

// flooder is a client whose records a test makes.
func (r *rig) flooder(a *authority, addr string) *sealer {
	r.t.Helper()
	var keys bytes.Buffer
	nc, err := handshake(addr, &tls.Config{RootCAs: a.pool(), MinVersion: tls.VersionTLS13, KeyLogWriter: &keys})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.NetConn().Close() })
	return newSealer(r.t, nc, keys.String())
}

func TestChangesOfKeysAloneEndTheClient(t *testing.T) {
	r, a, addr := encrypted(t)
	c, flood := r.dialTLS(a, addr), r.flooder(a, addr)
	var all []byte
	for range 100 {
		all = append(all, flood.keyUpdate()...)
	}
	flood.nc.Write(all) // which may fail: the server leaves before the end
	flood.nc.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, flood.nc); os.IsTimeout(err) {
		t.Error("a client that only changes keys is kept")
	}
	c.want("PING", "PONG")
	r.connected(1)
}

// Each change of keys is answered with a record. A client that does not read them is
// not read on.
func TestChangesOfKeysBetweenCommandsHoldNoMemory(t *testing.T) {
	r, a, addr := encrypted(t)
	c, flood := r.dialTLS(a, addr), r.flooder(a, addr)
	var some []byte
	for range 500 {
		for range 8 {
			some = append(some, flood.keyUpdate()...)
		}
		some = append(some, flood.seal(23, []byte("PING\r\n"))...)
	}
	if _, err := flood.nc.Write(some); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(io.Discard, io.LimitReader(flood.nc, 500*(8*27+29))) // its records and the replies
	}()
	for range 50 {
		c.want("PING", "PONG")
	}
	<-done
	r.until("all commands were run", func() bool { return strings.Contains(c.do("INFO", "commandstats"), "cmdstat_ping:calls=552") })
	r.connected(2)
}

func TestCertificatesAreReplacedUnderLoad(t *testing.T) {
	r, a, addr := encrypted(t)
	stays := r.dialTLS(a, addr)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			last := int64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()})
				if err != nil {
					t.Errorf("a client that came during a change: %v", err)
					return
				}
				serial := nc.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
				nc.Close()
				if serial < last {
					t.Errorf("certificate %d after %d", serial, last)
				}
				last = serial
			}
		})
	}
	for range 20 {
		a.make("server", nil)
		if err := r.srv.ReloadTLS(); err != nil {
			t.Error(err)
		}
		stays.want("PING", "PONG")
	}
	close(stop)
	clients.Wait()
	nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if got := nc.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != a.last {
		t.Errorf("certificate %d at the end, want %d", got, a.last)
	}
}
