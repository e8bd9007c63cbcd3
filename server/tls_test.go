package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestVersionsAndCiphersAreThoseConfigured(t *testing.T) {
	for _, x := range []struct {
		args   []string
		client *tls.Config
		ok     bool
	}{
		{nil, &tls.Config{}, true},
		{nil, &tls.Config{MaxVersion: tls.VersionTLS12}, true},
		{nil, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		{[]string{"--tls-protocols", "TLSv1.3"}, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		{[]string{"--tls-protocols", "TLSv1.2"}, &tls.Config{MinVersion: tls.VersionTLS13}, false},
		{[]string{"--tls-protocols", "tlsv1.1 TLSv1.2"}, &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11}, true},
		{[]string{"--tls-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"}, &tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}, false},
		{[]string{"--tls-ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384"}, &tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}}, true},
	} {
		_, a, addr := encrypted(t, x.args...)
		config := x.client.Clone()
		config.RootCAs = a.pool()
		nc, err := handshake(addr, config)
		if (err == nil) != x.ok {
			t.Errorf("%v, client %x-%x: %v", x.args, x.client.MinVersion, x.client.MaxVersion, err)
		}
		if err == nil {
			nc.Close()
		}
	}
}

func TestClientCertificates(t *testing.T) {
	other := newAuthority(t)
	other.make("stranger", nil)
	for _, x := range []struct{ mode, client, want string }{
		{"yes", "client", ""},
		{"yes", "", "certificate required"},
		{"yes", "expired", "expired certificate"},
		{"yes", "stranger", "unknown certificate authority"},
		{"optional", "client", ""},
		{"optional", "", ""},
		{"optional", "stranger", "unknown certificate authority"},
		{"no", "", ""},
		{"no", "stranger", ""},
	} {
		_, a, addr := encrypted(t, "--tls-auth-clients", x.mode)
		a.make("client", nil)
		a.make("expired", func(c *x509.Certificate) { c.NotAfter = time.Unix(1e9, 0) })
		config := &tls.Config{RootCAs: a.pool()}
		if x.client == "stranger" {
			config.Certificates = other.pair(x.client)
		} else if x.client != "" {
			config.Certificates = a.pair(x.client)
		}
		if len(config.Certificates) > 0 {
			// Go's client would not send a certificate of an unknown authority.
			cert := config.Certificates[0]
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
		}
		nc, err := handshake(addr, config)
		if err == nil {
			nc.Close()
		}
		if got := fmt.Sprint(err); x.want == "" && err != nil || x.want != "" && !strings.Contains(got, x.want) {
			t.Errorf("tls-auth-clients %s, certificate %q: got %v, want %q", x.mode, x.client, err, x.want)
		}
	}
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	a := newAuthority(t)
	a.make("server", nil)
	a.make("other", nil)
	if err := os.WriteFile(a.path("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ args, want string }{
		{"", "no tls-cert-file configured"},
		{"--tls-cert-file {server.crt}", "no tls-key-file configured"},
		{"--tls-cert-file {server.crt} --tls-key-file {server.key}", "tls-auth-clients needs tls-ca-cert-file"},
		{"--tls-cert-file {none} --tls-key-file {server.key} --tls-auth-clients no", "tls-cert-file {none}: no such file"},
		{"--tls-cert-file {server.crt} --tls-key-file {none} --tls-auth-clients no", "tls-key-file {none}: no such file"},
		{"--tls-cert-file {empty} --tls-key-file {server.key} --tls-auth-clients no", "{empty}: no certificate in PEM form"},
		{"--tls-cert-file {server.crt} --tls-key-file {empty} --tls-auth-clients no", "{empty}: no key in PEM form"},
		{"--tls-cert-file {server.crt} --tls-key-file {other.key} --tls-auth-clients no", "private key does not match public key"},
		{"--tls-cert-file {server.crt} --tls-key-file {server.key} --tls-ca-cert-file {server.key}", "tls-ca-cert-file {server.key}: no certificate"},
		{"--tls-cert-file {server.crt} --tls-key-file {server.key} --tls-ca-cert-dir {none}", "tls-ca-cert-dir {none}: no such file"},
		{"--tls-cert-file {server.crt} --tls-key-file {server.key} --tls-ca-cert-dir {.}", ""},
		{"--tls-cert-file {.} --tls-key-file {server.key} --tls-auth-clients no", ": not a file"},
	} {
		full := strings.NewReplacer("{", a.dir+"/", "}", "")
		args := append([]string{"--tls-port", "auto"}, strings.Fields(full.Replace(x.args))...)
		srv, err := Open(context.Background(), Options{Config: testConfig(t, args...), InMemory: true})
		if err == nil {
			srv.Close(context.Background())
		}
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), full.Replace(x.want)) {
			t.Errorf("%s: got %v, want %q", x.args, err, x.want)
		}
	}
}

func TestCertificatesAreReplacedAtRunTime(t *testing.T) {
	r, a, addr := encrypted(t)
	stays := r.dialTLS(a, addr)
	serial := func() int64 {
		t.Helper()
		nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()})
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		return nc.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	first := serial()
	shows := func(serial int64, more string) {
		t.Helper()
		text := fmt.Sprintf("%X", serial)
		if len(text)%2 == 1 {
			text = "0" + text
		}
		if got := stays.do("INFO", "tls"); !strings.Contains(got, "tls_server_cert_serial:"+text+`\r\n`) || !strings.Contains(got, more) {
			t.Errorf("INFO tls: %s, want serial %s and %q", got, text, more)
		}
	}
	shows(first, `tls_client_cert_serial:none\r\ntls_client_cert_expires_in_seconds:0\r\n`)
	a.make("server", nil) // as a renewal does
	if got := serial(); got != first {
		t.Errorf("new files are used without being asked: %d", got)
	}
	stays.want("CONFIG SET tls-cert-file "+a.path("server.crt"), "OK")
	if got := serial(); got != first+1 {
		t.Errorf("certificate %d, want %d", got, first+1)
	}
	shows(first+1, "")
	a.make("server", nil)
	if err := r.srv.ReloadTLS(); err != nil || serial() != first+2 {
		t.Errorf("reload: %v, certificate %d, want %d", err, serial(), first+2)
	}
	if err := os.WriteFile(a.path("server.key"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.srv.ReloadTLS(); err == nil || serial() != first+2 {
		t.Errorf("reload of a torn key: %v, certificate %d", err, serial())
	}
	if got := stays.do("CONFIG", "SET", "tls-key-file", a.path("none")); !strings.Contains(got, "possibly related to argument 'tls-key-file'") ||
		!strings.Contains(got, a.path("none")+": no such file") {
		t.Errorf("CONFIG SET of a missing file: %s", got)
	}
	a.make("next", nil)
	before := fmt.Sprint(serial())
	if got := stays.do("CONFIG", "SET", "tls-cert-file", a.path("next.crt"), "tls-key-file", a.path("next.key"), "bind", "192.0.2.1"); !strings.HasPrefix(got, "(error)") || fmt.Sprint(serial()) != before {
		t.Errorf("a change that was refused later: %s, certificate %d, want %s", got, serial(), before)
	}
	shows(first+2, "") // and not what was refused
	stays.want("PING", "PONG")
}

func TestPlainAndEncryptedPortsMoveTogether(t *testing.T) {
	r, a, addr := encrypted(t)
	c := r.dialTLS(a, addr)
	c.want("CONFIG SET port auto", "OK")
	if !r.reach(fmt.Sprintf("127.0.0.1:%d", r.srv.sockets.plain.port.Load())) {
		t.Error("the plain port does not listen")
	}
	c.want("CONFIG SET tls-port 0", "OK")
	if nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()}); err == nil {
		nc.Close()
		t.Error("tls-port 0 goes on to listen")
	}
	c.want("PING", "PONG")
	port := freePort(t)
	c.want(fmt.Sprintf("CONFIG SET tls-port %d bind 127.0.0.1", port), "OK")
	r.dialTLS(a, fmt.Sprintf("127.0.0.1:%d", port)).want("PING", "PONG")
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	plain := r.srv.sockets.plain.port.Load()
	got := c.do("CONFIG", "SET", "port", "0", "tls-port", fmt.Sprint(other.Addr().(*net.TCPAddr).Port))
	if !strings.Contains(got, "Unable to listen on this port") || !r.reach(fmt.Sprintf("127.0.0.1:%d", plain)) {
		t.Errorf("tls-port that is taken: %s", got)
	}
	if info := c.do("INFO", "server"); !strings.Contains(info, fmt.Sprintf("listener1:name=tls,bind=127.0.0.1,port=%d", port)) {
		t.Errorf("INFO: %s", info)
	}
}

func TestWhatIsNoTLSIsCutAndHarmsNobody(t *testing.T) {
	r, a, addr := encrypted(t)
	c := r.dialTLS(a, addr)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		b := []byte("PING\r\n*1\r\n$4\r\nPING\r\n")
		if i > 0 {
			b = make([]byte, 1+random.IntN(600))
			for j := range b {
				b[j] = byte(random.Uint32())
			}
			if i%2 == 0 {
				b[0], b = 22, append(b, 3, 1, 0, 200) // looks like a handshake at first
			}
		}
		nc.Write(b)
		nc.(*net.TCPConn).CloseWrite()
		nc.SetReadDeadline(time.Now().Add(patience))
		if reply, err := io.ReadAll(nc); strings.Contains(string(reply), "PONG") || os.IsTimeout(err) {
			t.Errorf("%.20q: got %q, %v", b, reply, err)
		}
		nc.Close()
	}
	c.want("PING", "PONG")
	r.connected(1)
}

func TestRandomBytesAfterTheHandshakeCutTheClient(t *testing.T) {
	r, a, addr := encrypted(t)
	c := r.dialTLS(a, addr)
	for i := range 10 {
		nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()})
		if err != nil {
			t.Fatal(err)
		}
		nc.NetConn().Write([]byte{byte(20 + i%5), 3, 3, 0, 30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
			17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30})
		nc.SetReadDeadline(time.Now().Add(patience))
		if n, err := nc.Read(make([]byte, 1)); n > 0 || os.IsTimeout(err) {
			t.Errorf("record %d: %d bytes, %v", i, n, err)
		}
		nc.Close()
	}
	c.want("PING", "PONG")
	r.connected(1)
}

func TestHalfOpenHandshakesCountAgainstMaxclients(t *testing.T) {
	r, a, addr := encrypted(t, "--maxclients", "3")
	c := r.dialTLS(a, addr)
	var silent []net.Conn
	for range 2 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		silent = append(silent, nc)
	}
	r.until("two handshakes are open", func() bool { return r.srv.secure.handshakes.Count() == 2 })
	if nc, err := handshake(addr, &tls.Config{RootCAs: a.pool()}); err == nil {
		nc.Close()
		t.Error("a fourth client was admitted")
	}
	c.want("PING", "PONG")
	for _, nc := range silent {
		nc.Close()
	}
	r.until("none is open", func() bool { return r.srv.secure.handshakes.Count() == 0 })
	r.dialTLS(a, addr).want("PING", "PONG")
}

func TestServerClosesWhileHandshakesAreOpen(t *testing.T) {
	r, _, addr := encrypted(t)
	for range 20 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	r.until("they are open", func() bool { return r.srv.secure.handshakes.Count() == 20 })
	began := time.Now()
	if err := r.srv.Close(context.Background()); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("Close: %v after %v", err, time.Since(began))
	}
}
