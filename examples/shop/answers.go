package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// answers are the microservice's answers for one page.
type answers struct {
	View     *webtier.PageView // nil without an answer
	Awaited  bool              // the page waited: it is on the critical path
	Degraded bool              // something that was waited for did not come
	Took     time.Duration     // until the last answer, or until the budget was used up
	Sent     []message
}

// message is what a page published, and what became of it.
type message struct {
	Channel  string // without the part that names the request
	Payload  string
	Awaited  bool
	Answered bool
	Took     time.Duration // until the answer, or until the page went on without one
}

// question is a part of a page that needs the microservice.
type question struct {
	command string
	payload string // as the panel shows it
	// ask returns an error if there is no answer, and leaves its results alone then.
	ask func(ctx context.Context, visitor string) error
}

// channel is where a command of a visitor is published, for the panel.
func channel(command, visitor string) string {
	return wire.Names{}.Channel(wire.Request{Command: command, Session: visitor, ID: "…"})
}

// ask counts the page view and asks the questions, all at once, and waits for
// what is answered within the budget.
func (s *shop) ask(r *http.Request, questions ...question) answers {
	return s.askOf(r, r.URL.EscapedPath(), questions...)
}

// askOf does so for a page that counts under another path.
func (s *shop) askOf(r *http.Request, path string, questions ...question) answers {
	if !counts(r) {
		return answers{}
	}
	a := answers{Awaited: true}
	var view webtier.PageView
	all := append([]question{{wire.PageViewed, path, func(ctx context.Context, visitor string) (err error) {
		view, err = s.web.PageView(ctx, visitor, path)
		return err
	}}}, questions...)
	began, ctx, visitor := time.Now(), r.Context(), s.visitor(r.Context())
	failed := make([]error, len(all))
	a.Sent = make([]message, len(all))
	var wait sync.WaitGroup
	for i, q := range all {
		wait.Go(func() {
			failed[i] = q.ask(ctx, visitor)
			a.Sent[i] = message{channel(q.command, visitor), q.payload, true, failed[i] == nil, time.Since(began)}
		})
	}
	wait.Wait()
	a.Took = time.Since(began)
	if failed[0] == nil {
		a.View = &view
	}
	for _, err := range failed {
		a.Degraded = s.degraded(err) || a.Degraded
	}
	return a
}

// tell counts the page view and does not wait.
func (s *shop) tell(r *http.Request) answers {
	if !counts(r) {
		return answers{}
	}
	path, visitor := r.URL.EscapedPath(), s.visitor(r.Context())
	err := s.web.Tell(r.Context(), wire.PageViewed, visitor, path)
	return answers{Degraded: s.degraded(err), Sent: []message{{Channel: channel(wire.PageViewed, visitor), Payload: path}}}
}

// counts reports whether the request is a page view by a visitor. A browser
// that fetches ahead says so.
func counts(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch")
}

// degraded reports whether a question got no answer, and logs what is not
// explained by a microservice that is slow or away.
func (s *shop) degraded(err error) bool {
	if err != nil && !errors.Is(err, webtier.ErrDegraded) {
		s.log.Error("cannot ask the microservice", "err", err)
	}
	return err != nil
}
