package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// documentText is a session as JSON, of 1,024 bytes.
var documentText = func() string {
	text := `{"id":"0b7c2f9e-4a53-4a1f-9a50-6f2f1d6f0a11","user":{"name":"Ada Lovelace","mail":"ada@example.org","roles":["customer","beta"]},"hits":41,"seen":1764300000000,"cart":[`
	for i := range 6 {
		text += fmt.Sprintf(`{"sku":"A-%d00","qty":%d,"price":%d.25},`, i, i+1, 3*i)
	}
	text = strings.TrimSuffix(text, ",") + `],"preferences":{"theme":"dark","language":"en","newsletter":false,"page":50},"pages":[`
	for i := range 18 {
		text += fmt.Sprintf(`"/products/item-%d",`, 10*i)
	}
	const size = 1024
	text = strings.TrimSuffix(text, ",") + `],"note":"`
	return text + strings.Repeat("n", size-len(text)-2) + `"}`
}()

// documentCase is a call of JSON with the call that does the most like it without documents.
type documentCase struct {
	name, other string
	args, like  []string
	goal        float64 // of the ratio, as the module has it
}

func documentCases() []documentCase {
	random := func(args ...string) []string { return append(words("-r 1000"), args...) }
	const doc = "doc:__rand_int__"
	setText, getText, count := random("set", doc, documentText), random("get", doc), random("hincrby", "hash:__rand_int__", "hits", "1")
	return []documentCase{
		{"JSON.SET of 1 KB", "SET", random("json.set", doc, "$", documentText), setText, 3.5},
		{"JSON.GET", "GET", random("json.get", doc), getText, 2.5},
		{"JSON.GET $.hits", "GET", random("json.get", doc, "$.hits"), getText, 1.5},
		{"JSON.GET $.user.name", "GET", random("json.get", doc, "$.user.name"), getText, 1.5},
		{"JSON.GET of a filter", "GET", random("json.get", doc, "$.cart[?(@.qty>3)].sku"), getText, 3},
		{"JSON.SET $.seen", "SET", random("json.set", doc, "$.seen", "1764300000001"), setText, 1.6},
		{"JSON.NUMINCRBY $.hits", "HINCRBY", random("json.numincrby", doc, "$.hits", "1"), count, 1.8},
		{"JSON.MERGE of two members", "SET", random("json.merge", doc, "$", `{"hits":1,"seen":2}`), setText, 1.6},
		{"JSON.ARRAPPEND", "HINCRBY", random("json.arrappend", doc, "$.cart[0].tags", "1"), count, 1.9},
	}
}

// documents compares calls of JSON documents with calls of the other server that need none, which
// has no documents unless it has a module.
func documents(o *options, r *report) error {
	err := withPair(o, func(ours, redis *process, _ string) error {
		r.section("JSON documents", fmt.Sprintf("1,000 documents of %d bytes, pipelines of 16: the processor time of a call, and that of the call of the other server that does the most "+
			"like it without documents. The goal is the ratio of RedisJSON 8.8 to the same call.", len(documentText)))
		peer := o.peerName()
		r.row("call", "vigil us CPU", "beside", peer+" us CPU", "ratio", "goal", "vigil /s")
		r.rule(7)
		for _, c := range documentCases() {
			if err := compareDocuments(o, r, c, ours, redis); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return withPair(o, func(ours, _ *process, _ string) error { return largeDocument(r, ours) })
}

func compareDocuments(o *options, r *report, c documentCase, ours, redis *process) error {
	for i := range 1000 {
		if err := once(ours, []string{"JSON.SET", fmt.Sprintf("doc:%012d", i), "$", strings.Replace(documentText, `"price"`, `"tags":[],"price"`, 1)}); err != nil {
			return err
		}
	}
	json, plain, err := compare(o, benchCase{pipeline: 16, args: c.args, peer: c.like}, o.requests, ours, redis)
	if err != nil {
		return err
	}
	a, b := meanCPU(json), meanCPU(plain)
	r.row(c.name, fmt.Sprintf("%.2f", a), c.other, fmt.Sprintf("%.2f", b), fmt.Sprintf("%.2f", a/b), fmt.Sprintf("%.1f", c.goal),
		fmt.Sprintf("%.0f", median(json, plain, func(a, _ run) float64 { return a.perSecond })))
	return nil
}

const (
	largeDocumentBytes = 10 << 20
	largeDocumentCalls = 20_000
)

// largeDocument measures calls for parts of one document of ten megabytes, and what they journal.
func largeDocument(r *report, p *process) error {
	n := largeDocumentBytes / (len(documentText) + 1)
	text := `{"hits":1,"l":[` + strings.Repeat(documentText+",", n-1) + documentText + "]}"
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	began := time.Now()
	if line, err := c.do("JSON.SET", "large", "$", text); err != nil || line[0] != '+' {
		return fmt.Errorf("JSON.SET of %d bytes: %q, %w", len(text), line, err)
	}
	r.section("A large JSON document", fmt.Sprintf("One document of %d bytes, %d elements, which JSON.SET made in %d ms: calls one after the other, and what they add to the journal.",
		len(text), n, time.Since(began).Milliseconds()))
	r.row("call", "vigil us CPU", "us", "bytes journalled")
	r.rule(4)
	middle := fmt.Sprintf("$.l[%d]", n/2)
	for _, call := range [][]string{
		{"JSON.GET", "large", "$.hits"}, {"JSON.GET", "large", middle + ".user.name"}, {"JSON.NUMINCRBY", "large", "$.hits", "1"},
		{"JSON.NUMINCRBY", "large", middle + ".hits", "1"}, {"JSON.SET", "large", middle + ".seen", "1764300000001"},
		{"JSON.MERGE", "large", middle, `{"hits":1,"seen":2}`}, {"JSON.ARRAPPEND", "large", middle[1:] + ".cart", "1"},
	} {
		before, err := journalBytes(c)
		if err != nil {
			return err
		}
		cpu, began := p.cpu(), time.Now()
		for range largeDocumentCalls {
			if line, err := c.do(call...); err != nil || line[0] == '-' {
				return fmt.Errorf("%v: %q, %w", call, line, err)
			}
		}
		took := time.Since(began)
		cpu = p.cpu() - cpu
		after, err := journalBytes(c)
		if err != nil {
			return err
		}
		each := func(v float64) string { return fmt.Sprintf("%.1f", v/largeDocumentCalls) }
		r.row(strings.Join(call, " "), each(cpu*1e6), each(float64(took.Microseconds())), each(float64(after-before)))
	}
	return nil
}

// journalBytes is the size of the journal as the server says it.
func journalBytes(c *conn) (int, error) {
	text, err := c.text("INFO", "persistence")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(text, "aof_current_size:")
	digits, _, _ := strings.Cut(after, "\r\n")
	return strconv.Atoi(digits)
}
