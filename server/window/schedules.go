package window

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// maxListed is how many schedules, or maps, are listed.
	maxListed = 32
	// comingShown is how many of the next nodes are shown, rateNodes of how many
	// nodes the rates are asked, and ratesShown how many of these are shown.
	comingShown, rateNodes, ratesShown = 12, 200, 24
	// leasedLooked is of how many nodes it is asked whether they are leased, and searched how many names of nodes are
	// compared with a filter.
	leasedLooked, searched = 10_000, 10_000
	// costPatience is how long a page waits for the first cost.
	costPatience = 250 * time.Millisecond
)

type schedulesBody struct {
	keyList
	Missing string // why the asked one cannot be shown
	Chosen  *scheduleBody
	Node    string // what names of nodes are to contain
}

// scheduleQuestion is which schedule is described, and which of its nodes.
type scheduleQuestion struct {
	keyRef
	node string // what their names contain; "" for all
}

// keyList is what a page of schedules or of maps begins with.
type keyList struct {
	Rows      []keyRow
	Searching string
	Name      string // what names of those in the list contain; "" for all
	Found     bool   // there are some, whatever their names
	Asked     keyRef // zero if none was
	Age       string // of the details of the one that is shown
}

// keyRow is a schedule or a map in the list.
type keyRow struct {
	Link, Name, Policy string
	DB                 int
	Cells              []string
	Here               bool
}

type scheduleBody struct {
	Name    string
	Facts   []fact
	Coming  []nodeRow
	Leased  []leaseRow
	Leases  string // of how many nodes these are
	Rates   []bar
	RateOf  string // what the rates are of
	Cost    *cost
	CostAge string
	Chart   chart
	Verdict string
	nodes   float64
}

type nodeRow struct{ Name, Age, Index, Estimate, Probes, Items string }

// leaseRow is a node that is out.
type leaseRow struct{ Name, Left, Age string }

// keyLink is the address of a page about a key.
func keyLink(path string, k keyRef) string {
	return path + "?" + url.Values{"db": {strconv.Itoa(k.DB)}, "key": {k.Key}}.Encode()
}

// fill lists keys with the page at path, with the policy and the cells of each.
// It returns the one to show: that which r asks for, or the only one.
func (l *keyList) fill(r *http.Request, path, policy string, list []keyFigures, cells func(keyFigures) []string) (shown keyRef, ok bool) {
	shown, ok = askedKey(r)
	l.Asked, l.Name, l.Found = shown, r.URL.Query().Get("name"), len(list) > 0
	for _, v := range list {
		if !strings.Contains(strings.ToLower(v.Key), strings.ToLower(l.Name)) {
			continue
		}
		l.Rows = append(l.Rows, keyRow{Link: keyLink(path, v.keyRef), Name: name(v.Key), DB: v.DB, Policy: v.text(policy),
			Cells: cells(v), Here: v.keyRef == shown})
	}
	if !ok && len(list) == 1 {
		shown, ok = list[0].keyRef, true
		if len(l.Rows) > 0 {
			l.Rows[0].Here = true
		}
	}
	return shown, ok
}

// callsOfSchedule are those that its description is made of.
func callsOfSchedule(key string) []call {
	return []call{{"SCHED.INFO", key}, {"SCHED.PEEK", key}, {"SCHED.NODES", key, "0"}, {"SCHED.NODE", key, ""}, {"SCHED.COST", key}}
}

func (w *Window) schedulesPage(r *http.Request, p *page) error {
	found := w.discover(p.figures)
	b := &schedulesBody{keyList: keyList{Searching: searching(found)}, Node: r.URL.Query().Get("node")}
	keys := p.visitor.visible(found.schedules, "SCHED.INFO")
	asked, ok := b.fill(r, "schedules", "policy", w.describeKeys("SCHED.INFO", keys, maxListed), func(v keyFigures) []string {
		return []string{count(v.number("nodes")), count(v.number("leased")), count(v.number("handed-out")), count(v.number("observed"))}
	})
	p.Body = b
	if !ok {
		return nil
	}
	if !p.visitor.mayAll(asked.DB, callsOfSchedule(asked.Key)...) {
		b.Missing = notAllowed
		return nil
	}
	one, err := w.schedules.get(scheduleQuestion{asked, b.Node}, w.now(), func() (*scheduleBody, error) { return w.schedule(asked, b.Node) })
	if errors.Is(err, report.ErrBusy) || errors.Is(err, errClosed) {
		return err
	}
	if err != nil {
		b.Missing = err.Error()
		return nil
	}
	b.Age = one.ageNote(w.now())
	shown := *one.value // which others look at as well
	w.appraise(&shown, asked)
	b.Chosen = &shown
	return nil
}

// notAllowed is shown in the place of a key that the visitor may not read.
const notAllowed = "The rules of your user do not allow you to see this key."

// leases reads the nodes that are out, those whose leases end first in front.
func (b *scheduleBody) leases(list []answer, v keyFigures) {
	type lease struct {
		leaseRow
		left float64
	}
	var all []lease
	for _, e := range list {
		if parts := e.List(); len(parts) == 3 {
			left := report.Number(parts[1].String())
			all = append(all, lease{leaseRow{name(parts[0].String()), micros(left * 1000), count(report.Number(parts[2].String()))}, left})
		}
	}
	slices.SortFunc(all, func(a, b lease) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.Name, b.Name)) })
	for _, l := range all[:min(len(all), ratesShown)] {
		b.Leased = append(b.Leased, l.leaseRow)
	}
	switch n := v.number("leased"); {
	case n > float64(len(b.Leased)) && len(b.Leased) > 0:
		b.Leases = strconv.Itoa(len(b.Leased)) + " of " + count(n) + ": those whose leases end first."
	case n > 0 && len(all) == 0:
		b.Leases = count(n) + " nodes are leased, none of them among the first " + count(leasedLooked) + "."
	}
}

// schedule describes one, without a walk over all its nodes.
func (w *Window) schedule(k keyRef, node string) (*scheduleBody, error) {
	list := call{"SCHED.NODES", k.Key, "0", "COUNT", strconv.Itoa(rateNodes)}
	if node != "" {
		list = call{"SCHED.NODES", k.Key, "0", "COUNT", strconv.Itoa(searched), "MATCH", "*" + escapeGlob(node) + "*"}
	}
	answers, err := w.observer.Ask(answerTime, k.DB, call{"SCHED.INFO", k.Key},
		call{"SCHED.PEEK", k.Key, "COUNT", strconv.Itoa(comingShown), "WITHSTATS"}, list,
		call{"SCHED.NODES", k.Key, "0", "COUNT", strconv.Itoa(leasedLooked), "LEASED", "WITH", "lease-ms", "age"})
	if err != nil {
		return nil, err
	}
	if err := answers[0].Err(); err != nil {
		return nil, err
	}
	v := keyFigures{k, answers[0].Pairs()}
	b := &scheduleBody{Name: name(k.Key), Facts: scheduleFacts(v)}
	var coming, some []string
	for _, e := range answers[1].List() {
		coming = append(coming, e.List()[0].String())
	}
	if parts := answers[2].List(); len(parts) == 2 {
		for _, e := range parts[1].List() {
			some = append(some, e.String())
		}
	}
	if parts := answers[3].List(); len(parts) == 2 {
		b.leases(parts[1].List(), v)
	}
	matched := len(some)
	some = some[:min(len(some), rateNodes)]
	nodes, err := w.nodes(k, append(slices.Clone(coming), some...))
	if err != nil {
		return nil, err
	}
	b.coming(answers[1].List(), nodes)
	b.rates(some, nodes, v)
	if node != "" {
		b.RateOf = "the " + plural(float64(len(b.Rates)), "node") + " with the highest rates of " + count(float64(matched)) + " that match"
		if v.number("nodes") > searched {
			b.RateOf += ", out of the first " + count(searched)
		}
	}
	b.nodes = v.number("nodes")
	return b, nil
}

// escapeGlob makes a pattern that only a text itself matches.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(s)
}

func scheduleFacts(v keyFigures) []fact {
	clock := "each NEXT is a step"
	if v.text("clock") == "wall" {
		clock = micros(v.number("step-ms")*1000) + " a step"
	}
	estimator := v.text("estimator")
	if estimator == "window" {
		estimator += " of " + v.text("window") + " items"
	}
	return []fact{
		{"Policy", v.text("policy"), plural(v.number("probes"), "probe") + " a step"},
		{"Rates", estimator, "explore " + percent(v.number("explore"))},
		{"Nodes", count(v.number("nodes")), count(v.number("leased")) + " leased"},
		{"Step", count(v.number("step")), clock},
		{"Handed out", count(v.number("handed-out")), "in " + count(v.number("calls")) + " calls"},
		{"Observed", count(v.number("observed")), count(v.number("failed")) + " failed"},
		{"Lease", micros(v.number("lease-ms") * 1000), ""},
	}
}

// nodes asks for the figures of nodes, each once. Those that are gone are left out.
func (w *Window) nodes(k keyRef, names []string) (map[string]keyFigures, error) {
	all := map[string]keyFigures{}
	slices.Sort(names)
	names = slices.Compact(names)
	var calls []call
	for _, n := range names {
		calls = append(calls, call{"SCHED.NODE", k.Key, n})
	}
	answers, err := w.observer.Ask(answerTime, k.DB, calls...)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if a.Err() == nil {
			all[names[i]] = keyFigures{k, a.Pairs()}
		}
	}
	return all, nil
}

func (b *scheduleBody) coming(list []answer, nodes map[string]keyFigures) {
	for _, e := range list {
		parts := e.List()
		if len(parts) < 3 {
			continue
		}
		v := nodes[parts[0].String()]
		b.Coming = append(b.Coming, nodeRow{Name: name(parts[0].String()), Age: count(report.Number(parts[1].String())),
			Index: count(report.Number(parts[2].String())), Estimate: count(v.number("estimate")), Probes: count(v.number("probes")), Items: count(v.number("items"))})
	}
}

// rates draws the estimates of the nodes that were asked for, the highest first.
func (b *scheduleBody) rates(names []string, nodes map[string]keyFigures, v keyFigures) {
	type rate struct {
		name        string
		value, age  float64
		probes, got float64
	}
	var all []rate
	for _, n := range names {
		if v, ok := nodes[n]; ok {
			all = append(all, rate{n, v.number("estimate"), v.number("age"), v.number("probes"), v.number("items")})
		}
	}
	slices.SortFunc(all, func(a, b rate) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name)) })
	b.RateOf = "all nodes"
	switch n := v.number("nodes"); {
	case n > float64(len(all)):
		b.RateOf = "the highest of " + count(float64(len(all))) + " nodes out of " + count(n)
	case len(all) > ratesShown:
		b.RateOf = "the highest " + strconv.Itoa(ratesShown) + " of " + count(n) + " nodes"
	}
	for _, r := range all[:min(len(all), ratesShown)] {
		b.Rates = append(b.Rates, bar{Name: name(r.name), Value: count(r.value), Width: width(r.value / max(1e-300, all[0].value)),
			Note: count(r.got) + " items in " + count(r.probes) + " probes"})
	}
}

// appraise adds what is known of the cost, and waits a little for the first figure.
func (w *Window) appraise(b *scheduleBody, k keyRef) {
	switch n := b.nodes; {
	case n == 0:
		b.Verdict = "Without nodes it costs nothing."
		return
	case n > maxAppraised:
		b.Verdict = "With more than " + count(maxAppraised) + " nodes the cost is not found out here; SCHED.COST does it."
		return
	}
	costs, done, err := w.appraiser.look(k, w.now())
	if len(costs) == 0 && err == nil {
		wait := time.NewTimer(costPatience)
		defer wait.Stop()
		select {
		case <-done:
			costs, _, err = w.appraiser.look(k, w.now())
		case <-wait.C:
		}
	}
	switch {
	case len(costs) > 0:
		b.costs(costs, w.now())
	case err != nil:
		b.Verdict = "The cost is not known: " + err.Error() + "."
	default:
		b.Verdict = "The cost is being found out; look again in some seconds."
	}
}

func (b *scheduleBody) costs(costs []cost, now time.Time) {
	last := costs[len(costs)-1]
	b.Cost, b.CostAge = &last, ago(now, last.At)
	b.Verdict = verdict(last)
	if len(costs) < 2 {
		b.Chart.Empty = true // one look makes no line
		return
	}
	values, bounds := make([]float64, len(costs)), make([]float64, len(costs))
	for i, c := range costs {
		values[i], bounds[i] = c.Value, c.Bound
	}
	title := "Items that wait, and the least that is possible"
	if last.Rewards {
		title = "Reward a step, and the most that is possible"
	}
	b.Chart = drawPair(title, [2]string{last.Policy, "the bound"}, values, bounds, digits)
	b.Chart.Times = []string{costs[0].At.Format("15:04:05"), last.At.Format("15:04:05")}
}

func verdict(c cost) string {
	if c.Rewards {
		return "It earns " + digits(c.Value) + " a step; no policy can earn more than " + digits(c.Bound) + "."
	}
	return "On average " + digits(c.Value) + " items wait to be found; no policy can do with fewer than " + digits(c.Bound) + "."
}
