package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files are the certificates of one authority.
type files struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newFiles(t *testing.T) *files {
	f := &files{t: t, dir: t.TempDir()}
	f.cert, f.key = f.add("ca", func(c *x509.Certificate) { c.IsCA = true })
	return f
}

// add writes name.crt and name.key, signed by the authority, or by itself if there is none yet.
func (f *files) add(name string, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey) {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(9, 0, 0), BasicConstraintsValid: true}
	if change != nil {
		change(c)
	}
	parent, signer := f.cert, f.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		f.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.t.Fatal(err)
	}
	for end, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(f.dir, name+end), pem.EncodeToMemory(block), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		f.t.Fatal(err)
	}
	return cert, key
}

// options are those of a member with the certificate of a name.
func (f *files) options(name string) Options {
	at := func(file string) string { return filepath.Join(f.dir, file) }
	return Options{CertFile: at(name + ".crt"), KeyFile: at(name + ".key"), CAFile: at("ca.crt")}
}

// meet makes a member accept what another one dials, and returns what both make of it.
func meet(t *testing.T, accepts, dials Options) (accepted, dialled error) {
	t.Helper()
	accept, _, err := accepts.Members()
	if err != nil {
		t.Fatal(err)
	}
	_, dial, err := dials.Members()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1) // the one result
	go func() {
		a, err := l.Accept()
		if err == nil {
			_, err = tls.Server(a, accept).Write([]byte("x"))
			a.Close()
		}
		done <- err
	}()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, dialled = tls.Client(b, dial).Read(make([]byte, 1))
	return <-done, dialled
}

// Members of one authority reach each other, whatever names are in their certificates. Others
// do not, on either side.
func TestMembersOfOneAuthorityReachEachOther(t *testing.T) {
	ours, theirs := newFiles(t), newFiles(t)
	ours.add("a", nil)
	ours.add("b", func(c *x509.Certificate) { c.DNSNames = []string{"elsewhere"} })
	ours.add("old", func(c *x509.Certificate) { c.NotAfter = time.Unix(1, 0) })
	ours.add("client", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	ours.add("server", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	theirs.add("a", nil)
	stranger := theirs.options("a")
	stranger.CAFile = ours.options("a").CAFile // so that it trusts the others
	for name, x := range map[string]struct {
		accepts, dials Options
		by             string // the side that refuses, "" for none
		want           string
	}{
		"two members":                       {ours.options("a"), ours.options("b"), "", ""},
		"a stranger dials":                  {ours.options("a"), stranger, "accepts", "unknown authority"},
		"a stranger accepts":                {stranger, ours.options("a"), "dials", "unknown authority"},
		"an expired certificate dials":      {ours.options("a"), ours.options("old"), "accepts", "expired"},
		"an expired certificate accepts":    {ours.options("old"), ours.options("a"), "dials", "expired"},
		"a certificate of clients accepts":  {ours.options("client"), ours.options("a"), "dials", "incompatible key usage"},
		"a certificate of servers dials":    {ours.options("a"), ours.options("server"), "accepts", "incompatible key usage"},
		"a certificate for servers accepts": {ours.options("server"), ours.options("a"), "", ""},
	} {
		accepted, dialled := meet(t, x.accepts, x.dials)
		refused := accepted
		if x.by == "dials" {
			refused = dialled
		}
		if x.by == "" && errors.Join(accepted, dialled) != nil || x.by != "" && (refused == nil || !strings.Contains(refused.Error(), x.want) || accepted == nil || dialled == nil) {
			t.Errorf("%s: accepting: %v, dialling: %v", name, accepted, dialled)
		}
	}
}

// A member without authorities would trust everything: it does not begin.
func TestMembersNeedAuthorities(t *testing.T) {
	f := newFiles(t)
	f.add("a", nil)
	o := f.options("a")
	o.CAFile = ""
	if _, _, err := o.Members(); err == nil || !strings.Contains(err.Error(), "tls-ca-cert-file") {
		t.Errorf("got %v", err)
	}
	o = f.options("a")
	o.CertFile = ""
	if _, _, err := o.Members(); err == nil || !strings.Contains(err.Error(), "no tls-cert-file") {
		t.Errorf("got %v", err)
	}
	o = f.options("a")
	o.Protocols = "TLSv1.3"
	accept, dial, err := o.Members()
	if err != nil || accept.MinVersion != tls.VersionTLS13 || dial.MinVersion != tls.VersionTLS13 {
		t.Errorf("tls-protocols is not obeyed: %v", err)
	}
}
