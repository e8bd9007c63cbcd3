package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
)

// protocols are the versions in order.
var protocols = [...]struct {
	name    string
	version uint16
}{{"TLSv1", tls.VersionTLS10}, {"TLSv1.1", tls.VersionTLS11}, {"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13}}

// versions reads tls-protocols: names in any case and order. Empty means 1.2 and
// 1.3.
func versions(text string) (lowest, highest uint16, err error) {
	if text == "" {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	chosen := map[uint16]bool{}
	for _, word := range strings.Fields(text) {
		known := false
		for _, p := range protocols {
			if strings.EqualFold(p.name, word) {
				known, chosen[p.version] = true, true
			}
		}
		if !known {
			return 0, 0, fmt.Errorf("invalid tls-protocols specified (%s): use a combination of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", word)
		}
	}
	for _, p := range protocols {
		if chosen[p.version] {
			if lowest == 0 {
				lowest = p.version
			}
			highest = p.version
		}
	}
	if len(chosen) == 0 {
		return 0, 0, errors.New("tls-protocols names no version")
	}
	if int(highest-lowest)+1 != len(chosen) {
		return 0, 0, errors.New("tls-protocols leaves out a version between others, which Go's TLS cannot")
	}
	return lowest, highest, nil
}

// ciphers reads tls-ciphers. Empty, DEFAULT and redis.conf's DEFAULT:!MEDIUM mean
// Go's own list, which has nothing weak in it.
func ciphers(text string) ([]uint16, error) {
	if text == "" || text == "DEFAULT" || text == "DEFAULT:!MEDIUM" {
		return nil, nil
	}
	var ids []uint16
	for word := range strings.SplitSeq(text, ":") {
		id, ok := cipher(word)
		if !ok {
			return nil, fmt.Errorf("tls-ciphers: %q is not a cipher that Go's TLS offers; lists are names with colons between, and DEFAULT", word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// cipher finds a cipher of TLS 1.2 or before by its name of OpenSSL or of the RFCs.
func cipher(name string) (id uint16, ok bool) {
	for _, s := range tls.CipherSuites() {
		if s.SupportedVersions[0] != tls.VersionTLS13 && (s.Name == name || openSSL(s.Name) == name) {
			return s.ID, true
		}
	}
	return 0, false
}

// openSSLNames turns TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 into
// ECDHE-RSA-AES128-GCM-SHA256.
var openSSLNames = strings.NewReplacer("TLS_", "", "_WITH_", "-", "AES_", "AES", "_CBC", "", "POLY1305_SHA256", "POLY1305", "_", "-")

func openSSL(name string) string { return openSSLNames.Replace(name) }

// suites checks tls-ciphersuites, the ciphers of TLS 1.3. Go offers all three, and
// none can be left out.
func suites(text string) error {
	if text == "" {
		return nil
	}
	left := map[string]bool{}
	for _, s := range tls.CipherSuites() {
		if s.SupportedVersions[0] == tls.VersionTLS13 {
			left[s.Name] = true
		}
	}
	for word := range strings.SplitSeq(text, ":") {
		if _, ok := left[word]; !ok {
			return fmt.Errorf("tls-ciphersuites: %q is not a cipher that Go's TLS offers", word)
		}
		left[word] = false
	}
	for name, missing := range left {
		if missing {
			return fmt.Errorf("tls-ciphersuites leaves out %s, which Go's TLS cannot: remove the line, or name all", name)
		}
	}
	return nil
}
