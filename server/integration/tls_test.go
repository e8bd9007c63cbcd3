package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// startTLS runs a server that speaks TLS only, and returns its address and what a client
// trusts. Its certificate is its own authority.
func startTLS(t *testing.T) (string, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vigil"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if err := errors.Join(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := conf.Load([]string{"--tls-port", "1", "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-auth-clients", "no"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeTLS(l) }()
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, server.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String(), pool
}

func TestGoRedisSpeaksTLS(t *testing.T) {
	addr, pool := startTLS(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, TLSConfig: &tls.Config{RootCAs: pool, MaxVersion: version}})
		defer c.Close()
		ctx := t.Context()
		large := make([]byte, 1<<20)
		rand.Read(large)
		if err := c.Set(ctx, "large", large, 0).Err(); err != nil {
			t.Fatalf("%s: SET: %v", tls.VersionName(version), err)
		}
		if got, err := c.Get(ctx, "large").Bytes(); err != nil || string(got) != string(large) {
			t.Errorf("%s: GET: %d bytes, %v; want those that were set", tls.VersionName(version), len(got), err)
		}
		pipe := c.Pipeline()
		for range 1000 {
			pipe.Incr(ctx, tls.VersionName(version))
		}
		if replies, err := pipe.Exec(ctx); err != nil || replies[999].(*redis.IntCmd).Val() != 1000 {
			t.Errorf("%s: pipeline: %v", tls.VersionName(version), err)
		}
		sub := c.Subscribe(ctx, "news")
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Publish(ctx, "news", "x").Result(); err != nil || n != 1 {
			t.Errorf("%s: PUBLISH: %d, %v; want 1", tls.VersionName(version), n, err)
		}
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "x" {
			t.Errorf("%s: message: %v, %v", tls.VersionName(version), m, err)
		}
		sub.Close()
		done := make(chan error, 1)
		go func() { done <- c.BLPop(ctx, 0, "queue").Err() }()
		if err := c.RPush(ctx, "queue", "v").Err(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: BLPOP: %v", tls.VersionName(version), err)
		}
	}
}

func TestGoRedisRefusesAServerItDoesNotTrust(t *testing.T) {
	addr, _ := startTLS(t)
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, TLSConfig: &tls.Config{RootCAs: x509.NewCertPool()}})
	defer c.Close()
	var unknown x509.UnknownAuthorityError
	if err := c.Ping(t.Context()).Err(); !errors.As(err, &unknown) {
		t.Errorf("PING: %v, want an unknown authority", err)
	}
	plain := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer plain.Close()
	if err := plain.Ping(t.Context()).Err(); err == nil {
		t.Error("a client without TLS was served")
	}
}
