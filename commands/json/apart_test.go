package json

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/structurestest"
)

// What a call searches of a large document, or reads much of, it reads when the key is not locked any more, with the reply that it has in
// MULTI, where it keeps the lock. What is found at once is read under the lock.
func TestLargeDocumentsAreReadBehindTheLocks(t *testing.T) {
	for _, proto := range []int{2, 3} {
		r := commandtest.New(t, Group())
		r.Ctx.Reply = commands.NewReply(nil, proto)
		r.Want("+OK\r\n", "JSON.SET", "k", "$", `{"l":[`+strings.Repeat(session+",", 2000)+`1],"hits":1,"s":"`+strings.Repeat("x", 100_000)+`"}`)
		for call, behind := range map[string]bool{
			"JSON.GET k":                    true,
			"JSON.GET k $":                  true,
			"JSON.GET k $.s":                true,
			"JSON.GET k .l[3].s .l[4]":      false,
			"JSON.GET k .hits":              false,
			"JSON.GET k $.l[1100].user":     false,
			"JSON.GET k $.hits .l":          true,
			"JSON.GET k .none":              false,
			"JSON.GET k ..none":             true,
			"JSON.GET k $..sku $..hits":     true,
			"JSON.GET k INDENT - $..sku":    true,
			"JSON.GET k $.*":                true,
			"JSON.GET k $.l":                true,
			"JSON.GET k .l":                 true,
			"JSON.GET k $.l[-10:]":          false,
			"JSON.GET k $.l[5:9].cart[*]":   false,
			"JSON.GET k $['hits','none']":   false,
			"JSON.TYPE k $.*":               false,
			"JSON.RESP k .l":                true,
			"JSON.RESP k .l[8]":             false,
			"JSON.OBJKEYS k $.l[3]":         false,
			"JSON.GET k $..*..*..*..*":      true, // visits too much
			"JSON.GET k $[":                 false,
			"JSON.TYPE k $..sku":            true,
			"JSON.TYPE k $.l":               false,
			"JSON.OBJLEN k $..user":         true,
			"JSON.OBJKEYS k $.l[*]":         true,
			"JSON.OBJKEYS k":                true,
			"JSON.ARRLEN k $.l":             false,
			"JSON.ARRLEN k ..cart":          true,
			"JSON.STRLEN k $..name":         true,
			"JSON.RESP k $.l[0]":            false,
			"JSON.RESP k $.l":               true,
			`JSON.ARRINDEX k $..cart 1`:     true,
			`JSON.ARRINDEX k $.l 1`:         true,
			`JSON.ARRINDEX k $.l[7].cart 1`: false,
		} {
			args := strings.Fields(call)
			r.Ctx.InMulti = true
			want := r.Call(args...)
			r.Ctx.InMulti = false
			if got := r.Call(args...); got != want {
				t.Errorf("%s: got %.200q, in MULTI %.200q", call, got, want)
			}
			if strings.HasPrefix(want, "-") {
				continue
			}
			if (r.UnderLocks <= len("*1\r\n")) != behind { // the reply of JSON.TYPE begins with an array in RESP3
				t.Errorf("%s: %d bytes were written under the locks", call, r.UnderLocks)
			}
		}
		r.Want(":1\r\n", "JSON.DEL", "k")
	}
}

// shelf has the pages of a document that are on disk only.
type shelf struct{ structurestest.Shelf }

func (s shelf) ReadPage(id uint64, use func(page []byte) error) bool {
	return use([]byte(s.Shelf[id])) == nil
}
func (s shelf) Failed() bool     { return false }
func (s shelf) Room() bool       { return true }
func (s shelf) Held(uint64) bool { return false }
func (s shelf) Tight() bool      { return false }

// A document with pages on disk only is read where it is, under the lock: a fork would need all of them.
func TestDocumentWithPagesOnDiskIsNotForLater(t *testing.T) {
	value, err := json.Parse([]byte(`{"l":[` + strings.Repeat(session+",", 3000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := json.New(structurestest.Keys(1))
	d.SetRoot(nil, value)
	c := new(commands.Ctx)
	if !isLarge(c, d) {
		t.Errorf("a document of %d bytes is not large", d.Size())
	}
	s := shelf{structurestest.Shelf{}}
	s.Store(t, d)
	d.SetPager(s)
	for range 2 {
		d.Evict(100_000)
	}
	if pages, _ := d.Evicted(); pages == 0 || d.Size() < 1<<20 {
		t.Fatalf("%d pages are on disk only, %d bytes in memory", pages, d.Size())
	}
	if isLarge(c, d) {
		t.Error("a document with pages on disk only is to be forked")
	}
}
