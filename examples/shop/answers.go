package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
)

// pageViewed is the command that a page on the non-critical path publishes.
const pageViewed = "pageview"

// answers are the microservice's answers for one page.
type answers struct {
	View     *webtier.PageView // nil without an answer
	Awaited  bool              // the page waited: it is on the critical path
	Degraded bool              // something that was waited for did not come
	Took     time.Duration     // until the last answer, or until the budget was used up
}

// question is a part of a page that needs the microservice. It returns an
// error if there is no answer, and leaves its results alone then.
type question func(ctx context.Context, visitor string) error

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
	all := append(questions, func(ctx context.Context, visitor string) (err error) {
		view, err = s.web.PageView(ctx, visitor, path)
		return err
	})
	began, ctx, visitor := time.Now(), r.Context(), s.visitor(r.Context())
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i, q := range all {
		wait.Go(func() { failed[i] = q(ctx, visitor) })
	}
	wait.Wait()
	a.Took = time.Since(began)
	if failed[len(all)-1] == nil {
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
	err := s.web.Tell(r.Context(), pageViewed, s.visitor(r.Context()), r.URL.EscapedPath())
	return answers{Degraded: s.degraded(err)}
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
