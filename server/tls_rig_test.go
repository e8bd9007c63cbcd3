package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs the certificates of a test.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.make("ca", nil)
	return a
}

// make writes name.crt and name.key. change may alter the certificate.
func (a *authority) make(name string, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	c := &x509.Certificate{SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true}
	if change != nil {
		change(c)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		c.IsCA, parent, signer = true, c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", private)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// pool trusts the authority alone.
func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// pair is a certificate for a client.
func (a *authority) pair(name string) []tls.Certificate {
	a.t.Helper()
	c, err := tls.LoadX509KeyPair(a.path(name+".crt"), a.path(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return []tls.Certificate{c}
}

// encrypted is a rig that listens with TLS alone, for clients without certificates
// unless the arguments say otherwise.
func encrypted(t *testing.T, args ...string) (*rig, *authority, string) {
	t.Helper()
	a := newAuthority(t)
	a.make("server", nil)
	r, addrs := listening(t, append([]string{"--port", "0", "--tls-port", "auto", "--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", a.path("server.crt"), "--tls-key-file", a.path("server.key"), "--tls-ca-cert-file", a.path("ca.crt")}, args...)...)
	return r, a, addrs[0].String()
}

// handshake connects and sends PING. The first read tells what the server makes of
// the client's certificate.
func handshake(addr string, config *tls.Config) (*tls.Conn, error) {
	nc, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, config)
	if err != nil {
		return nil, err
	}
	nc.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(nc, "PING\r\n")
	b := make([]byte, 7)
	if _, err := nc.Read(b); err != nil {
		nc.Close()
		return nil, err
	}
	nc.SetDeadline(time.Time{})
	if string(b) != "+PONG\r\n" {
		return nil, fmt.Errorf("got %q", b)
	}
	return nc, nil
}

// dialTLS connects a client.
func (r *rig) dialTLS(a *authority, addr string) *testClient {
	r.t.Helper()
	nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()})
	if err != nil {
		r.t.Fatal(err)
	}
	return newTestClient(r.t, nc)
}
