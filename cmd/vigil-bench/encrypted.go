package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// encryptedCases are run over TLS.
var encryptedCases = []benchCase{
	{name: "SET over TLS, P=1", pipeline: 1, args: words("-t set -r 100000 -d 100")},
	{name: "GET over TLS, P=1", pipeline: 1, args: words("-t get -r 100000 -d 100")},
	{name: "SET over TLS, P=16", pipeline: 16, args: words("-t set -r 100000 -d 100")},
	{name: "GET over TLS, P=16", pipeline: 16, args: words("-t get -r 100000 -d 100")},
}

// encrypted measures both servers over TLS 1.3, with the same certificate.
func encrypted(o *options, r *report) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := writeCertificate(cert, key); err != nil {
		return err
	}
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Encrypted connections", "TLS 1.3, a certificate with a key of P-256, 50 clients that connect once.")
		all := slices.Clone(encryptedCases)
		for i, c := range all {
			all[i].args = append([]string{"--tls", "--cacert", cert}, c.args...)
		}
		return comparisons(o, r, all, ours, redis)
	}, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
}

// withTLS makes a server serve TLS on a second port, where redis-benchmark finds it.
func (p *process) withTLS(args []string) {
	p.tls = freePort()
	p.args = append(append(p.args, "--tls-port", strconv.Itoa(p.tls)), args...)
}

// writeCertificate writes a certificate for this machine that signs itself.
func writeCertificate(cert, key string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}
