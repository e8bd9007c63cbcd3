package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options are the directives. Empty strings are directives that are not set.
type Options struct {
	CertFile, KeyFile string // PEM; the first certificate is the server's
	KeyPass           string // of an encrypted key
	CAFile, CADir     string // certificates that client certificates lead to
	Clients           ClientAuth
	Protocols         string // "TLSv1.2 TLSv1.3"
	Ciphers           string // of TLS 1.2 and before, as OpenSSL or the RFCs name them, with colons between
	CipherSuites      string // of TLS 1.3
	Tickets           bool   // clients may resume sessions
}

// ClientAuth says which clients need a certificate.
type ClientAuth int

const (
	NoClients       ClientAuth = iota // none is asked for
	EveryClient                       // a client without a valid one is refused
	OptionalClients                   // a client may have none, but not a wrong one
)

// Config reads the files. The sessions of an earlier Config cannot be resumed with
// it: their clients show their certificates again.
func (o Options) Config() (*tls.Config, error) {
	switch {
	case o.CertFile == "":
		return nil, errors.New("no tls-cert-file configured")
	case o.KeyFile == "":
		return nil, errors.New("no tls-key-file configured")
	case o.Clients != NoClients && o.CAFile == "" && o.CADir == "":
		return nil, errors.New("tls-auth-clients needs tls-ca-cert-file or tls-ca-cert-dir (or set it to no)")
	}
	cert, err := o.certificate()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: !o.Tickets,
		// Small records at the beginning are for browsers; here they would cost
		// a system call each.
		DynamicRecordSizingDisabled: true}
	if c.ClientCAs, err = o.authorities(); err != nil {
		return nil, err
	}
	switch o.Clients {
	case EveryClient:
		c.ClientAuth = tls.RequireAndVerifyClientCert
	case OptionalClients:
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if c.MinVersion, c.MaxVersion, err = versions(o.Protocols); err != nil {
		return nil, err
	}
	if c.CipherSuites, err = ciphers(o.Ciphers); err != nil {
		return nil, err
	}
	return c, suites(o.CipherSuites)
}

// certificate reads the server's certificate and its key.
func (o Options) certificate() (tls.Certificate, error) {
	chain, err := read("tls-cert-file", o.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if !hasCertificate(chain) {
		return tls.Certificate{}, fmt.Errorf("tls-cert-file %s: no certificate in PEM form", o.CertFile)
	}
	key, err := read("tls-key-file", o.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if key, err = plainKey(key, []byte(o.KeyPass)); err != nil {
		return tls.Certificate{}, fmt.Errorf("tls-key-file %s: %w", o.KeyFile, err)
	}
	cert, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("tls-cert-file %s with tls-key-file %s: %w", o.CertFile, o.KeyFile, err)
	}
	return cert, nil
}

// authorities reads the certificates that clients are checked with, nil if none is
// named.
func (o Options) authorities() (*x509.CertPool, error) {
	if o.CAFile == "" && o.CADir == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if o.CAFile != "" {
		text, err := read("tls-ca-cert-file", o.CAFile)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls-ca-cert-file %s: no certificate in PEM form", o.CAFile)
		}
	}
	if o.CADir != "" {
		if err := addDir(pool, o.CADir); err != nil {
			return nil, fmt.Errorf("tls-ca-cert-dir %s: %w", o.CADir, err)
		}
	}
	return pool, nil
}

// addDir adds the certificates of all files of a directory. Files without one are
// skipped: keys and lists of revoked certificates lie beside them.
func addDir(pool *x509.CertPool, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return reason(err)
	}
	found := false
	for _, e := range entries {
		text, err := readFile(filepath.Join(dir, e.Name()))
		if err == nil && pool.AppendCertsFromPEM(text) {
			found = true
		}
	}
	if !found {
		return errors.New("no file with a certificate in PEM form")
	}
	return nil
}

// maxFile is the most that a file of certificates may have: the authorities of an
// operating system together are 250 KB.
const maxFile = 4 << 20

func read(directive, path string) ([]byte, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", directive, path, err)
	}
	return text, nil
}

// readFile reads a file that is one: a pipe would be waited for.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	return text, reason(err)
}

// reason is an error of the system without the path, which is named already.
func reason(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Members reads the files for connections between servers that trust each other: both sides
// show the certificate and check the other's with the authorities. Names in certificates are
// not compared, as in Redis: a certificate of one of these authorities makes a member.
func (o Options) Members() (accept, dial *tls.Config, err error) {
	if o.CAFile == "" && o.CADir == "" {
		return nil, nil, errors.New("tls-cluster needs tls-ca-cert-file or tls-ca-cert-dir")
	}
	o.Clients, o.Tickets = EveryClient, false
	if accept, err = o.Config(); err != nil {
		return nil, nil, err
	}
	dial = dialing(accept.ClientCAs)
	dial.Certificates, dial.MinVersion, dial.MaxVersion, dial.CipherSuites = accept.Certificates, accept.MinVersion, accept.MaxVersion, accept.CipherSuites
	return accept, dial, nil
}

// Client reads the files for connections to servers whose certificate has to lead to the authorities. Names in it are not compared, as in
// Redis. Without CertFile none is shown.
func (o Options) Client() (*tls.Config, error) {
	roots, err := o.authorities()
	if err == nil && roots == nil {
		err = errors.New("tls-replication needs tls-ca-cert-file or tls-ca-cert-dir")
	}
	if err != nil {
		return nil, err
	}
	c := dialing(roots)
	if o.CertFile != "" {
		cert, err := o.certificate()
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{cert}
	}
	if c.MinVersion, c.MaxVersion, err = versions(o.Protocols); err != nil {
		return nil, err
	}
	if c.CipherSuites, err = ciphers(o.Ciphers); err != nil {
		return nil, err
	}
	return c, suites(o.CipherSuites)
}

// dialing is how servers are connected to that authorities vouch for.
func dialing(roots *x509.CertPool) *tls.Config {
	return &tls.Config{DynamicRecordSizingDisabled: true,
		// What VerifyConnection does is all of it but the comparison of names.
		InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error { return leadsTo(roots, s.PeerCertificates) }}
}

// leadsTo checks the certificates of a server.
func leadsTo(roots *x509.CertPool, chain []*x509.Certificate) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
	}
	return nil
}
