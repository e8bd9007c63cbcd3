package window

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// unitsShown is how many units, and movesShown how many moves, are shown.
	unitsShown, movesShown = 40, 24
	// maxUnits is up to how many units a map is listed, and maxPreviewed up to how
	// many a change is previewed.
	maxUnits, maxPreviewed = 10_000, 1_000
)

type placementBody struct {
	keyList
	Missing string
	Chosen  *mapBody
}

type mapBody struct {
	Name    string
	Key     keyRef
	Facts   []fact
	Units   []bar
	More    string // of units that are not shown
	Legend  bool   // the bars show a change
	Change  change
	Preview *preview
	Refusal string // why there is no preview
}

// change is what a visitor asks about: it is never made.
type change struct{ What, Unit, Capacity string }

// mapQuestion is what a page of a map shows.
type mapQuestion struct {
	key    keyRef
	change change
}

type preview struct {
	Moved, Optimum string
	Ratio          string
	Moves          []bar
	More           int
}

// unit is a line of PLACE.UNITS.
type unit struct {
	name, domain    string
	capacity, share float64
	gains, loses    float64 // in the preview
	joins           bool
}

func (w *Window) placementPage(r *http.Request, p *page) error {
	found := w.discover(p.figures)
	b := &placementBody{keyList: keyList{Searching: searching(found)}}
	asked, ok := b.fill(r, "placement", "strategy", w.describeKeys("PLACE.INFO", p.visitor.visible(found.maps, "PLACE.INFO"), maxListed), func(v keyFigures) []string {
		return []string{count(v.number("units")), count(v.number("copies")), count(v.number("domains")), size(v.number("bytes"))}
	})
	p.Body = b
	if !ok {
		return nil
	}
	if !p.visitor.mayAll(asked.DB, call{"PLACE.INFO", asked.Key}, call{"PLACE.UNITS", asked.Key}, call{"PLACE.PREVIEW", asked.Key, "DEL", ""}) {
		b.Missing = notAllowed
		return nil
	}
	q := r.URL.Query()
	question := mapQuestion{asked, change{q.Get("change"), q.Get("unit"), q.Get("capacity")}}
	one, err := w.maps.get(question, w.now(), func() (*mapBody, error) { return w.placementMap(asked, question.change) })
	if errors.Is(err, report.ErrBusy) || errors.Is(err, errClosed) {
		return err
	}
	if err != nil {
		b.Missing = err.Error()
		return nil
	}
	b.Age = one.ageNote(w.now())
	b.Chosen = one.value
	return nil
}

// placementMap describes one, and previews a change of it if one is asked for.
func (w *Window) placementMap(k keyRef, c change) (*mapBody, error) {
	answers, err := w.observer.Ask(answerTime, k.DB, call{"PLACE.INFO", k.Key})
	if err != nil {
		return nil, err
	}
	if err := answers[0].Err(); err != nil {
		return nil, err
	}
	v := keyFigures{k, answers[0].Pairs()}
	b := &mapBody{Name: name(k.Key), Key: k, Change: c, Facts: mapFacts(v)}
	if b.Change.What == "" {
		b.Change.What = "set"
	}
	if n := v.number("units"); n > maxUnits {
		b.More = "Its " + count(n) + " units are not listed; PLACE.UNITS does."
		return b, nil
	}
	units, err := w.units(k)
	if err != nil {
		return nil, err
	}
	if c.Unit != "" {
		if err := w.preview(b, units, len(units)); err != nil {
			return nil, err
		}
		if b.Preview != nil && c.What != "del" && units[c.Unit] == nil {
			units[c.Unit] = &unit{name: c.Unit, joins: true}
		}
	}
	b.draw(units)
	return b, nil
}

func mapFacts(v keyFigures) []fact {
	return []fact{
		{"Strategy", v.text("strategy"), "seed " + v.text("seed")},
		{"Units", count(v.number("units")), "in " + plural(v.number("domains"), "domain")},
		{"Copies", count(v.number("copies")), "of each object"},
		{"Changes", count(v.number("version")), "since it was made"},
		{"Memory", size(v.number("bytes")), ""},
	}
}

func (w *Window) units(k keyRef) (map[string]*unit, error) {
	answers, err := w.observer.Ask(answerTime, k.DB, call{"PLACE.UNITS", k.Key})
	if err != nil {
		return nil, err
	}
	if err := answers[0].Err(); err != nil {
		return nil, err
	}
	units := map[string]*unit{}
	for _, e := range answers[0].List() {
		if parts := e.List(); len(parts) >= 4 {
			units[parts[0].String()] = &unit{name: parts[0].String(), capacity: report.Number(parts[1].String()),
				domain: parts[2].String(), share: report.Number(parts[3].String())}
		}
	}
	return units, nil
}

// preview asks what the change would move. An error of the server is shown as it
// says it.
func (w *Window) preview(b *mapBody, units map[string]*unit, n int) error {
	c := b.Change
	if n > maxPreviewed {
		b.Refusal = "Changes of more than " + strconv.Itoa(maxPreviewed) + " units are not previewed here; PLACE.PREVIEW does it."
		return nil
	}
	ask := call{"PLACE.PREVIEW", b.Key.Key, "SET", c.Unit, c.Capacity}
	if c.What == "del" {
		ask = call{"PLACE.PREVIEW", b.Key.Key, "DEL", c.Unit}
	}
	answers, err := w.observer.Ask(answerTime, b.Key.DB, ask)
	if err != nil {
		return err
	}
	if err := answers[0].Err(); err != nil {
		b.Refusal = err.Error()
		return nil
	}
	v := answers[0].Pairs()
	b.Preview = &preview{Moved: percent(report.Number(v["moved"].String())), Optimum: percent(report.Number(v["optimum"].String())), Ratio: digits(report.Number(v["ratio"].String()))}
	b.Legend = true
	b.moves(v["pairs"].List(), units)
	return nil
}

// moves reads from, to and share of each move, the largest first.
func (b *mapBody) moves(list []answer, units map[string]*unit) {
	type move struct {
		from, to string
		share    float64
	}
	var all []move
	for _, e := range list {
		parts := e.List()
		if len(parts) != 3 {
			continue
		}
		m := move{parts[0].String(), parts[1].String(), report.Number(parts[2].String())}
		if units[m.to] == nil {
			units[m.to] = &unit{name: m.to, joins: true}
		}
		if units[m.from] != nil {
			units[m.from].loses += m.share
		}
		units[m.to].gains += m.share
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b move) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for _, m := range all[:min(len(all), movesShown)] {
		b.Preview.Moves = append(b.Preview.Moves, bar{Name: name(m.from), Note: name(m.to), Value: percent(m.share), Width: width(m.share / all[0].share)})
	}
	b.Preview.More = len(all) - len(b.Preview.Moves)
}

// draw makes a bar of each unit: what it keeps, and what comes or goes.
func (b *mapBody) draw(units map[string]*unit) {
	all := make([]*unit, 0, len(units))
	top := 1e-300
	for _, u := range units {
		all = append(all, u)
		top = max(top, u.share, u.share+u.gains-u.loses)
	}
	slices.SortFunc(all, func(a, b *unit) int {
		// What the change is about stands where it is seen.
		change := cmp.Compare(b.gains+b.loses, a.gains+a.loses)
		return cmp.Or(change, cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name))
	})
	for _, u := range all[:min(len(all), unitsShown)] {
		after := u.share + u.gains - u.loses
		bar := bar{Name: name(u.name), Value: percent(u.share), Width: width(min(u.share, after) / top)}
		if u.domain != "" {
			bar.Note = "in " + name(u.domain)
		}
		if u.joins {
			bar.Note = "joins"
		}
		if u.gains != u.loses {
			bar.Value = percent(u.share) + " → " + percent(max(0, after))
			bar.Start, bar.Change, bar.Gains = bar.Width, width((max(u.share, after)-min(u.share, after))/top), after > u.share
		}
		b.Units = append(b.Units, bar)
	}
	if more := len(all) - len(b.Units); more > 0 {
		rest := 0.0
		for _, u := range all[len(b.Units):] {
			rest += u.share
		}
		b.More = count(float64(more)) + " more units hold " + percent(rest) + "."
	}
}
