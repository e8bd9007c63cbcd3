package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/acl"
)

// A client is the user whom its certificate names, if that is enabled. A name with a NUL byte is none.
func TestCertificatesNameUsers(t *testing.T) {
	uri := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			for _, name := range names {
				u, err := url.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				c.URIs = append(c.URIs, u)
			}
		}
	}
	both := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.Subject.CommonName = ""
			for _, name := range names {
				c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: commonName, Value: name})
			}
		}
	}
	for _, x := range []struct {
		by, name string
		change   func(*x509.Certificate)
		want     string
		refused  int64
	}{
		{"CN", "alice", nil, "alice", 0},
		{"CN", "bob", nil, "default", 1}, // disabled
		{"CN", "nobody", nil, "default", 1},
		{"CN", "nul", func(c *x509.Certificate) { c.Subject.CommonName = "alice\x00.example.com" }, "default", 1},
		{"CN", "two", both("alice", "nobody"), "alice", 0}, // the first counts
		{"CN", "two", both("nobody", "alice"), "default", 1},
		{"URI", "alice", nil, "default", 1},
		{"URI", "uris", uri("spiffe://none", "spiffe://alice"), "spiffe://alice", 0},
		{"off", "alice", nil, "default", 0},
		{"CN", "", nil, "default", 0},
	} {
		r, a, addr := encrypted(t, "--tls-auth-clients", "optional", "--tls-auth-clients-user", x.by)
		admin := r.dial()
		for _, user := range []string{"alice on", "bob off", "spiffe://alice on"} {
			admin.want("ACL SETUSER "+user+" nopass ~* +@all", "OK")
		}
		config := &tls.Config{RootCAs: a.pool()}
		if x.name != "" {
			a.make(x.name, x.change)
			config.Certificates = a.pair(x.name)
		}
		nc, err := handshake(addr, config)
		if err != nil {
			t.Fatal(err)
		}
		got := newTestClient(t, nc).do("ACL", "WHOAMI")
		nc.Close()
		if got != strconv.Quote(x.want) {
			t.Errorf("tls-auth-clients-user %s, certificate %q: client is %q, want %s", x.by, x.name, got, x.want)
		}
		if n := r.srv.users.refusals.Count(acl.DeniedCertificate); n != x.refused {
			t.Errorf("tls-auth-clients-user %s, certificate %q: %d refused, want %d", x.by, x.name, n, x.refused)
		}
	}
}

// The version that is reported is that of the directive, everywhere.
func TestReportedVersionIsThatOfTheDirective(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--reported-version", "7.2.4") })
	c := r.dial()
	if got := c.do("INFO", "server"); !strings.Contains(got, "redis_version:7.2.4") {
		t.Errorf("INFO: %.200q", got)
	}
	if got := c.do("HELLO"); !strings.Contains(got, `"version" "7.2.4"`) {
		t.Errorf("HELLO: %s", got)
	}
	if got, want := c.do("EVAL", "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}", "0"), `["7.2.4" (int) 459268]`; got != want {
		t.Errorf("EVAL: %s, want %s", got, want)
	}
	if got := c.do("CONFIG", "SET", "reported-version", "8.0.0"); !strings.HasPrefix(got, "(error)") {
		t.Errorf("CONFIG SET: %s", got)
	}
}
