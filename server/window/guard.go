package window

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy allows a page its own style and script, and nothing else: text that a
// client stored could not be run even if it were not escaped.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets a request in, or says why not.
func (w *Window) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(rw, "the window is read-only: use GET or HEAD", http.StatusMethodNotAllowed)
		case !w.mayEnter(r):
			http.Error(rw, "protected mode: without requirepass the window is open only to this machine, under the name "+
				"localhost or its loopback address; set requirepass, or set protected-mode to no", http.StatusForbidden)
		case !w.knows(r) && r.URL.Path != healthPath:
			h.Set("WWW-Authenticate", `Basic realm="vigil", charset="UTF-8"`)
			http.Error(rw, "use the user name default and the password of requirepass", http.StatusUnauthorized)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// mayEnter is the rule of protected-mode: as long as there is no password, only
// this machine is let in. The name in the request must be this machine's too, or
// a page of another site could read the window through a name of its own that it
// lets point here.
func (w *Window) mayEnter(r *http.Request) bool {
	set := w.config.Settings()
	if !set.ProtectedMode || set.RequirePass != "" {
		return true
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && remote.Addr().Unmap().IsLoopback() && isLocalName(r.Host)
}

func isLocalName(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]") // without a port
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// knows reports whether the request has the password of the default user, or none
// is asked for. It compares digests, so that the timing reveals neither the
// password nor its length.
func (w *Window) knows(r *http.Request) bool {
	want := w.config.Settings().RequirePass
	if want == "" {
		return true
	}
	user, password, ok := r.BasicAuth()
	a, b := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok && user == "default"
}
