package server

import (
	"cmp"

	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/info"
)

// shownCerts are the certificates that INFO shows, as they were when the files were read last.
type shownCerts struct{ server, client, authority certs.Shown }

func showCerts(set *conf.Settings) *shownCerts {
	return &shownCerts{certs.Show(set.TLSCertFile), certs.Show(set.TLSClientCertFile), certs.Show(set.TLSCACertFile)}
}

// infoTLS shows until when certificates are valid.
func infoTLS(t *info.Text, s *session) {
	shown := s.srv.secure.shown.Load()
	if shown == nil {
		shown = new(shownCerts)
	}
	for _, c := range []struct {
		name string
		certs.Shown
	}{{"server", shown.server}, {"client", shown.client}, {"ca", shown.authority}} {
		left := int64(0)
		if c.Serial != "" {
			left = max(int64(c.End.Sub(s.srv.clock.Now()).Seconds()), 0)
		}
		info.Field(t, "tls_"+c.name+"_cert_serial", cmp.Or(c.Serial, "none"))
		info.Field(t, "tls_"+c.name+"_cert_expires_in_seconds", left)
	}
}
