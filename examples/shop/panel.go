package main

import (
	"net/http"
	"net/url"
	"strings"
)

// foldPanel keeps the panel of the session folded or open on the pages that follow, and goes back to the page that it was on.
func (s *shop) foldPanel(w http.ResponseWriter, r *http.Request) {
	s.sessions.Put(r.Context(), keyFolded, r.PostForm.Get("panel") == "folded")
	http.Redirect(w, r, ownPath(r.PostForm.Get("from")), http.StatusSeeOther)
}

// ownPath is a path of this site, or the front page. Browsers take a backslash for a slash and leave out tabs, and two slashes
// lead to another site; url.Parse refuses control characters.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}
