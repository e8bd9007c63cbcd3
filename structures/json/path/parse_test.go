package path

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/json"
)

func TestPathsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"$.", "$..", "$[", "$[]", "$.a[", "$.a b", "$.é", "$[01]", "$[-0]", "$[1,]", "$[1,\"a\"]", "$[\"a\",0]", "$['a\"]", `$["\n"]`, `$["\u0041"]`,
		"$[::0]", "$[::-1]", "$[1:2:3:4]", "$[?]", "$[?(]", "$[?(@.a]", "$[?(@.a==)]", "$[?(@.a=1)]", "$[?(@.a==1e5)]", "$[?(@.a==1.)]", "$[?(!@.a)]",
		"$[?(@.a&&)]", "$[?(@.a==[1])]", "$[?(@.a==tru)]", "$[*,1]", "$a b", "", "a.", "a..", "[", "$[?(@.a==-)]", "$[ 1 2 ]", "$[\t1]", "$.a.", "$[?(@.a)", "$.*a",
		"$[?(@.a==1==2)]", strings.Repeat("$.a", 30_000),
		"$[?" + strings.Repeat("(", 128) + "@" + strings.Repeat(")", 128) + "]", "$" + "[0" + strings.Repeat(",0", 1000) + "]",
	} {
		p, err := Parse([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "Error occurred at position ") {
			t.Errorf("%.40q: got %v, %v", text, p, err)
		}
	}
}

func TestErrorsSayWhereThePathAsAJSONPathEndsToBeOne(t *testing.T) {
	for text, want := range map[string]int{"$.": 2, "$[": 2, "a b": 3, "a b.": 3, "$.a[?(@.b=1)]": 9, "$.é": 2, "": 2} {
		_, err := Parse([]byte(text))
		if e, ok := err.(*Error); !ok || e.At != want {
			t.Errorf("%q: got %v, want position %d", text, err, want)
		}
	}
}

func TestLegacyPathsStandForJSONPaths(t *testing.T) {
	const doc = `{"a":{"b":[1,2]},"$a":3,"$":4}`
	for legacy, want := range map[string]string{
		".": doc, ".a": `{"b":[1,2]}`, "a.b[0]": "1", "$a": "3", "$": doc, "..b": "[1,2]", `["a"]`: `{"b":[1,2]}`, ".[\"a\"].b[ -1 ]": "2", "$$a": "none", "a . b": "[1,2]",
	} {
		p, err := Parse([]byte(legacy))
		if err != nil {
			t.Errorf("%q: %v", legacy, err)
			continue
		}
		if p.Legacy != (legacy != "$") {
			t.Errorf("%q: legacy: %v", legacy, p.Legacy)
		}
		if got := find(t, p, doc); got != "["+strings.Replace(want, "none", "", 1)+"]" {
			t.Errorf("%q: got %s, want %s", legacy, got, want)
		}
	}
}

func TestStaticPathsNameOnePlace(t *testing.T) {
	for text, want := range map[string]bool{"$": true, "$.a[0][\"b c\"][-1]": true, "a.b": true, "$..a": false, "$.*": false, "$[0,1]": false, "$[\"a\",\"b\"]": false, "$[0:1]": false, "$[?(@)]": false} {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if steps, ok := p.Static(); ok != want {
			t.Errorf("%s: %v, %v", text, steps, ok)
		}
	}
}

// document makes a document of a text, which may have chains.
func document(t testing.TB, text string) *json.Document {
	t.Helper()
	v, err := json.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := json.New(keys)
	d.SetRoot(nil, v)
	return d
}

func find(t testing.TB, p *Path, doc string) string {
	t.Helper()
	d := document(t, doc)
	var texts []string
	list, ok := NewSearch(0).All(p, d.Root(), true)
	if !ok {
		t.Fatal("too many steps")
	}
	for i := range list {
		texts = append(texts, string(json.AppendText(nil, list[i].Value)))
		if v, ok := d.Lookup(list[i].Path()); !ok || !v.Same(list[i].Value) {
			t.Fatalf("%v is not where match %d is", list[i].Path(), i)
		}
	}
	return "[" + strings.Join(texts, ",") + "]"
}

func TestPathsMatchWhatTheyMatchInRedisJSON(t *testing.T) {
	for _, c := range []struct{ doc, path, want string }{
		{`[0,1,2,3,4,5]`, "$[-9]", "[0]"}, {`[]`, "$[-1]", "[]"}, {`[0,1]`, "$[99999999999999999999]", "[]"}, {`[0,1]`, "$[-99999999999999999999]", "[0]"},
		{`[0,1,2,3,4,5]`, "$[ 1 : 5 : 2 ]", "[1,3]"}, {`[0,1,2,3,4,5]`, "$[-3:-1]", "[3,4]"}, {`[0,1,2]`, "$[:]", "[0,1,2]"}, {`[0,1,2]`, "$[::]", "[0,1,2]"},
		{`[0,1,2]`, "$[0,0,2]", "[0,0,2]"}, {`{"a":1}`, `$["a","a"]`, "[1,1]"}, {`{"a":{"a":{"a":1}}}`, "$..a..a", `[{"a":1},1,1]`},
		{`{"a":[{"b":1},{"b":2}]}`, "$..b", "[1,2]"}, {`{"a":[1,{"b":[2]}]}`, "$..[0]", "[1,2]"}, {`{"a":{"b":1},"c":[2]}`, "$..*", `[{"b":1},[2],1,2]`},
		{`{"0":1}`, "$[0]", "[]"}, {`[1]`, "$.0", "[]"}, {`"abc"`, "$[0]", "[]"}, {`"abc"`, "$.*", "[]"}, {`"abc"`, "$[?(@)]", "[]"},
		{`{"a":{"x":1},"b":{"x":5},"c":7}`, "$[?(@.x>2)]", `[{"x":5}]`}, {`[1,2.0,"2",null,true]`, "$[?(@==2)]", "[2.0]"},
		{`[9007199254740993,9007199254740992.0]`, "$[?(@==9007199254740993)]", "[9007199254740993]"},
		{`[18446744073709551615,1,-1]`, "$[?(@>9223372036854775807)]", "[18446744073709551615]"}, {`[1e300,-1e300]`, "$[?(@<18446744073709551615)]", "[-1e300]"},
		{`[-3,-2,-1.5,0]`, "$[?(@<-1.5)]", "[-3,-2]"}, {`[true,false]`, "$[?(@>false)]", "[true]"}, {`[null]`, "$[?(@<=null)]", "[null]"},
		{`[{"a":1},{}]`, "$[?(@.a!=1)]", "[{}]"}, {`[{"a":1},{}]`, "$[?(@.b==@.c)]", "[]"}, {`[{"a":1},{}]`, "$[?(@.b!=@.c)]", `[{"a":1},{}]`},
		{`[{"l":[1,5]},{"l":[1]}]`, "$[?(@.l[*]>4)]", `[{"l":[1,5]}]`}, {`[{"a":[1],"b":[1]},{"a":[1],"b":[2]}]`, "$[?(@.a==@.b)]", `[{"a":[1],"b":[1]}]`},
		{`[{"a":{"x":1,"y":2},"b":{"y":2,"x":1}}]`, "$[?(@.a==@.b)].a.x", "[1]"}, {`[{"a":[1],"b":[2]}]`, "$[?(@.a<@.b)]", "[]"},
		{`[1]`, "$[?(false)]", "[1]"}, {`[1]`, "$[?(0)]", "[1]"}, {`[1,2,3]`, "$[?(@==1||@==2&&@==3)]", "[1]"}, {`[1,2,3]`, "$[?((@==1||@==2)&&@!=2)]", "[1]"},
		{`["a'b","c"]`, `$[?(@=='a\'b')]`, `["a'b"]`}, {`["a.b","axb"]`, `$[?(@=~"a\\.b")]`, `["a.b"]`}, {`["aab"]`, `$[?(@=~"^(a+)+$")]`, "[]"},
		{`["x"]`, `$[?(@=~"((a{1,100}){1,100}){1,100}")]`, "[]"}, {`[{"re":"^a","s":"abc"},{"re":"(","s":"("}]`, "$[?(@.s=~@.re)].s", `["abc"]`},
		{`{"l":[1,2,3],"m":2}`, "$.l[?(@<=$.m)]", "[1,2]"}, {`{"l":[{"v":2}],"m":[1,2]}`, "$.l[?(@.v==$.m[*])]", `[{"v":2}]`}, {`[{"a":null}]`, "$[?@.a]", `[{"a":null}]`},
		{`{"":{"":1}}`, `$[""][""]`, "[1]"}, {`{"a-b:c/d":1}`, "$.a-b:c/d", "[1]"}, {`[[1,2],[3]]`, "$[*][*]", "[1,2,3]"}, {`{"a":1}`, "$ . a", "[]"},
		{`[{"a":5}]`, "$[?@a==5]", `[{"a":5}]`},
	} {
		p, err := Parse([]byte(c.path))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got := find(t, p, c.doc); got != c.want {
			t.Errorf("%s in %s: got %s, want %s", c.path, c.doc, got, c.want)
		}
	}
}

// The same in a document that is cut into pages.
func TestPathsMatchInLargeDocuments(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,{"id":%d,"name":"user-%d","tags":["t%d","%s"]}`, i, i, i%7, strings.Repeat("x", i%50))
	}
	doc := `{"users":[` + b.String()[1:] + `],"by":{` + strings.ReplaceAll(strings.ReplaceAll(b.String()[1:], `{"id":`, `"k`), `,"name"`, `":{"name"`) + "}}"
	for path, want := range map[string]string{
		"$.users[2999].name": `["user-2999"]`, "$.users[-1].id": "[2999]", "$.users[?(@.id==1500)].name": `["user-1500"]`, "$.by.k1234.name": `["user-1234"]`,
		"$.by.k99999": "[]", "$.users[1000:1003].id": "[1000,1001,1002]", `$..[?(@.name=="user-77")].tags[0]`: `["t0","t0"]`,
	} {
		p, err := Parse([]byte(path))
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, p, doc); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// Nothing that a path can say takes longer than its steps allow.
func TestEvaluationIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":[1,`, 63) + "1" + strings.Repeat("]}", 63)
	wide := "[" + strings.Repeat(`"aaaaaaaaaaaaaaaaaaaa",`, 2000) + "5]"
	for _, c := range []struct{ doc, path string }{
		{deep, "$" + strings.Repeat("..*", 20)}, {wide, "$[?($..*==5)]"}, {wide, "$[?($..*==@)]"}, {wide, `$[?(@=~"(((a*)*)*)*b")]`},
		{wide, "$[?(" + strings.Repeat("@==1||", 9999) + "@==2)]"}, {wide, "$" + strings.Repeat("[*,*]", 2)}, {wide, "$" + "[0" + strings.Repeat(",0", 999) + "]" + "[0]"},
	} {
		p, err := Parse([]byte(c.path))
		if err != nil {
			continue
		}
		start := time.Now()
		d := document(t, c.doc)
		s := NewSearch(0)
		s.Steps = json.NewBudget(2_000_000)
		n := 0
		ok := s.Each(p, d.Root(), false, func(Match) bool { n++; return true })
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%.40s: %v for %d matches, %v", c.path, took, n, ok)
		}
	}
}

func FuzzPath(f *testing.F) {
	docs := []string{`{"a":{"b":[1,2.5,"x",null,true,{"a":1}]},"c":[[1],[2,3]]}`, `[[0,[1]],"abc",{"x":{"y":"^a"}}]`}
	for _, p := range []string{"$..a[?(@.b>1&&@.c=='x')]", "$[1:2:3]['a',\"b\"].*", "a.b[-1]", `$..[?(@=~$..y)]`, "$[?(@[0]==$[0,1] || (1<2))]"} {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			if e := err.(*Error); e.At < 0 || e.At > len(text)+maxLength {
				t.Fatalf("position %d of %q", e.At, text)
			}
			return
		}
		for _, doc := range docs {
			d := document(t, doc)
			s := NewSearch(0)
			s.Steps = json.NewBudget(100_000)
			list, ok := s.All(p, d.Root(), true)
			for i := range list {
				if v, found := d.Lookup(list[i].Path()); ok && (!found || !v.Same(list[i].Value)) {
					t.Fatalf("%q: match %d is not where it is said to be", text, i)
				}
			}
			if steps, static := p.Static(); static && len(list) > 1 {
				t.Fatalf("%q names one place, %v, and matches %d", text, steps, len(list))
			}
		}
	})
}
