package main

import (
	"context"
	"errors"
	"net/http"
)

// lastWordWriter drops what is written after the page that says that the store is
// away. A session may turn out not to be storable only when the page that the
// handler made begins to be written; that page must not follow, since it would
// speak of changes that are lost.
type lastWordWriter struct {
	http.ResponseWriter
	said bool
}

func (l *lastWordWriter) WriteHeader(status int) {
	if !l.said {
		l.ResponseWriter.WriteHeader(status)
	}
}

func (l *lastWordWriter) Write(b []byte) (int, error) {
	if l.said {
		return len(b), nil
	}
	return l.ResponseWriter.Write(b)
}

func (l *lastWordWriter) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func lastWord(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&lastWordWriter{ResponseWriter: w}, r)
	})
}

// findLastWord returns the writer that lastWord has put beneath those of other layers.
func findLastWord(w http.ResponseWriter) *lastWordWriter {
	for {
		switch inner := w.(type) {
		case *lastWordWriter:
			return inner
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return &lastWordWriter{ResponseWriter: w}
		}
	}
}

// storeAway replies while vigil cannot be reached: without it there is no session, and
// nothing that a visitor changes would last.
func (s *shop) storeAway(w http.ResponseWriter, r *http.Request, err error) {
	l := findLastWord(w)
	if l.said {
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		l.WriteHeader(http.StatusServiceUnavailable) // to nobody: the visitor left
		l.said = true
		return
	}
	s.log.Error("the session store does not answer", "err", err)
	h := l.Header()
	for _, name := range []string{"Set-Cookie", "Location"} {
		h.Del(name)
	}
	h.Set("Retry-After", "3")
	s.views.render(l, http.StatusServiceUnavailable, "away", &page{Title: "One moment", Bare: true,
		Data: map[string]any{"Owl": drawings["owl"], "Again": r.Method == http.MethodGet}})
	l.said = true
}
