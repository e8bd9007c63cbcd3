package window

import (
	"net/http"
	"strconv"
)

// keysBody is the page about all keys.
type keysBody struct {
	*sample
	Databases []database
	MoreDB    int
	Total     float64
	Loading   bool
	Match     string // the pattern that is asked for, "*" to begin with
	DB        int
	Found     *searchBody // nil: none was asked for
	Largest   []largeRow
	Surveyed  string   // which keys were looked at for that
	Hottest   *hotKeys // nil: the visitor may not ask
}

type largeRow struct{ Link, Name, Memory, Width string }

func (w *Window) keysPage(r *http.Request, p *page) error {
	f, q := p.figures, r.URL.Query()
	b := &keysBody{Total: f.Keys(), Loading: f.Loading(), Match: "*"}
	b.Databases = f.Databases[:min(len(f.Databases), maxDatabases)]
	b.MoreDB = len(f.Databases) - len(b.Databases)
	p.Body = b
	if b.Loading {
		return nil
	}
	if q.Has("match") {
		b.Found = w.search(p.visitor, q)
		b.Match, b.DB = b.Found.Pattern, b.Found.DB
	}
	s, err := w.sampled(f)
	if err != nil {
		return err
	}
	shown := *s // which others look at as well
	shown.Prefixes = visiblePrefixes(p.visitor, s.Prefixes)
	b.sample = &shown
	b.large(w, p.visitor, f)
	if p.visitor.mayAll(0, call{"HOTKEYS", "GET"}) {
		if b.Hottest, err = w.hottest(p.visitor, w.now()); err != nil {
			return err
		}
	}
	return nil
}

// visiblePrefixes are those with which keys begin that the visitor may read.
func visiblePrefixes(v *visitor, all []group) (seen []group) {
	keys := make([]keyRef, len(all))
	for i, g := range all {
		keys[i].Key = g.Name
	}
	may := map[string]bool{"": true}
	for _, k := range v.visible(keys, "TYPE") {
		may[k.Key] = true
	}
	for _, g := range all {
		if may[g.Name] {
			seen = append(seen, g)
		}
	}
	return seen
}

// large shows the largest keys that the visitor may read.
func (b *keysBody) large(w *Window, v *visitor, f *figures) {
	if n := f.Number("vigil_cold_tables"); n > 0 {
		b.Surveyed = "Not looked for while some keys are on disk only: each would have to be read."
		return
	}
	all, share, done := w.largest(f)
	switch {
	case !done:
		b.Surveyed = "Of " + percent(share) + " of the keys: each look at this page takes the search further."
	default:
		b.Surveyed = "As of the last search of all keys."
	}
	var keys []keyRef
	bytes := map[keyRef]int64{}
	for _, k := range all {
		keys = append(keys, k.keyRef)
		bytes[k.keyRef] = k.bytes
	}
	most := 1.0
	if len(all) > 0 {
		most = float64(max(1, all[0].bytes))
	}
	seen := v.visible(keys, "MEMORY", "USAGE")
	for _, k := range seen {
		n := float64(bytes[k])
		text := name(k.Key)
		if k.DB > 0 {
			text += " (db" + strconv.Itoa(k.DB) + ")"
		}
		b.Largest = append(b.Largest, largeRow{Link: keyLink("key", k), Name: text, Memory: size(n), Width: width(n / most)})
	}
	if hidden := len(keys) - len(seen); hidden > 0 {
		b.Surveyed += " " + plural(float64(hidden), "key") + " that you may not read are left out."
	}
}
