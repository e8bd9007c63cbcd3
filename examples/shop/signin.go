package main

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mileusna/useragent"
)

// maxAgent bounds what is kept of a browser's description of itself.
const maxAgent = 200

func (s *shop) signInForm(w http.ResponseWriter, r *http.Request) {
	if s.user(r.Context()) != "" {
		http.Redirect(w, r, "/sessions", http.StatusSeeOther)
		return
	}
	s.showSignIn(w, r, http.StatusOK, s.ask(r), "")
}

func (s *shop) showSignIn(w http.ResponseWriter, r *http.Request, status int, a answers, wrong string) {
	s.show(w, r, status, "signin", "Sign in", a, map[string]any{
		"Name": r.PostForm.Get("name"), "Wrong": wrong, "Min": minPassword, "Max": maxPassword,
	})
}

// signIn signs a user in, under a new session: anyone who knew the old one's
// cookie, or planted it, has nothing of the new one.
func (s *shop) signIn(w http.ResponseWriter, r *http.Request) {
	ctx, name := r.Context(), canonical(r.PostForm.Get("name"))
	limits := limitsFor(name, s.visitorAddress(r))
	if !namePattern.MatchString(name) {
		s.showSignIn(w, r, http.StatusUnprocessableEntity, answers{}, errBadName.Error())
		return
	}
	wait, err := s.accounts.take(ctx, limits)
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	if wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		w.Header().Set("Retry-After", seconds)
		s.showSignIn(w, r, http.StatusTooManyRequests, answers{}, "too many tries; please wait "+seconds+" seconds")
		return
	}
	fresh, err := s.accounts.check(ctx, name, r.PostForm.Get("password"))
	switch {
	case errors.Is(err, errBadPassword), errors.Is(err, errWrong):
		s.showSignIn(w, r, http.StatusUnprocessableEntity, answers{}, err.Error())
		return
	case err == nil:
		err = s.accounts.forgive(ctx, limits)
	}
	if err == nil {
		err = s.beginSession(r, name)
	}
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	if fresh {
		s.flash(ctx, "Hello "+name+". The name was free, so it is yours now, with that password.")
	} else {
		s.flash(ctx, "Hello again, "+name+".")
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// beginSession renews the session's id and the token of its forms, and enters it
// into the user's index. An earlier sign-in of this browser ends.
func (s *shop) beginSession(r *http.Request, name string) error {
	ctx := r.Context()
	if before := s.user(ctx); before != "" {
		if _, err := s.index.end(ctx, before, s.sessionID(ctx)); err != nil {
			return err
		}
	}
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, keyUser, name)
	s.sessions.Put(ctx, keyToken, newToken())
	agent := r.UserAgent()
	return s.index.add(ctx, name, signedIn{ID: s.sessionID(ctx), Agent: agent[:min(len(agent), maxAgent)], Since: time.Now()})
}

func (s *shop) signOut(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if user := s.user(ctx); user != "" {
		if _, err := s.index.end(ctx, user, s.sessionID(ctx)); err != nil {
			s.storeAway(w, r, err)
			return
		}
	}
	s.leave(w, r, "You are signed out. Good night.")
}

// leave ends this browser's session and begins another, of a visitor that is not
// known yet.
func (s *shop) leave(w http.ResponseWriter, r *http.Request, text string) {
	if err := s.sessions.Destroy(r.Context()); err != nil {
		s.storeAway(w, r, err)
		return
	}
	s.flash(r.Context(), text)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// sessionRow is a session as its user sees it.
type sessionRow struct {
	signedIn
	Browser string
	Here    bool // this browser's
}

func (s *shop) listSessions(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	user := s.user(ctx)
	if user == "" {
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
		return
	}
	list, err := s.index.list(ctx, user)
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	var rows []sessionRow
	for _, one := range list {
		rows = append(rows, sessionRow{one, browserName(one.Agent), one.ID == s.sessionID(ctx)})
	}
	s.show(w, r, http.StatusOK, "sessions", "Where you are signed in", s.ask(r), map[string]any{
		"Rows": rows, "Idle": int(idle.Minutes()),
	})
}

// browserName is what a person would call the browser.
func browserName(agent string) string {
	a := useragent.Parse(agent)
	switch {
	case a.Name != "" && a.OS != "":
		return a.Name + " on " + a.OS
	case a.Name != "":
		return a.Name
	default:
		return "Unknown browser"
	}
}

func (s *shop) endSession(w http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), r.PostForm.Get("id")
	user := s.user(ctx)
	if user == "" {
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
		return
	}
	ended, err := s.index.end(ctx, user, id)
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	if ended && id == s.sessionID(ctx) {
		s.leave(w, r, "You are signed out. Good night.")
		return
	}
	s.flash(ctx, "That browser is signed out.")
	http.Redirect(w, r, "/sessions", http.StatusSeeOther)
}

func (s *shop) endAllSessions(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	user := s.user(ctx)
	if user == "" {
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
		return
	}
	if err := s.index.endAll(ctx, user); err != nil {
		s.storeAway(w, r, err)
		return
	}
	s.leave(w, r, "You are signed out everywhere.")
}
