package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"strings"

	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/server/conf"
)

// recognise makes a client the user whom its certificate names, if it was verified and the user is
// enabled. Otherwise the client begins as any other.
func (a *access) recognise(state tls.ConnectionState) {
	by := a.s.srv.settings().conf.TLSClientUser
	if by == conf.TLSUserOff || len(state.VerifiedChains) == 0 {
		return
	}
	names := namesOf(state.PeerCertificates[0], by)
	for _, name := range names {
		if u := a.s.sharing.Users().Find(name); u != nil && u.Enabled() {
			a.become(u)
			a.setAuthenticated(true)
			return
		}
	}
	a.refused(acl.Refusal{Reason: acl.DeniedCertificate, Context: acl.TopLevel, Object: "TLS", User: strings.Join(names, " ")}, a.s.view.look())
}

var commonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// namesOf returns the names in a certificate that may be those of users. One with a NUL byte is none:
// what looks only at what is before it would take the client for somebody else.
func namesOf(cert *x509.Certificate, by conf.TLSUser) (names []string) {
	add := func(name string) {
		if name != "" && strings.IndexByte(name, 0) < 0 {
			names = append(names, name)
		}
	}
	if by == conf.TLSUserCN {
		for _, n := range cert.Subject.Names { // CommonName is the last one; Valkey and OpenSSL take the first
			if text, ok := n.Value.(string); ok && n.Type.Equal(commonName) {
				add(text)
				break
			}
		}
		return names
	}
	for _, u := range cert.URIs {
		add(u.String())
	}
	return names
}
