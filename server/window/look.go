package window

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/server/internal/report"
)

// A look at one key: its type, expiry, size and encoding, and some of its elements. It is asked as the visitor, on the
// visitor's connection, so that the rules of the user are those of any client.

const (
	// lookElements is how many elements are shown of a value, lookText how much of each, and lookBytes how much of a
	// string.
	lookElements, lookText, lookBytes = 20, 200, 1024
	// smallValue is up to how many bytes a value is read whatever its elements are; of a larger one elements are read if they
	// take smallElement on average, as one alone may have half a gigabyte.
	smallValue, smallElement = 1 << 20, 1 << 10
	// mostExpanded is how many elements are shown at most: small sets and hashes come as a whole.
	mostExpanded = 600
)

// lookBody is the page about a key.
type lookBody struct {
	Asked    keyRef
	Name     string
	Facts    []fact
	Elements []element
	Columns  [2]string
	Text     string // of a string
	Note     string // why nothing of it is shown, or not all
	Missing  string // why there is no such page
	Next     string // the address of what follows
	More     string // a page that knows more about values of this type
}

// element is a line of a value.
type element struct{ Name, Value string }

// view is how values of a type are looked at. Calls are about a key and where to begin: an offset, a cursor or an ID.
type view struct {
	unit    string                                    // of the length
	columns [2]string                                 // of elements; the second one may be empty
	length  func(key string) call                     // nil: it is in what elements replies
	read    func(key, at string) call                 // the elements
	begin   string                                    // where they begin
	each    int                                       // arguments of the reply for an element: 1 or 2
	next    func(at string, n int64, a answer) string // where what follows begins, "" at the end; nil: there is nothing
	scans   bool                                      // the reply is a cursor and the elements
	small   bool                                      // they are few, whatever the size of the value
}

// views are those of the types, by the reply of TYPE.
func views() map[string]view {
	info := func(command string) view {
		return view{columns: [2]string{"Property", "Value"}, read: func(key, _ string) call { return call{command, key} }, each: 2, small: true}
	}
	scanned := func(unit, command, length string, each int, columns ...string) view {
		return view{unit: unit, columns: [2]string(append(columns, "")[:2]), each: each, begin: "0", next: cursorOf, scans: true,
			length: func(key string) call { return call{length, key} },
			read:   func(key, at string) call { return call{command, key, at, "COUNT", strconv.Itoa(lookElements)} }}
	}
	ranged := func(unit, command, length string, each int, columns ...string) view {
		return view{unit: unit, columns: [2]string(append(columns, "")[:2]), each: each, begin: "0", next: offsetAfter,
			length: func(key string) call { return call{length, key} },
			read: func(key, at string) call {
				from, _ := strconv.ParseInt(at, 10, 64)
				c := call{command, key, at, strconv.FormatInt(from+lookElements-1, 10)}
				if each == 2 {
					c = append(c, "WITHSCORES")
				}
				return c
			}}
	}
	return map[string]view{
		"list": ranged("elements", "LRANGE", "LLEN", 1, "Element"),
		"zset": ranged("members", "ZRANGE", "ZCARD", 2, "Member", "Score"),
		"set":  scanned("members", "SSCAN", "SCARD", 1, "Member"),
		"hash": scanned("fields", "HSCAN", "HLEN", 2, "Field", "Value"),
		"stream": {unit: "entries", columns: [2]string{"ID", "Fields"}, begin: "-", next: streamAfter, each: 1,
			length: func(key string) call { return call{"XLEN", key} },
			read:   func(key, at string) call { return call{"XRANGE", key, at, "+", "COUNT", strconv.Itoa(lookElements)} }},
		"MBbloom--": info("BF.INFO"), "MBbloomCF": info("CF.INFO"), "CMSk-TYPE": info("CMS.INFO"), "TopK-TYPE": info("TOPK.INFO"),
		"TDIS-TYPE": info("TDIGEST.INFO"), "schedule": info("SCHED.INFO"), "placement": info("PLACE.INFO"),
	}
}

// offsetAfter is where the elements behind those of a page begin, of n.
func offsetAfter(at string, n int64, _ answer) string {
	from, err := strconv.ParseInt(at, 10, 64)
	if err != nil || from < 0 || from+lookElements >= n {
		return ""
	}
	return strconv.FormatInt(from+lookElements, 10)
}

// cursorOf is the cursor of a reply.
func cursorOf(_ string, _ int64, a answer) string {
	if parts := a.List(); len(parts) == 2 && parts[0].String() != "0" {
		return parts[0].String()
	}
	return ""
}

// streamAfter is what follows the last ID of a reply.
func streamAfter(_ string, _ int64, a answer) string {
	all := a.List()
	if len(all) < lookElements {
		return ""
	}
	if parts := all[len(all)-1].List(); len(parts) == 2 {
		return "(" + parts[0].String()
	}
	return ""
}

// lookPage shows one key.
func (w *Window) lookPage(r *http.Request, p *page) error {
	asked, ok := askedKey(r)
	b := &lookBody{Asked: asked, Name: name(asked.Key)}
	p.Body = b
	if !ok {
		b.Missing = "Name a key."
		return nil
	}
	return b.look(p.visitor, r.URL.Query().Get("at"))
}

// look asks for what the page shows. Errors that are about the key, or the rules of the user, are part of it.
func (b *lookBody) look(v *visitor, at string) error {
	k := b.Asked
	answers, err := v.asks.Ask(answerTime, k.DB, call{"TYPE", k.Key}, call{"PTTL", k.Key}, call{"MEMORY", "USAGE", k.Key}, call{"OBJECT", "ENCODING", k.Key})
	if err != nil {
		return b.failed(err)
	}
	kind := answers[0].String()
	switch err := answers[0].Err(); {
	case err != nil:
		b.Missing = "The server says: " + printable(err.Error(), maxSlowCommand)
		return nil
	case kind == "none":
		b.Missing = "There is no such key."
		return nil
	}
	b.Facts = append([]fact{{"Type", name(kind), ""}}, keyFacts(answers)...)
	if path := map[string]string{"schedule": "schedules", "placement": "placement"}[kind]; path != "" {
		b.More = keyLink(path, k)
	}
	bytes := float64(-1)
	if answers[2].Err() == nil {
		bytes = float64(answers[2].Int())
	}
	switch kind {
	case "string":
		return b.string(v, at)
	case "ReJSON-RL":
		return b.json(v, bytes)
	}
	of, known := views()[kind]
	if !known {
		b.Note = "Values of this type are not shown here."
		return nil
	}
	return b.elements(v, of, at, bytes)
}

func keyFacts(answers []answer) (all []fact) {
	ttl := "never"
	switch n := answers[1].Int(); {
	case answers[1].Err() != nil:
		ttl = "–"
	case n >= 0:
		ttl = "in " + micros(float64(n)*1000)
	}
	memory, encoding := "–", "–"
	if answers[2].Err() == nil {
		memory = size(float64(answers[2].Int()))
	}
	if answers[3].Err() == nil {
		encoding = answers[3].String()
	}
	return []fact{{"Expires", ttl, ""}, {"Memory", memory, "with its name"}, {"Encoding", name(encoding), ""}}
}

// failed makes an error of the connection one of the page, but for that of a server that does not answer.
func (b *lookBody) failed(err error) error {
	switch {
	case errors.Is(err, report.ErrBusy):
		return err
	case errors.Is(err, report.ErrLong):
		b.Note = "What it begins with is too long to be shown here."
	default:
		b.Missing = "The server says: " + printable(err.Error(), maxSlowCommand)
	}
	return nil
}

// string shows a part of a string.
func (b *lookBody) string(v *visitor, at string) error {
	from, _ := strconv.ParseInt(at, 10, 64)
	from = max(0, from)
	answers, err := v.asks.Ask(answerTime, b.Asked.DB, call{"STRLEN", b.Asked.Key},
		call{"GETRANGE", b.Asked.Key, strconv.FormatInt(from, 10), strconv.FormatInt(from+lookBytes-1, 10)})
	if err != nil {
		return b.failed(err)
	}
	for _, a := range answers {
		if err := a.Err(); err != nil {
			b.Note = "The server says: " + printable(err.Error(), maxSlowCommand)
			return nil
		}
	}
	n := answers[0].Int()
	b.Facts = append(b.Facts, fact{"Length", count(float64(n)), "bytes"})
	b.Text = printable(answers[1].String(), 4*lookBytes)
	if from+lookBytes < n {
		b.Note = "Bytes " + strconv.FormatInt(from, 10) + " to " + strconv.FormatInt(from+lookBytes-1, 10) + "."
		b.Next = b.link(strconv.FormatInt(from+lookBytes, 10))
	}
	return nil
}

// json shows a small document.
func (b *lookBody) json(v *visitor, bytes float64) error {
	if bytes < 0 || bytes > smallValue {
		b.Note = "Documents of more than " + size(smallValue) + " are not shown here."
		return nil
	}
	answers, err := v.asks.Ask(answerTime, b.Asked.DB, call{"JSON.GET", b.Asked.Key})
	if err != nil {
		return b.failed(err)
	}
	if err := answers[0].Err(); err != nil {
		b.Note = "The server says: " + printable(err.Error(), maxSlowCommand)
		return nil
	}
	b.Text = printable(answers[0].String(), 4*lookBytes)
	return nil
}

// elements shows some elements of a value that has them, if it takes that many bytes; -1 is not known.
func (b *lookBody) elements(v *visitor, of view, at string, bytes float64) error {
	n := int64(-1)
	if of.length != nil {
		answers, err := v.asks.Ask(answerTime, b.Asked.DB, of.length(b.Asked.Key))
		if err != nil {
			return b.failed(err)
		}
		if answers[0].Err() == nil {
			n = answers[0].Int()
			b.Facts = append(b.Facts, fact{"Length", count(float64(n)), of.unit})
		}
	}
	if !of.small && (bytes < 0 || bytes > smallValue && bytes > smallElement*float64(max(1, n))) {
		b.Note = "Its elements are large, and are not shown here."
		return nil
	}
	if !isPlace(at) {
		at = of.begin
	}
	answers, err := v.asks.Ask(answerTime, b.Asked.DB, of.read(b.Asked.Key, at))
	if err != nil {
		return b.failed(err)
	}
	if err := answers[0].Err(); err != nil {
		b.Note = "The server says: " + printable(err.Error(), maxSlowCommand)
		return nil
	}
	b.Columns = of.columns
	b.Elements = of.elements(answers[0])
	if of.next == nil {
		return nil
	}
	if next := of.next(at, n, answers[0]); next != "" {
		b.Next = b.link(next)
	}
	return nil
}

// isPlace reports whether a text may be an offset, a cursor or an ID.
func isPlace(at string) bool {
	return at != "" && len(at) <= 44 && strings.Trim(strings.TrimPrefix(at, "("), "0123456789-") == "" && !strings.HasPrefix(at, "--")
}

func (b *lookBody) link(at string) string {
	return "key?" + url.Values{"db": {strconv.Itoa(b.Asked.DB)}, "key": {b.Asked.Key}, "at": {at}}.Encode()
}

// elements reads the reply with them.
func (of view) elements(a answer) (all []element) {
	list := a.List()
	if of.scans && len(list) == 2 {
		list = list[1].List()
	}
	for i := 0; i < len(list) && len(all) < mostExpanded; i += of.each {
		e := element{Name: textOf(list[i])}
		switch parts := list[i].List(); {
		case len(parts) == 2 && of.each == 1: // an entry: its ID, and its fields
			e = element{textOf(parts[0]), textOf(parts[1])}
		case of.each == 2 && i+1 < len(list):
			e.Value = textOf(list[i+1])
		}
		all = append(all, e)
	}
	return all
}

// textOf shows a reply, lists with their elements.
func textOf(a answer) string {
	list := a.List()
	if list == nil {
		return printable(a.String(), lookText)
	}
	var parts []string
	for i, e := range list {
		if i == lookElements {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, printable(e.String(), lookText/4))
	}
	return printable(strings.Join(parts, " "), 2*lookText)
}
