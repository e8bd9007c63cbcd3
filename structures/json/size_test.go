package json

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// oneKilobyte is a document as a session store has it.
const oneKilobyte = `{"id":"0b7c2f9e-4a53-4a1f-9a50-6f2f1d6f0a11","user":{"name":"Ada Lovelace","mail":"ada@example.org","roles":["customer","beta"]},"hits":41,"seen":1764300000000,` +
	`"cart":[{"sku":"A-100","qty":1,"price":19.99},{"sku":"A-200","qty":4,"price":5.5},{"sku":"B-300","qty":2,"price":7.25},{"sku":"B-400","qty":9,"price":1.0},{"sku":"C-500","qty":3,"price":100.0},{"sku":"C-600","qty":5,"price":0.5}],` +
	`"preferences":{"theme":"dark","language":"en","newsletter":false,"page":50},"pages":["/","/products","/products/a-100","/products/a-200","/cart","/products/b-300","/cart","/help","/products/b-400","/cart",` +
	`"/products/c-500","/products/c-600","/cart","/account","/account/orders","/account/orders/17","/products","/search?q=loom","/products/a-100","/checkout"]}`

func TestADocumentIsShorterThanItsText(t *testing.T) {
	if v := encode(t, oneKilobyte); len(v) > len(oneKilobyte)*9/10 {
		t.Errorf("%d bytes for a text of %d", len(v), len(oneKilobyte))
	}
}

// What is recorded and written of a change is as much as changed, in a document of 10 MB too.
func TestASmallChangeOfALargeDocumentIsSmall(t *testing.T) {
	d := New(structurestest.Keys(1))
	d.SetRoot(nil, encode(t, `{"l":[`+strings.Repeat(oneKilobyte+",", 9500)+`1],"hits":1}`))
	d.Clean()
	list, hits := Named([]byte("l")), Named([]byte("hits"))
	for _, c := range []struct {
		name          string
		bytes, change int // at the most: in the journal, and of pages
		do            func(ch *structures.Change) bool
	}{
		{"a number", 40, nearBytes, func(ch *structures.Change) bool { return d.Put(ch, []Step{list, At(4500), hits}, AppendInt(nil, 42)) }},
		{"a number at the end", 40, nearBytes, func(ch *structures.Change) bool { return d.Put(ch, []Step{hits}, AppendInt(nil, 2)) }},
		{"an element", 40, 2 * nearBytes, func(ch *structures.Change) bool { return d.Splice(ch, []Step{list}, 9501, 0, AppendNull(nil)) }},
		{"a removal", 40, 2 * nearBytes, func(ch *structures.Change) bool { return d.Remove(ch, []Step{list, At(100)}) }},
		{"a string", 60, nearBytes, func(ch *structures.Change) bool {
			return d.AppendString(ch, []Step{list, At(77), Named([]byte("id"))}, []byte("more"))
		}},
	} {
		var ch structures.Change
		if !c.do(&ch) || ch.Len() > c.bytes {
			t.Errorf("%s: a record of %d bytes, want %d at the most", c.name, ch.Len(), c.bytes)
		}
		written := 0
		d.Pages(false, func(_ uint64, page []byte) { written += len(page) })
		if written > c.change {
			t.Errorf("%s: %d bytes of pages, want %d at the most", c.name, written, c.change)
		}
		d.Clean()
	}
	if head := len(d.AppendHead(nil)); head > 16<<10 {
		t.Errorf("a head of %d bytes", head)
	}
}

// A member that goes whose pages are on disk only is not read, and takes its pages out of the accounts.
func TestMembersThatGoTakeTheirPagesOutOfTheAccounts(t *testing.T) {
	text := `{"stays":["` + strings.Repeat(`word","`, 3000) + `"],"goes":["` + strings.Repeat(`word","`, 5000) + `"]}`
	whole := New(&structures.HashKeys{})
	whole.SetRoot(nil, encode(t, text))
	d, err := Decode(whole.AppendHead(nil), &structures.HashKeys{})
	if err != nil {
		t.Fatal(err)
	}
	pages, bytes := d.Evicted()
	if pages < 4 || bytes < 30_000 || d.Bytes() < 30_000 {
		t.Fatalf("%d pages of %d bytes are evicted, and there are %d bytes", pages, bytes, d.Bytes())
	}
	if !d.Remove(nil, []Step{Named([]byte("goes"))}) {
		t.Fatal("the member is not removed")
	}
	left, size := d.Evicted()
	if left >= pages || size < 3000*5 || size > 3000*5+5000 || int64(d.Bytes()) > size+200 {
		t.Errorf("%d of %d pages are left, %d of %d bytes, and there are %d bytes", left, pages, size, bytes, d.Bytes())
	}
	if d.SetRoot(nil, encode(t, "1")); d.Bytes() > 20 {
		t.Errorf("a document of one number has %d bytes", d.Bytes())
	}
	if left, size := d.Evicted(); left != 0 || size != 0 {
		t.Errorf("%d pages of %d bytes are left of it", left, size)
	}
}
