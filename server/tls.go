package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/transport"
)

// secure is what encrypted connections share (ADR 0037).
type secure struct {
	srv        *Server
	handshakes *transport.Handshakes
	config     atomic.Pointer[tls.Config] // of new connections; nil without tls-port
	shown      atomic.Pointer[shownCerts] // the certificates of config; nil without

	mu sync.Mutex
	// undo is what a change replaced, for the case that another hook refuses it;
	// guarded by mu.
	undo struct {
		settings *conf.Settings
		config   *tls.Config
		shown    *shownCerts
	}
}

// tlsDirectives are those whose change makes the server read certificates.
var tlsDirectives = []string{"tls-port", "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file",
	"tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphers", "tls-ciphersuites", "tls-session-caching"}

// tlsClients translates the configuration's names to those of certs.
var tlsClients = map[conf.TLSAuth]certs.ClientAuth{conf.TLSAuthNo: certs.NoClients, conf.TLSAuthYes: certs.EveryClient,
	conf.TLSAuthOptional: certs.OptionalClients}

// read reads the files that the configuration names; nil without tls-port. The options may have what is
// used in their place.
func (k *secure) read(set *conf.Settings) (*tls.Config, error) {
	srv := k.srv
	if srv.opts.TLS != nil {
		return srv.opts.TLS, nil
	}
	if set.TLSPort == 0 {
		return nil, nil
	}
	c, err := certs.Options{CertFile: set.TLSCertFile, KeyFile: set.TLSKeyFile, KeyPass: set.TLSKeyFilePass,
		CAFile: set.TLSCACertFile, CADir: set.TLSCACertDir, Clients: tlsClients[set.TLSAuthClients],
		Protocols: set.TLSProtocols, Ciphers: set.TLSCiphers, CipherSuites: set.TLSCipherSuites,
		Tickets: set.TLSSessionCaching}.Config()
	if err != nil {
		return nil, err
	}
	c.Time = srv.clock.Now
	if end := c.Certificates[0].Leaf.NotAfter; srv.clock.Now().After(end) {
		srv.logf(logWarning, "the certificate %s has expired on %s: clients will refuse it", set.TLSCertFile, end.Format(time.DateOnly))
	}
	return c, nil
}

// open reads the certificates when the server starts.
func (k *secure) open() error {
	k.handshakes = transport.NewHandshakes()
	c, err := k.read(k.srv.settings().conf)
	if err != nil {
		return fmt.Errorf("failed to configure TLS: %w", err)
	}
	k.use(c, k.srv.settings().conf)
	return nil
}

// use has new connections use a configuration, which was read for some settings.
func (k *secure) use(c *tls.Config, set *conf.Settings) {
	k.config.Store(c)
	if c == nil {
		k.shown.Store(nil)
		return
	}
	k.shown.Store(showCerts(set))
}

// change is the hook of CONFIG SET. Clients that are connected keep what they
// have.
func (k *secure) change(_, new *conf.Settings) error {
	srv := k.srv
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.undo.settings == new {
		k.config.Store(k.undo.config)
		k.shown.Store(k.undo.shown)
		return nil
	}
	c, err := k.read(new)
	if old := srv.settings().conf; c == srv.opts.TLS && c != nil && !sameTLS(old, new) {
		err = errGivenTLS
	}
	if err != nil {
		srv.logf(logWarning, "TLS is not changed: %v", err)
		//lint:ignore ST1005 the text is Redis's
		return fmt.Errorf("Unable to update TLS configuration: %w", err)
	}
	k.undo.settings, k.undo.config, k.undo.shown = srv.settings().conf, k.config.Load(), k.shown.Load()
	k.use(c, new)
	return nil
}

// ReloadTLS reads the certificates again; new connections use them. After an error
// everything is as it was before. Without tls-port it does nothing.
func (srv *Server) ReloadTLS() error {
	k := &srv.secure
	k.mu.Lock()
	defer k.mu.Unlock()
	c, err := k.read(srv.config.Settings())
	if err != nil {
		return fmt.Errorf("TLS is not changed: %w", err)
	}
	k.use(c, srv.config.Settings())
	return nil
}

// errGivenTLS is the error of a CONFIG SET of what Options.TLS says in its place.
var errGivenTLS = errors.New("the program that the server is part of has given it the certificates")

// sameTLS reports whether two configurations encrypt in the same way, be it on another port.
func sameTLS(a, b *conf.Settings) bool {
	return a.TLSCertFile == b.TLSCertFile && a.TLSKeyFile == b.TLSKeyFile && a.TLSKeyFilePass == b.TLSKeyFilePass &&
		a.TLSCACertFile == b.TLSCACertFile && a.TLSCACertDir == b.TLSCACertDir && a.TLSAuthClients == b.TLSAuthClients &&
		a.TLSProtocols == b.TLSProtocols && a.TLSCiphers == b.TLSCiphers && a.TLSCipherSuites == b.TLSCipherSuites &&
		a.TLSSessionCaching == b.TLSSessionCaching
}

// errNoTLS is the end of a listener that was to be encrypted.
var errNoTLS = errors.New("server: there are no certificates: neither Options.TLS nor tls-port names some")

// ServeTLS is Serve for encrypted connections, with the certificates of Options.TLS or of
// the configuration.
func (srv *Server) ServeTLS(l net.Listener) error {
	if srv.secure.config.Load() == nil {
		return errNoTLS
	}
	return srv.serve(l, srv.secure.accept)
}

// accept begins the handshake of a client. One that is not admitted is cut
// without a word, as nothing can be said before the handshake.
func (k *secure) accept(nc net.Conn) {
	srv := k.srv
	config := k.config.Load()
	srv.mu.Lock()
	if srv.closed || config == nil {
		srv.mu.Unlock()
		nc.Close()
		return
	}
	srv.workers.Add(1) // for the handshake
	srv.mu.Unlock()
	if srv.clients.count()+k.handshakes.Count() >= srv.settings().maxClients {
		srv.stats.rejectedClients.Add(1)
		nc.Close()
		srv.workers.Done()
		return
	}
	srv.tune(nc)
	err := k.handshakes.Begin(nc, config, func(encrypted net.Conn, err error) {
		defer srv.workers.Done()
		if err != nil {
			srv.logf(logVerbose, "Error accepting a client connection: %v (addr=%s laddr=%s)", err, nc.RemoteAddr(), nc.LocalAddr())
			return
		}
		srv.accept(encrypted)
	})
	if err != nil {
		srv.workers.Done()
	}
}

// infoListeners shows the sockets, a line for each kind.
func infoListeners(t *info.Text, s *session) {
	k := &s.srv.sockets
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, x := range []struct {
		name string
		f    *family
	}{{"tcp", &k.plain}, {"tls", &k.secure}} {
		if len(x.f.open) == 0 {
			continue
		}
		line := "name=" + x.name
		for _, s := range x.f.open {
			line += ",bind=" + s.host
		}
		info.Field(t, fmt.Sprintf("listener%d", n), fmt.Sprintf("%s,port=%d", line, x.f.port.Load()))
		n++
	}
	if path := s.srv.settings().conf.UnixSocket; path != "" && k.listening {
		info.Field(t, fmt.Sprintf("listener%d", n), "name=unix,bind="+path)
	}
}
