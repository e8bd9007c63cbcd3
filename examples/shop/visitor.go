package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// The values of a session.
const (
	keyVisitor = "visitor" // the name under which the microservice knows the visitor
	keyToken   = "token"   // of the forms
	keyUser    = "user"    // set while signed in, and valid while the index agrees
	keyFlash   = "flash"   // what the next page says once
	keyFolded  = "folded"  // whether the panel of the session is folded
)

// newVisitor is a name in the base of the paper's example, a-z and digits, so that
// globs divide visitors among instances of the microservice.
func newVisitor() string { return strings.ToLower(rand.Text()) }

// identify gives each session a visitor and a token, and signs it out when the
// user's index does not have it any more.
func (s *shop) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if s.visitor(ctx) == "" {
			s.sessions.Put(ctx, keyVisitor, newVisitor())
			s.sessions.Put(ctx, keyToken, newToken())
		}
		if user := s.user(ctx); user != "" {
			here, err := s.index.touch(ctx, user, s.sessionID(ctx))
			if err != nil {
				s.storeAway(w, r, err)
				return
			}
			if !here {
				s.sessions.Remove(ctx, keyUser)
				s.flash(ctx, "You were signed out from another browser.")
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *shop) visitor(ctx context.Context) string { return s.sessions.GetString(ctx, keyVisitor) }

// user is the name of the signed-in user, or empty.
func (s *shop) user(ctx context.Context) string { return s.sessions.GetString(ctx, keyUser) }

// flash says something on the next page.
func (s *shop) flash(ctx context.Context, text string) { s.sessions.Put(ctx, keyFlash, text) }

// sessionID is what scs calls the session in its store: the hash of the token, not
// the token. It is empty for a session that was not there before this request.
func (s *shop) sessionID(ctx context.Context) string {
	token := s.sessions.Token(ctx)
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
