package json

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
)

// session is a document of a kilobyte, as a session store has it.
const session = `{"id":"0b7c2f9e-4a53-4a1f-9a50-6f2f1d6f0a11","user":{"name":"Ada Lovelace","mail":"ada@example.org","roles":["customer","beta"]},"hits":41,"seen":1764300000000,` +
	`"cart":[{"sku":"A-100","qty":1,"price":19.99},{"sku":"A-200","qty":4,"price":5.5},{"sku":"B-300","qty":2,"price":7.25},{"sku":"B-400","qty":9,"price":1.0},{"sku":"C-500","qty":3,"price":100.0},{"sku":"C-600","qty":5,"price":0.5}],` +
	`"preferences":{"theme":"dark","language":"en","newsletter":false,"page":50},"pages":["/","/products","/products/a-100","/products/a-200","/cart","/products/b-300","/cart","/help","/products/b-400","/cart",` +
	`"/products/c-500","/products/c-600","/cart","/account","/account/orders","/account/orders/17","/products","/search?q=loom","/products/a-100","/checkout"]}`

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func TestEventsTellOfEachKeyThatChanged(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group())
	r.Classes = commands.EventModule
	for _, c := range []struct {
		events string
		call   []string
	}{
		{"json.set k", []string{"JSON.SET", "k", "$", `{"a":1,"s":"x","t":true,"l":[1,2],"e":[]}`}},
		{"json.set k", []string{"JSON.SET", "k", "$.a", "1"}},
		{"", []string{"JSON.SET", "k", "$.a.b", "1"}},
		{"", []string{"JSON.SET", "k", "$", "1", "NX"}},
		{"json.merge k", []string{"JSON.MERGE", "k", "$", "{}"}},
		{"json.mset k,json.mset n", []string{"JSON.MSET", "k", "$.a", "2", "k", "$.none.x", "1", "n", "$", "[1]"}},
		{"json.numincrby k", []string{"JSON.NUMINCRBY", "k", "$.a", "0"}},
		{"", []string{"JSON.NUMINCRBY", "k", "$.s", "0"}},
		{"json.nummultby k", []string{"JSON.NUMMULTBY", "k", "$..a", "2"}},
		{"json.numpowby k", []string{"JSON.NUMPOWBY", "k", "$.a", "2"}},
		{"json.toggle k", []string{"JSON.TOGGLE", "k", "$.t"}},
		{"", []string{"JSON.TOGGLE", "k", "$.a"}},
		{"json.strappend k", []string{"JSON.STRAPPEND", "k", "$.s", `"y"`}},
		{"json.arrappend k", []string{"JSON.ARRAPPEND", "k", "$.l", "3"}},
		{"json.arrinsert k", []string{"JSON.ARRINSERT", "k", "$.l", "0", "3"}},
		{"json.arrpop k", []string{"JSON.ARRPOP", "k", "$.l"}},
		{"", []string{"JSON.ARRPOP", "k", "$.e"}},
		{"json.arrpop k", []string{"JSON.ARRPOP", "k", ".e"}},
		{"json.arrtrim k", []string{"JSON.ARRTRIM", "k", "$.l", "0", "-1"}},
		{"json.clear k", []string{"JSON.CLEAR", "k", "$.l"}},
		{"", []string{"JSON.CLEAR", "k", "$.l"}},
		{"json.del k", []string{"JSON.FORGET", "k", "$.l"}},
		{"", []string{"JSON.DEL", "k", "$.l"}},
		{"json.del k", []string{"JSON.DEL", "k"}},
		{"", []string{"JSON.DEL", "k"}},
	} {
		r.Events = nil
		reply := r.Call(c.call...)
		if got := strings.Join(r.Events, ","); got != c.events {
			t.Errorf("%q, reply %q: events %q, want %q", c.call, reply, got, c.events)
		}
	}
}

// What is bad, or made to take long, gives an error and changes nothing.
func TestHostileCallsAreRefusedSoon(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group())
	deep := strings.Repeat(`{"a":`, 126) + `{"a":1}` + strings.Repeat("}", 126)
	wide := "[" + strings.Repeat(`{"a":[1,2,{"b":"aaaaaaaaaaaaaaaa"}]},`, 20_000) + "0]"
	r.Want("+OK\r\n", "JSON.SET", "deep", "$", deep)
	r.Want("+OK\r\n", "JSON.SET", "wide", "$", wide)
	before := [2]string{r.Call("JSON.GET", "deep"), r.Call("JSON.GET", "wide")}
	deepest := "$" + strings.Repeat(".a", 127)
	for name, call := range map[string][]string{
		"brackets":            {"JSON.SET", "k", "$", strings.Repeat("[", 200_000)},
		"objects":             {"JSON.SET", "deep", "$", strings.Repeat(`{"a":`, 200_000)},
		"parentheses":         {"JSON.GET", "wide", "$[?" + strings.Repeat("(", 64<<10)},
		"path":                {"JSON.GET", "wide", "$" + strings.Repeat(".a", 64<<10)},
		"selectors":           {"JSON.GET", "wide", "$[0" + strings.Repeat(",0", 1000) + "]"},
		"patch at the end":    {"JSON.MERGE", "deep", deepest, `{"x":1}`},
		"value at the end":    {"JSON.SET", "deep", deepest, "[]"},
		"patch as deep again": {"JSON.MERGE", "deep", deepest, deep},
		"surrogate in a name": {"JSON.SET", "wide", "$", `{"\ud800":1}`},
		"number":              {"JSON.NUMINCRBY", "deep", deepest, "1e999999999999999999999"},
		"regular expression":  {"JSON.SET", "wide", `$[?(@.a[2].b=~"((a{1,100}){1,100}){1,100}")]`, "1"},
		"index":               {"JSON.ARRINSERT", "wide", "$", "9223372036854775807", "1"},
		"path that is none":   {"JSON.DEL", "wide", "$[?(@.a==" + strings.Repeat("1", 60_000)},
	} {
		start := time.Now()
		reply := r.Call(call...)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if reply[0] != '-' {
			t.Errorf("%s: got %.60q", name, reply)
		}
	}
	if after := [2]string{r.Call("JSON.GET", "deep"), r.Call("JSON.GET", "wide")}; after != before {
		t.Error("a call that was refused changed a document")
	}
}

// A path that visits too much is an error, whatever was written of the reply before.
func TestPathsThatVisitTooMuchAreAnError(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", strings.Repeat(`{"a":[1,`, 63)+"1"+strings.Repeat("]}", 63))
	r.Want("-"+string(errSteps)+"\r\n", "JSON.STRLEN", "k", "$"+strings.Repeat("..*", 12))
}

func TestLayoutsThatMakeTooMuchAreRefused(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Limits.MaxBulk = 1 << 20
	r.Want("+OK\r\n", "JSON.SET", "k", "$", strings.Repeat(`[1,`, 100)+"1"+strings.Repeat("]", 100))
	r.Want("-"+string(errTooLong)+"\r\n", "JSON.GET", "k", "INDENT", strings.Repeat(" ", 64<<10))
}

// A million members of a megabyte each, made of one, are not made.
func TestCopiesOfOneCallAreBounded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", "["+strings.Repeat("[],", 9999)+"[]]")
	r.Want("-"+string(errCopies)+"\r\n", "JSON.SET", "k", "$[*]", `"`+strings.Repeat("x", 100_000)+`"`)
	r.Want("-"+string(errCopies)+"\r\n", "JSON.ARRAPPEND", "k", "$[*]", `"`+strings.Repeat("x", 100_000)+`"`)
	r.Want(bulk("[[]]"), "JSON.GET", "k", "$[0]")
}

func BenchmarkJSON(b *testing.B) {
	r := commandtest.New(b, Group())
	r.Call("JSON.SET", "k", "$", session)
	r.Call("JSON.SET", "n", "$", `{"l":[]}`)
	for _, call := range [][]string{
		{"JSON.SET", "k", "$", session}, {"JSON.GET", "k"}, {"JSON.GET", "k", "$.hits"}, {"JSON.GET", "k", "$.user.name"}, {"JSON.GET", "k", "$.cart[?(@.qty>3)].sku"},
		{"JSON.SET", "k", "$.seen", "1764300000001"}, {"JSON.NUMINCRBY", "k", "$.hits", "1"}, {"JSON.MERGE", "k", "$", `{"hits":1,"seen":2}`},
	} {
		b.Run(strings.ReplaceAll(strings.Join(call[:min(len(call), 3)], " ")[5:], " k", "")+"/args="+strconv.Itoa(len(call)), func(b *testing.B) {
			argv := commandtest.Argv(call...)
			b.ReportAllocs()
			for b.Loop() {
				r.Do(argv)
			}
		})
	}
}

// The same in a document of 10 MB: one page of it is touched.
func BenchmarkJSONLarge(b *testing.B) {
	r := commandtest.New(b, Group())
	r.Call("JSON.SET", "k", "$", `{"l":[`+strings.Repeat(session+",", 9000)+`1],"hits":1}`)
	for _, call := range [][]string{
		{"JSON.NUMINCRBY", "k", "$.hits", "1"}, {"JSON.NUMINCRBY", "k", "$.l[4500].hits", "1"}, {"JSON.GET", "k", "$.l[4500].hits"}, {"JSON.SET", "k", "$.l[17].seen", "1764300000001"},
		{"JSON.GET", "k", "$.l[?(@.hits<41)].id"}, {"JSON.GET", "k", "$..sku"},
	} {
		b.Run(strings.Join(call, " ")[5:], func(b *testing.B) {
			argv := commandtest.Argv(call...)
			b.ReportAllocs()
			for b.Loop() {
				r.Do(argv)
			}
		})
	}
}
