package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/youmark/pkcs8"
)

func TestVersionsAreARange(t *testing.T) {
	for _, x := range []struct {
		text      string
		low, high uint16
		reason    string
	}{
		{"", tls.VersionTLS12, tls.VersionTLS13, ""},
		{"TLSv1.3", tls.VersionTLS13, tls.VersionTLS13, ""},
		{"tlsv1.3 TLSv1.2  TLSv1.1", tls.VersionTLS11, tls.VersionTLS13, ""},
		{"TLSv1 TLSv1.1 TLSv1.2 TLSv1.3", tls.VersionTLS10, tls.VersionTLS13, ""},
		{"TLSv1.1 TLSv1.3", 0, 0, "leaves out"},
		{"SSLv3", 0, 0, "(SSLv3)"},
		{" ", 0, 0, "no version"},
	} {
		low, high, err := versions(x.text)
		if (err == nil) != (x.reason == "") || err == nil && (low != x.low || high != x.high) || err != nil && !strings.Contains(err.Error(), x.reason) {
			t.Errorf("%q: got %x, %x, %v", x.text, low, high, err)
		}
	}
}

func TestCiphersHaveBothNames(t *testing.T) {
	for text, want := range map[string]int{"": 0, "DEFAULT": 0, "DEFAULT:!MEDIUM": 0, "ECDHE-RSA-AES128-GCM-SHA256": 1,
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-CHACHA20-POLY1305": 3,
		"HIGH:!aNULL": -1, "AES128-SHA": -1, "TLS_AES_128_GCM_SHA256": -1, "ECDHE-RSA-AES128-GCM-SHA256:": -1, "ecdhe": -1} {
		ids, err := ciphers(text)
		if (err != nil) != (want < 0) || err == nil && len(ids) != want {
			t.Errorf("%q: got %x, %v", text, ids, err)
		}
	}
	for text, ok := range map[string]bool{"": true, "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384": true,
		"TLS_AES_128_GCM_SHA256": false, "TLS_AES_128_CCM_SHA256": false} {
		if err := suites(text); (err == nil) != ok {
			t.Errorf("ciphersuites %q: %v", text, err)
		}
	}
}

// TestEncryptedKeysOpenWithTheirPassphrase tries the two forms of OpenSSL.
func TestEncryptedKeysOpenWithTheirPassphrase(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the form is to be read
	old, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", sec1, []byte("secret"), x509.PEMCipherAES128)
	if err != nil {
		t.Fatal(err)
	}
	der, err := pkcs8.MarshalPrivateKey(key, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	parameters := &pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 0}}
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der})
	if _, err := plainKey(encrypted, []byte("secret")); !errors.Is(err, errNoPKCS8) {
		t.Errorf("a program without server/certs/pkcs8: %v", err)
	}
	DecryptPKCS8 = func(der, pass []byte) (any, error) { return pkcs8.ParsePKCS8PrivateKey(der, pass) }
	defer func() { DecryptPKCS8 = nil }()
	for _, block := range []*pem.Block{old, {Type: "ENCRYPTED PRIVATE KEY", Bytes: der}} {
		text := append(pem.EncodeToMemory(parameters), pem.EncodeToMemory(block)...)
		plain, err := plainKey(text, []byte("secret"))
		if err != nil || bytes.Contains(plain, []byte("ENCRYPTED")) {
			t.Errorf("%s: %v", block.Type, err)
		}
		if _, err := plainKey(text, []byte("wrong")); !errors.Is(err, errPass) {
			t.Errorf("%s, wrong passphrase: %v", block.Type, err)
		}
		if _, err := plainKey(text, nil); !errors.Is(err, errNeedPass) {
			t.Errorf("%s, no passphrase: %v", block.Type, err)
		}
	}
	if _, err := plainKey(pem.EncodeToMemory(parameters), nil); !errors.Is(err, errNoKey) {
		t.Errorf("no key: %v", err)
	}
}

func FuzzPlainKey(f *testing.F) {
	f.Add([]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := plainKey(text, []byte("x")); err == nil && len(key) == 0 {
			t.Error("neither a key nor an error")
		}
	})
}
