package main

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
)

// maxBody bounds a form: the longest field is a notification.
const maxBody = 16 << 10

// policy lets a page load our stylesheet and icon, and nothing else: no scripts, no
// styles inside of markup, no frames, and forms that go to the shop only.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// hardened adds the headers that browsers defend the visitor with.
func (s *shop) hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if s.opts.Proxied {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// recovered keeps a bug in one page from ending the others.
func (s *shop) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.log.Error("a page panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				http.Error(w, "internal error", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what other sites send, by what the browser says of itself.
// It is the first of two defences; the other is withToken.
func sameOrigin(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(next)
}

// readForm reads the form of a change, before the session is loaded: what does not
// arrive as a whole and in time is none of its business.
func (s *shop) readForm(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := r.ParseForm(); err != nil {
			s.views.render(w, http.StatusBadRequest, "problem", &page{Title: "That form could not be read", Bare: true,
				Data: "It may have been cut off on its way, or be longer than any form here. Nothing was changed."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newToken is the secret of a session's forms.
func newToken() string { return rand.Text() }

// withToken runs what changes something, if the form carries the session's token.
func (s *shop) withToken(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, got := s.sessions.GetString(r.Context(), keyToken), r.PostForm.Get("token")
		if want == "" || subtle.ConstantTimeCompare([]byte(want), []byte(got)) != 1 {
			s.problem(w, r, http.StatusForbidden, "That form is too old", "It belongs to a session that has ended. Please go back, reload the page, and try again. Nothing was changed.")
			return
		}
		next(w, r)
	})
}

// visitorAddress is where the request comes from. Behind a proxy of ours it is what
// that proxy has appended to the header; what the visitor wrote stands before it. Of
// version 6 it is the network, since each of its owner's machines has addresses without end.
func (s *shop) visitorAddress(r *http.Request) string {
	text, _, _ := net.SplitHostPort(r.RemoteAddr)
	if list := r.Header.Values("X-Forwarded-For"); s.opts.Proxied && len(list) > 0 {
		last := list[len(list)-1]
		text = strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return "unknown"
	}
	if a = a.Unmap(); a.Is6() {
		return netip.PrefixFrom(a.WithZone(""), 64).Masked().String()
	}
	return a.String()
}
