package json

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/persistence"
)

// again makes the memory of a store anew, of what was recorded.
func again(r *commandtest.Rig) {
	var all persistence.Shards
	all.AddAll()
	tx := r.Store.NewTx()
	tx.Lock(&all, r.Ctx.Now)
	defer tx.Unlock()
	tx.SetString([]byte("given up"), []byte("v"), persistence.NoExpiry)
	tx.Abandon()
}

// What a call does to several matches, or after others to the same document, is what is recorded.
func TestChangesAreReplayedAsTheyWereMade(t *testing.T) {
	const before = `[{"n":1,"s":"a","t":true,"l":[1,2,3],"o":{"x":1}},{"n":2,"s":"b","t":false,"l":[4,5,6],"o":{"x":2}}]`
	for _, call := range [][]string{
		{"JSON.NUMINCRBY", "k", "$[*].n", "5"}, {"JSON.NUMMULTBY", "k", "$..n", "1.5"}, {"JSON.STRAPPEND", "k", "$[*].s", `"x"`}, {"JSON.TOGGLE", "k", "$[*].t"},
		{"JSON.ARRAPPEND", "k", "$[*].l", "7", "[8]"}, {"JSON.ARRINSERT", "k", "$[*].l", "-1", "7"}, {"JSON.ARRPOP", "k", "$[*].l", "0"}, {"JSON.ARRTRIM", "k", "$[*].l", "1", "1"},
		{"JSON.CLEAR", "k", "$[*].*"}, {"JSON.DEL", "k", "$[*].o"}, {"JSON.DEL", "k", "$..x"}, {"JSON.SET", "k", "$[*].n", "null"}, {"JSON.SET", "k", "$[0].new", `{"y":[]}`},
		{"JSON.MERGE", "k", "$[*]", `{"o":{"x":null,"y":1},"s":null}`}, {"JSON.MSET", "k", "$[0].l[0]", "9", "k", "$[*].n", `"` + strings.Repeat("long", 100) + `"`, "k", "$[1].s", "1"},
	} {
		r := commandtest.New(t, Group())
		r.Want("+OK\r\n", "JSON.SET", "k", "$", before)
		r.Want("+OK\r\n", "JSON.SET", "k", "$[1].extra", `{"kept":true}`)
		if got := r.Call(call...); strings.HasPrefix(got, "-") {
			t.Fatalf("%q: %s", call, got)
		}
		want := r.Call("JSON.GET", "k")
		if again(r); r.Call("JSON.GET", "k") != want {
			t.Errorf("%q: replayed the document is %s, want %s", call, r.Call("JSON.GET", "k"), want)
		}
	}
}

// Of many changes the journal gets no more than the document.
func TestManyChangesRecordTheDocumentAlone(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", "["+strings.Repeat("1,", 5000)+"1]")
	before := r.Journal()
	r.Call("JSON.NUMINCRBY", "k", "$[*]", "1")
	if got := r.Journal() - before; got > 7000 {
		t.Errorf("%d bytes for changes of a document of 5 kB", got)
	}
}
