package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
)

// The store in testdata/format3-json is as that in format3, and has JSON documents. It is written
// anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenJSON -golden
const goldenJSON = "testdata/format3-json"

// goldenDocuments are texts of documents: some in their heads, some in pages, of every kind of
// value.
var goldenDocuments = map[string]string{
	"scalar": `18446744073709551615`,
	"small":  `{"a":[0,-1,127,-300,70000,-5000000000,1.5,null,true,false,"é"],"b":{},"":[]}`,
	"floats": `[0.1,-0.0,3.14]`,
	"string": `"` + strings.Repeat("long ", 5000) + `"`,
	"paged": `{"l":[` + strings.Join(goldenList(600, func(i int) string { return fmt.Sprintf(`{"n":%d,"s":"%0*d"}`, i, i%90, 7) }), ",") + `],"o":{` +
		strings.Join(goldenList(900, func(i int) string { return fmt.Sprintf(`"name-%d":[%d,"value"]`, i, i) }), ",") + `},"t":"` + strings.Repeat("x", 9000) + `"}`,
}

func makeGoldenJSON(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, text := range goldenDocuments {
		var p json.Parser
		floats := json.NoFloat
		if name == "floats" {
			floats = json.FP16
		}
		value, _, err := p.Parse(nil, []byte(`{"was":`+text+`,"gone":[1,2,3],"s":"te"}`), floats)
		if err != nil {
			t.Fatal(err)
		}
		d, ch, _, err := Edit(tx, []byte(prefix+name), func() *json.Document { return json.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		d.SetRoot(ch, value)
		at := func(name string) []json.Step { return []json.Step{json.Named([]byte(name))} }
		done := d.Splice(ch, at("gone"), 1, 1, json.AppendNull(nil)) && d.Remove(ch, at("gone")) && d.AppendString(ch, at("s"), []byte("xt")) &&
			d.Put(ch, at("new"), json.AppendInt(nil, 7))
		if !done {
			t.Fatalf("%s: a change was not made", name)
		}
	}
}

func TestGoldenJSON(t *testing.T) { testGolden(t, goldenJSON, makeGoldenJSON, checkGoldenJSON) }

func checkGoldenJSON(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, text := range goldenDocuments {
		key := []byte(prefix + name)
		want := `{"was":` + text + `,"s":"text","new":7}`
		if diff := diffJSON(tx, key, want); diff != "" || tx.Kind(key) != structures.KindJSON {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// diffJSON says how a document differs from its text.
func diffJSON(tx *Tx, key []byte, want string) string {
	d, ok, err := View[*json.Document](tx, key)
	if !ok || err != nil {
		return fmt.Sprintf("document: got %v, %v", ok, err)
	}
	if got := string(json.AppendText(nil, d.Root())); got != want {
		return fmt.Sprintf("document: got %.200s, want %.200s", got, want)
	}
	return ""
}
