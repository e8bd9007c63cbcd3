package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var static embed.FS

// page is what every template gets.
type page struct {
	Title   string
	Bare    bool   // there is no session: no navigation, no footer
	User    string // empty unless signed in
	Token   string // of the forms
	Flash   string
	Pieces  int    // in the cart
	Folded  bool   // the panel of the session
	Path    string // of the page
	Answers answers
	Data    any
}

// Welcome says whether this is the visitor's first page.
func (p *page) Welcome() bool { return p.Answers.View != nil && p.Answers.View.First() }

// Back says whether the visitor comes back after five minutes or more.
func (p *page) Back() bool { return p.Answers.View != nil && p.Answers.View.Idle() }

// views are the templates by name, each within the layout.
type views struct{ byName map[string]*template.Template }

func newViews() (*views, error) {
	style, err := static.ReadFile("static/style.css")
	if err != nil {
		return nil, err
	}
	version := fmt.Sprintf("%x", sha256.Sum256(style))[:12]
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"version": func() string { return version },
		"millis":  func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) },
		"ago":     ago,
		"card":    func(p product, seen bool) map[string]any { return map[string]any{"Product": p, "Seen": seen} },
		"add":     addForm,
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	v := &views{byName: map[string]*template.Template{}}
	for _, name := range names {
		t, err := template.Must(layout.Clone()).ParseFS(templateFiles, name)
		if err != nil {
			return nil, err
		}
		v.byName[name[len("templates/"):len(name)-len(".html")]] = t
	}
	return v, nil
}

// addForm is what the form that puts a product into the cart needs.
func addForm(token string, p product, label string) map[string]any {
	return map[string]any{"Token": token, "Product": p, "Label": label}
}

// ago says how long ago something was, as people do.
func ago(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d seconds ago", d/time.Second)
	case d < 2*time.Minute:
		return "a minute ago"
	default:
		return fmt.Sprintf("%d minutes ago", d/time.Minute)
	}
}

// render writes a page that has been rendered as a whole: half of one is never sent.
func (v *views) render(w http.ResponseWriter, status int, name string, p *page) {
	var body bytes.Buffer
	if err := v.byName[name].ExecuteTemplate(&body, "layout.html", p); err != nil {
		panic(fmt.Errorf("render %s: %w", name, err))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // an error is a visitor that left
}

// show renders a page for the visitor of the request.
func (s *shop) show(w http.ResponseWriter, r *http.Request, status int, name, title string, a answers, data any) {
	ctx := r.Context()
	lines, err := s.carts.lines(ctx, s.visitor(ctx))
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	p := &page{Title: title, User: s.user(ctx), Token: s.sessions.GetString(ctx, keyToken), Answers: a, Data: data,
		Folded: s.sessions.GetBool(ctx, keyFolded), Path: r.URL.EscapedPath()}
	if r.Method == http.MethodGet {
		p.Flash = s.sessions.PopString(ctx, keyFlash)
	}
	for _, l := range lines {
		p.Pieces += l.Pieces
	}
	s.views.render(w, status, name, p)
}

// problem says what is wrong with a request.
func (s *shop) problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	s.show(w, r, status, "problem", title, answers{}, text)
}

func (s *shop) notFound(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusNotFound, "Nothing here but the night", "This page does not exist. The shelves are on the front page.")
}

// staticFiles serves the stylesheet and the icon. Their addresses name their version, so
// that browsers may keep them.
func staticFiles() http.Handler {
	files := http.FileServerFS(static)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		files.ServeHTTP(w, r)
	})
}
