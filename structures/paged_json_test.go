package structures_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
)

// jsonModel is a document with a large object, a large array, a long string and objects in the
// array that become large themselves.
type jsonModel struct {
	members map[string]string
	list    []string // texts of values
	text    string
}

func (m *jsonModel) create() structures.Paged {
	d := json.New(&pagedKeys)
	d.SetRoot(nil, encodedJSON(`{"m":{},"l":[],"s":""}`))
	m.members = map[string]string{}
	return d
}

func (m *jsonModel) decode(head []byte) (structures.Paged, error) {
	return json.Decode(head, &pagedKeys)
}

func encodedJSON(text string) []byte {
	v, err := json.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

func (m *jsonModel) value(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0:
		return `{"large":["` + strings.Repeat(`x","`, 5000) + `"]}`
	case 1:
		return `"` + strings.Repeat("long", 4000) + `"`
	}
	return fmt.Sprintf(`{"n":%d,"s":"%0*d"}`, r.IntN(1000), 1+r.IntN(600), 7)
}

func (m *jsonModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	d, before := v.(*json.Document), ch.Len()
	did := func() bool { return ch.Len() > before }
	name, value := fmt.Sprint("name-", r.IntN(400)), m.value(r)
	member := []json.Step{json.Named([]byte("m")), json.Named([]byte(name))}
	list := []json.Step{json.Named([]byte("l"))}
	pin := func(path []json.Step, elements ...int) bool { return d.Pin(path, elements...) }
	switch op := r.IntN(12); {
	case op < 4:
		if pin(member) && pin(member[:1]) {
			d.Put(ch, member, encodedJSON(value))
		}
		if did() {
			m.members[name] = value
		}
	case op < 5:
		if d.PinRemoval(member) {
			d.Remove(ch, member)
		}
		if did() {
			delete(m.members, name)
		}
	case op < 6:
		s := strings.Repeat("s", r.IntN(3000))
		if d.AppendString(ch, []json.Step{json.Named([]byte("s"))}, []byte(s)); did() {
			m.text += s
		}
	case op < 7 && len(m.list) > 0:
		i := r.IntN(len(m.list))
		n := r.IntN(min(20, len(m.list)-i) + 1)
		if pin(list, i-1, i, i+n-1, i+n) {
			d.Splice(ch, list, i, n, nil)
		}
		if did() {
			m.list = slices.Delete(m.list, i, i+n)
		}
	case op < 8 && len(m.list) > 0:
		i := r.IntN(len(m.list))
		if path := append(list, json.At(i)); pin(path) {
			d.Put(ch, path, encodedJSON(value))
		}
		if did() {
			m.list[i] = value
		}
	default:
		i := r.IntN(len(m.list) + 1)
		if r.IntN(2) == 0 {
			i = len(m.list)
		}
		if pin(list, i-1, i) {
			d.Splice(ch, list, i, 0, encodedJSON(value))
		}
		if did() {
			m.list = slices.Insert(m.list, i, value)
		}
	}
}

func (m *jsonModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	d := v.(*json.Document)
	at := func(path ...json.Step) string {
		v, ok := d.Lookup(path)
		if !ok {
			return "none"
		}
		return string(json.AppendText(nil, v))
	}
	if r.IntN(3) == 0 {
		for _, name := range slices.Sorted(maps.Keys(m.members)) {
			if got := at(json.Named([]byte("m")), json.Named([]byte(name))); got != m.members[name] {
				t.Fatalf("%s: got %.60s, want %.60s", name, got, m.members[name])
			}
		}
		for i, want := range m.list {
			if got := at(json.Named([]byte("l")), json.At(i)); got != want {
				t.Fatalf("element %d: got %.60s, want %.60s", i, got, want)
			}
		}
	}
	if got, want := at(json.Named([]byte("l"))), "["+strings.Join(m.list, ",")+"]"; got != want {
		t.Fatalf("the array has %d bytes, want %d", len(got), len(want))
	}
	if got := at(json.Named([]byte("s"))); got != `"`+m.text+`"` {
		t.Fatalf("a string of %d bytes, want %d", len(got), len(m.text))
	}
	if members, _ := d.Lookup([]json.Step{json.Named([]byte("m"))}); members.Len() != len(m.members) {
		t.Fatalf("%d members, want %d", members.Len(), len(m.members))
	}
}
