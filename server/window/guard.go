package window

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy allows a page its own style and script, and nothing else: text that a
// client stored could not be run even if it were not escaped.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets a request in that looks from where it may, or says why not. Who sends it is
// the matter of admit.
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
			http.Error(rw, "protected mode: without a password the window is open only to this machine, under the name "+
				"localhost or its loopback address; set requirepass, or set protected-mode to no", http.StatusForbidden)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// admit lets a handler serve visitors who may make some calls, which are made as the visitor. It is told the visitor by
// visitorOf.
func (w *Window) admit(next http.Handler, needs ...call) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		v := w.visit(r)
		defer v.leave()
		err := errPassword
		if v.named || w.inside.Open() {
			err = v.enter(needs...)
		}
		switch {
		case errors.Is(err, errPassword):
			askForPassword(rw)
		case isRefusal(err):
			http.Error(rw, "the user "+name(v.user)+" may not see this: "+err.Error(), http.StatusForbidden)
		case err != nil:
			http.Error(rw, "the server did not answer: "+err.Error(), http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
		}
	})
}

func askForPassword(rw http.ResponseWriter) {
	rw.Header().Set("WWW-Authenticate", `Basic realm="vigil", charset="UTF-8"`)
	http.Error(rw, "use the name and the password of a user of the server: requirepass is that of the user default", http.StatusUnauthorized)
}

type visitorKey struct{}

// visitorOf is the visitor whom admit has let in.
func visitorOf(r *http.Request) *visitor { return r.Context().Value(visitorKey{}).(*visitor) }

// login asks for a name and a password, for visitors who are let in without and want to be somebody else.
func (w *Window) login(rw http.ResponseWriter, r *http.Request) {
	if _, _, named := r.BasicAuth(); !named {
		askForPassword(rw)
		return
	}
	http.Redirect(rw, r, "./", http.StatusSeeOther)
}

// knows reports whether the request comes from a user who may see how the server is.
func (w *Window) knows(r *http.Request) bool {
	v := w.visit(r)
	defer v.leave()
	return (v.named || w.inside.Open()) && v.enter(needInfo) == nil
}

// mayEnter is the rule of protected-mode: as long as the default user has no password, only
// this machine is let in. The name in the request must be this machine's too, or
// a page of another site could read the window through a name of its own that it
// lets point here.
func (w *Window) mayEnter(r *http.Request) bool {
	if !w.config.Settings().ProtectedMode || !w.inside.Open() {
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
