package json

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
)

// What a call does if its matches lie in one another, are of several types, or the values have what a
// text writes otherwise than a document.
func TestChangesOfManyMatches(t *testing.T) {
	for _, c := range []struct {
		name, before string
		call         []string
		reply, after string // the document; "": the key is gone
	}{
		{"nulls that are merged into no object", `{"a":1}`, []string{"JSON.MERGE", "k", "$.a", `{"b":null,"c":{"d":null,"e":[null]}}`},
			"+OK\r\n", `{"a":{"c":{"e":[null]}}}`},
		{"nulls that are merged into nothing", `{"a":{}}`, []string{"JSON.MERGE", "k", "$.a.b", `{"c":null}`}, "+OK\r\n", `{"a":{"b":{"c":null}}}`},
		{"removal of matches in matches", `{"a":{"a":{"a":1}},"b":[{"a":2,"c":3}]}`, []string{"JSON.DEL", "k", "$..a"}, ":2\r\n", `{"b":[{"c":3}]}`},
		{"removal of one match twice", `[1,2,3]`, []string{"JSON.DEL", "k", "$[0,0,-1,2]"}, ":2\r\n", `[2]`},
		{"removal of all", `{"a":{"b":1}}`, []string{"JSON.DEL", "k", "$..*"}, ":1\r\n", ""},
		{"values put in matches in matches", `{"a":{"a":1},"l":[{"a":2}]}`, []string{"JSON.SET", "k", "$..a", "[]"}, "+OK\r\n", `{"a":[],"l":[{"a":[]}]}`},
		{"arrays in arrays that are popped", `[[[1],2],[3]]`, []string{"JSON.ARRPOP", "k", "$..*", "0"},
			"*6\r\n" + bulk("[]") + bulk("3") + bulk("1") + "$-1\r\n$-1\r\n$-1\r\n", `[[2],[]]`},
		{"arrays in arrays that are cut", `[0,[1,[2,3]],4]`, []string{"JSON.ARRTRIM", "k", "$..[1]", "1", "1"}, "*3\r\n:1\r\n:1\r\n$-1\r\n", `[0,[[3]],4]`},
		{"one array twice", `{"a":[1,2,3]}`, []string{"JSON.ARRPOP", "k", `$["a","a"]`}, "*2\r\n" + bulk("3") + bulk("2"), `{"a":[1]}`},
		{"one number twice", `{"a":1}`, []string{"JSON.NUMINCRBY", "k", `$["a","a"]`, "1"}, bulk("[2,3]"), `{"a":3}`},
		{"one boolean twice", `{"a":true}`, []string{"JSON.TOGGLE", "k", `$["a","a"]`}, "*2\r\n:0\r\n:1\r\n", `{"a":true}`},
		{"an escaped string", `{"s":"a"}`, []string{"JSON.STRAPPEND", "k", "$.s", `"\n\u00e9\""`}, "*1\r\n:5\r\n", `{"s":"a\né\""}`},
		{"an empty string", `{"s":"a"}`, []string{"JSON.STRAPPEND", "k", ".s", `""`}, ":1\r\n", `{"s":"a"}`},
		{"emptied arrays in arrays", `[[1,[2]],3]`, []string{"JSON.CLEAR", "k", "$..*"}, ":2\r\n", `[[],0]`},
		{"numbers that become wider", `[[63,127,32767,2147483647],"x"]`, []string{"JSON.NUMINCRBY", "k", "$[0][*]", "1"}, bulk("[64,128,32768,2147483648]"), `[[64,128,32768,2147483648],"x"]`},
		{"numbers that become narrower", `[[64,-129,-32769,2147483648],"x"]`, []string{"JSON.NUMINCRBY", "k", "$[0][*]", "-1"}, bulk("[63,-130,-32770,2147483647]"), `[[63,-130,-32770,2147483647],"x"]`},
	} {
		r := commandtest.New(t, Group())
		r.Want("+OK\r\n", "JSON.SET", "k", "$", c.before)
		if got := r.Call(c.call...); got != c.reply {
			t.Errorf("%s: got %q, want %q", c.name, got, c.reply)
		}
		after := "$-1\r\n"
		if c.after != "" {
			after = bulk(c.after)
		}
		if got := r.Call("JSON.GET", "k"); got != after {
			t.Errorf("%s: the document is %q, want %q", c.name, got, after)
		}
	}
}

// Values of two types are neither equal nor less nor greater.
func TestFiltersCompareValuesOfOneType(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", `[0,"",false,null,[],{},1,"1",true]`)
	r.Want("+OK\r\n", "JSON.SET", "n", "$", `[-3,-7,-5,-5.5,-9223372036854775808,-9223372036854775807,18446744073709551615,9223372036854775807,0.5]`)
	for filter, want := range map[string]string{
		"@<-5": `[-7,-5.5,-9223372036854775808,-9223372036854775807]`, "@<=-9223372036854775808": `[-9223372036854775808]`, "-5==@": `[-5]`,
		"@>9223372036854775807": `[18446744073709551615]`, "@>=9223372036854775807": `[18446744073709551615,9223372036854775807]`, "@>-4": `[-3,18446744073709551615,9223372036854775807,0.5]`,
	} {
		r.Want(bulk(want), "JSON.GET", "n", "$[?("+filter+")]")
	}
	for filter, want := range map[string]string{
		"@==false": `[false]`, "@==null": `[null]`, "@==0": `[0]`, `@==""`: `[""]`, "@<=true": `[false,true]`, "@<1": `[0]`, `@<"2"`: `["","1"]`,
		"@>=null": `[null]`, "@!=null": `[0,"",false,[],{},1,"1",true]`, "null==@": `[null]`, "false<@": `[true]`,
	} {
		r.Want(bulk(want), "JSON.GET", "k", "$[?("+filter+")]")
	}
}

func TestStringsDoNotGrowBeyondTheLongestArgument(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Limits.MaxBulk = 100
	r.Want("+OK\r\n", "JSON.SET", "k", "$", `["0123456789",""]`)
	long := strings.Repeat("x", 90)
	r.Want("-"+string(errTooLong)+"\r\n", "JSON.STRAPPEND", "k", "$[*]", `"x`+long+`"`)
	r.Want(bulk(`["0123456789",""]`), "JSON.GET", "k")
	r.Want("*2\r\n:100\r\n:90\r\n", "JSON.STRAPPEND", "k", "$[*]", `"`+long+`"`)
}
