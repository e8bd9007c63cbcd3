package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signed writes ca.crt, member.crt and member.key into a directory, and returns the arguments
// of a member that has them.
func signed(t *testing.T, dir string) []string {
	t.Helper()
	var issuer *x509.Certificate
	var signer *ecdsa.PrivateKey
	for _, name := range []string{"ca", "member"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(9, 0, 0),
			BasicConstraintsValid: true, IsCA: issuer == nil}
		if issuer == nil {
			issuer, signer = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, issuer, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for end, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
			if err := os.WriteFile(filepath.Join(dir, name+end), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return []string{"--tls-cluster", "yes", "--tls-cert-file", at("member.crt"), "--tls-key-file", at("member.key"), "--tls-ca-cert-file", at("ca.crt")}
}

// logs waits until a server has logged something.
func (g *trio) logs(i int, want string) {
	g.t.Helper()
	if !g.up[i].out.wait(want) {
		g.t.Fatalf("server %d does not log %q:\n%s", i, want, g.up[i].out)
	}
}

// Members connect with TLS. One with the certificate of another authority, and one without TLS,
// take no part, and the log says why; with the right one they do again. SIGHUP has new
// certificates read.
func TestMembersConnectWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := signed(t, dir)
	g := newTrio(t, args...)
	lead := g.leader()
	g.whole()
	lost := (lead + 1) % 3
	for _, x := range []struct {
		name string
		args []string
		want string // in the leader's log
	}{
		{"a stranger", signed(t, t.TempDir()), "certificate signed by unknown authority"},
		{"plain text", nil, "(tls-cluster has to be the same on all members)"},
	} {
		g.up[lost].cmd.Process.Kill()
		g.up[lost].wait()
		rest := g.args
		g.args = append(g.args[:len(g.args)-len(args):len(g.args)-len(args)], x.args...)
		g.start(lost)
		g.args = rest
		g.await(lost)
		g.logs(g.leader(), x.want)
		if got, err := g.call(lost, "GET leader"); err != nil || !strings.HasPrefix(got, "CLUSTERDOWN") {
			t.Errorf("%s: %s, %v", x.name, got, err)
		}
	}
	g.up[lost].cmd.Process.Kill()
	g.up[lost].wait()
	g.start(lost)
	g.await(lost)
	g.whole()

	// With new certificates of a new authority, and SIGHUP, members connect again: those that
	// are connected go on meanwhile.
	signed(t, dir)
	for i := range g.up {
		g.up[i].signal(t, syscall.SIGHUP)
		g.logs(i, "Certificates were read again")
	}
	g.up[lost].cmd.Process.Kill()
	g.up[lost].wait()
	g.start(lost)
	g.await(lost)
	g.whole()
}
