package window

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

const (
	// searchShown is from how many keys on a search ends, searchStep how many keys a call looks at, and searchSteps how
	// many calls there are: a page of a search looks at 20,000 keys at most.
	searchShown, searchStep, searchSteps = 50, 100, 200
	// searchTime is when a search ends, whatever it has found.
	searchTime = 100 * time.Millisecond
	// maxPattern bounds a pattern, as comparing takes time with each of its stars.
	maxPattern = 200
)

// searchBody is what a page of a search has found.
type searchBody struct {
	Pattern string
	DB      int
	Rows    []foundRow
	Looked  string // keys that were looked at
	Hidden  int    // keys that the visitor may not read
	Next    string // the address of the next page, "" at the end
	Failed  string // why there is nothing
}

type foundRow struct{ Link, Name, Kind, Expires, Memory string }

// search looks for keys by a pattern, from a cursor on, as the visitor.
func (w *Window) search(v *visitor, q url.Values) *searchBody {
	b := &searchBody{Pattern: q.Get("match")}
	b.DB, _ = strconv.Atoi(q.Get("db"))
	b.DB = max(0, b.DB)
	cursor := q.Get("cursor")
	if !isPlace(cursor) || strings.ContainsAny(cursor, "(-") {
		cursor = "0"
	}
	if len(b.Pattern) > maxPattern {
		b.Failed = "A pattern has " + strconv.Itoa(maxPattern) + " bytes at most."
		return b
	}
	var names []string
	began, steps := time.Now(), 0
	for len(names) < searchShown && steps < searchSteps && time.Since(began) < searchTime {
		answers, err := v.asks.Ask(answerTime, b.DB, call{"SCAN", cursor, "MATCH", b.Pattern, "COUNT", strconv.Itoa(searchStep)})
		if err == nil {
			err = answers[0].Err()
		}
		if err != nil {
			b.Failed = "The server says: " + printable(err.Error(), maxSlowCommand)
			return b
		}
		parts := answers[0].List()
		if len(parts) != 2 {
			b.Failed = report.ErrLong.Error()
			return b
		}
		for _, key := range parts[1].List() {
			names = append(names, key.String())
		}
		steps++
		if cursor = parts[0].String(); cursor == "0" {
			break
		}
	}
	b.Looked = count(float64(steps * searchStep))
	if cursor != "0" {
		b.Next = "keys?" + url.Values{"db": {strconv.Itoa(b.DB)}, "match": {b.Pattern}, "cursor": {cursor}}.Encode()
	}
	b.describe(v, names)
	return b
}

// describe adds what a table shows of keys. Those that the visitor may not read are counted and not named.
func (b *searchBody) describe(v *visitor, names []string) {
	for len(names) > 0 {
		some := names[:min(len(names), 3*searchShown)]
		names = names[len(some):]
		var calls []call
		for _, key := range some {
			calls = append(calls, call{"TYPE", key}, call{"PTTL", key}, call{"MEMORY", "USAGE", key}, call{"OBJECT", "ENCODING", key})
		}
		answers, err := v.asks.Ask(answerTime, b.DB, calls...)
		if err != nil {
			b.Failed = "The server says: " + printable(err.Error(), maxSlowCommand)
			return
		}
		for i, key := range some {
			of := answers[4*i : 4*i+4]
			if isRefusal(of[0].Err()) {
				b.Hidden++
				continue
			}
			facts := keyFacts(of)
			kind := of[0].String()
			if kind == "none" || of[0].Err() != nil {
				continue // it has gone meanwhile
			}
			b.Rows = append(b.Rows, foundRow{Link: keyLink("key", keyRef{b.DB, key}), Name: name(key), Kind: name(kind), Expires: facts[0].Value,
				Memory: facts[1].Value})
		}
	}
}
