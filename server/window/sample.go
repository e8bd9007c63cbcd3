package window

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/structures/types"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// sampleAge is for how long requests share the same sample.
	sampleAge = 15 * time.Second
	// sampleKeys is how many keys are looked at in a database, sampleStep how many
	// in a call, and sampleDatabases in how many databases.
	sampleKeys, sampleStep, sampleDatabases = 600, 100, 4
	// sampleBytes bounds the names of a sample.
	sampleBytes = 1 << 20
	// sampleSizes is of how many keys the memory is asked.
	sampleSizes = 300
	// maxCounted is up to how many keys values are counted by type, each of which is looked at for that: a tenth of a second
	// for a million.
	maxCounted = 2_000_000
	// maxPrefixes is how many prefixes are shown.
	maxPrefixes = 12
)

// sample is an estimate for all keys from some hundred of them. Keys lie in the
// order of a keyed hash, so that the first ones of a scan are as good as any
// that are drawn. The estimates are for all keys of the databases that were
// looked at.
type sample struct {
	Looked   int // keys
	Whole    bool
	Sized    bool // memory was asked for: no keys are on disk only
	Counted  bool // the types are those of all keys
	Types    []group
	Prefixes []group
	More     int // prefixes that are not shown
	Sessions []group
	Empty    bool
}

// group is an estimate of the keys that have something in common.
type group struct {
	Name, Note string
	Keys       float64
	Bytes      float64
	Share      float64 // of the keys, or of the memory
	sized      int
	sizes      float64
}

// sampledKey is a key of the sample; weight is how many keys it stands for.
type sampledKey struct {
	keyRef
	kind   string
	weight float64
}

// sessionPrefixes are the keys that the session microservice keeps for each session.
var sessionPrefixes = []struct{ prefix, note string }{
	{"total-pages:", "page views of a session"},
	{"sess-page-hll:", "different pages of a session"},
	{"activity:", "minutes in which a session was active"},
	{"page-bloom:", "pages that a session has seen"},
	{"notification:", "notifications that a session has seen"},
}

// sampled is the sample, some seconds old at most.
func (w *Window) sampled(f *figures) (*sample, error) {
	return w.sample.Get(w.now(), func() (*sample, error) {
		s := &sample{Whole: true, Empty: f.Keys() == 0}
		databases := slices.SortedFunc(slices.Values(f.Databases), func(a, b database) int { return cmp.Compare(b.Keys, a.Keys) })
		s.Whole = len(databases) <= sampleDatabases
		var keys []sampledKey
		for _, db := range databases[:min(len(databases), sampleDatabases)] {
			some, whole, err := w.draw(db)
			if err != nil {
				return nil, err
			}
			s.Whole = s.Whole && whole
			keys = append(keys, some...)
		}
		s.Looked = len(keys)
		sizes := map[keyRef]float64{}
		if f.Number("vigil_cold_tables") == 0 {
			s.Sized = true
			sizes = w.sizes(keys)
		}
		s.group(keys, sizes)
		if s.Sized && !s.Whole && f.Keys() <= maxCounted {
			if err := w.count(s, f); err != nil {
				return nil, err
			}
		}
		return s, nil
	})
}

// countedNames are the types that INFO keysizes counts, by what it calls their sizes.
var countedNames = map[string]string{"strings_sizes": "string", "lists_items": "list", "sets_items": "set", "zsets_items": "zset", "hashes_items": "hash"}

// count has the types of all keys in the place of those of the sample, whose mean memory stays. What INFO keysizes does not count are
// keys of other types, which keep their shares among each other.
func (w *Window) count(s *sample, f *figures) error {
	found, err := w.counts.get(struct{}{}, w.now(), func() (map[string]float64, error) {
		answers, err := w.observer.Ask(answerTime, 0, call{"INFO", "keysizes"})
		if err != nil {
			return nil, err
		}
		return readCounts(answers[0].String()), answers[0].Err()
	})
	if err != nil {
		return err
	}
	rest, sampled := f.Keys(), 0.0
	for _, n := range found.value {
		rest -= n
	}
	rest = max(0, rest)
	names := map[string]string{} // of the types, by their plurals
	for _, t := range types.All() {
		names[t.Plural] = t.Name
	}
	all := map[string]*group{}
	for i := range s.Types {
		g := &s.Types[i]
		all[names[g.Name]] = g
		if _, counted := found.value[names[g.Name]]; !counted {
			sampled += g.Keys
		}
	}
	var list []group
	for _, t := range types.All() {
		g := all[t.Name]
		n, counted := found.value[t.Name]
		switch {
		case counted && g == nil:
			g = &group{Name: t.Plural}
		case g == nil:
			continue
		case !counted:
			n = rest * g.Keys / max(1, sampled)
		}
		if g.Keys > 0 {
			g.Bytes *= n / g.Keys
		}
		g.Keys, g.Share = math.Round(n), n/max(1, f.Keys())
		if g.Keys > 0 {
			list = append(list, *g)
		}
	}
	s.Types, s.Counted = list, true
	return nil
}

// readCounts adds up the lines of INFO keysizes, such as db0_distrib_lists_items:1=3,2K=1, by type.
func readCounts(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		field, sizes, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		_, what, distrib := strings.Cut(field, "_distrib_")
		name, known := countedNames[what]
		if !ok || !distrib || !known {
			continue
		}
		for pair := range strings.SplitSeq(sizes, ",") {
			_, n, _ := strings.Cut(pair, "=")
			all[name] += report.Number(n)
		}
	}
	return all
}

// draw takes the first keys of a database. Each type is requested separately,
// which gives the types without reading values.
func (w *Window) draw(db database) (keys []sampledKey, whole bool, err error) {
	cursor, size := "0", 0
	for range sampleKeys / sampleStep {
		var calls []call
		for _, t := range types.All() {
			calls = append(calls, call{"SCAN", cursor, "COUNT", strconv.Itoa(sampleStep), "TYPE", t.Name})
		}
		answers, err := w.observer.Ask(answerTime, db.Number, calls...)
		if err != nil {
			return nil, false, err
		}
		for i, a := range answers {
			if err := a.Err(); err != nil {
				return nil, false, err
			}
			parts := a.List()
			if len(parts) != 2 {
				return nil, false, report.ErrLong
			}
			for _, key := range parts[1].List() {
				keys = append(keys, sampledKey{keyRef: keyRef{db.Number, key.String()}, kind: types.All()[i].Name})
				size += len(key.Data)
			}
			cursor = parts[0].String()
		}
		if whole = cursor == "0"; whole || size > sampleBytes {
			break
		}
	}
	weight := 1.0
	if !whole {
		weight = db.Keys / max(1, float64(len(keys)))
	}
	for i := range keys {
		keys[i].weight = weight
	}
	return keys, whole, nil
}

// sizes asks for the memory of keys, evenly among the databases.
func (w *Window) sizes(keys []sampledKey) map[keyRef]float64 {
	all := map[keyRef]float64{}
	every := max(1, (len(keys)+sampleSizes-1)/sampleSizes)
	for db := range slices.Values(slices.Compact(databasesOf(keys))) {
		var calls []call
		var asked []keyRef
		for i, k := range keys {
			if k.DB == db && i%every == 0 {
				calls = append(calls, call{"MEMORY", "USAGE", k.Key})
				asked = append(asked, k.keyRef)
			}
		}
		answers, err := w.observer.Ask(answerTime, db, calls...)
		if err != nil {
			return all
		}
		for i, a := range answers {
			if a.Err() == nil && a.Int() > 0 {
				all[asked[i]] = float64(a.Int())
			}
		}
	}
	return all
}

func databasesOf(keys []sampledKey) (all []int) {
	for _, k := range keys {
		all = append(all, k.DB)
	}
	return all
}

// prefixOf is what a key's name begins with, up to the first colon.
func prefixOf(key string) string {
	prefix, _, ok := strings.Cut(key, ":")
	if !ok {
		return ""
	}
	return prefix + ":"
}

// group puts the keys together by type and by prefix.
func (s *sample) group(keys []sampledKey, sizes map[keyRef]float64) {
	byType, prefixes := map[string]*group{}, map[string]*group{}
	total := 0.0
	for _, k := range keys {
		total += k.weight
		for _, in := range []struct {
			of   map[string]*group
			name string
		}{{byType, k.kind}, {prefixes, prefixOf(k.Key)}} {
			g := in.of[in.name]
			if g == nil {
				g = &group{Name: in.name}
				in.of[in.name] = g
			}
			g.Keys += k.weight
			if size, ok := sizes[k.keyRef]; ok {
				g.sized++
				g.sizes += size
			}
		}
	}
	for _, t := range types.All() {
		if g := byType[t.Name]; g != nil {
			g.Name = t.Plural
			s.Types = append(s.Types, *g)
		}
	}
	for _, p := range sessionPrefixes {
		if g := prefixes[p.prefix]; g != nil {
			g.Note = p.note
			s.Sessions = append(s.Sessions, *g)
		}
	}
	for _, g := range prefixes {
		s.Prefixes = append(s.Prefixes, *g)
	}
	slices.SortFunc(s.Prefixes, func(a, b group) int { return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Name, b.Name)) })
	s.More = max(0, len(s.Prefixes)-maxPrefixes)
	s.Prefixes = s.Prefixes[:len(s.Prefixes)-s.More]
	estimate(s.Types, total)
	estimate(s.Prefixes, total)
	estimate(s.Sessions, total)
}

// estimate makes shares, and bytes of the mean of the keys whose memory is known.
func estimate(list []group, total float64) {
	for i := range list {
		g := &list[i]
		g.Share = g.Keys / max(1, total)
		if g.sized > 0 {
			g.Bytes = g.Keys * g.sizes / float64(g.sized)
		}
		g.Keys = math.Round(g.Keys)
	}
}
