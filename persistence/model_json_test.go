package persistence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
)

// The operations of the model on JSON documents: objects whose members are small, or larger than a
// page.

func (o *trial) newDocument() *json.Document { return json.New(o.tx.HashKeys()) }

func (o *trial) putMember() bool {
	d, ch, ok := editTrial(o, structures.KindJSON, o.newDocument)
	if !ok {
		return false
	}
	if d.Empty() {
		d.SetRoot(ch, o.encoded("{}"))
	}
	name, value := fmt.Sprint("n", o.r.IntN(30)), fmt.Sprint(o.r.IntN(1000))
	switch o.r.IntN(6) {
	case 0:
		value = `"` + strings.Repeat("x", o.r.IntN(20_000)) + `"`
	case 1:
		value = "[" + strings.Repeat(`{"a":[1,2]},`, o.r.IntN(1500)) + "0]"
	}
	if !d.Put(ch, []json.Step{json.Named([]byte(name))}, o.encoded(value)) {
		o.Fatalf("Put %.20s %s: got false", o.key, name)
	}
	member := fmt.Sprintf("%q:%s", name, value)
	o.old.doc = slices.Clone(o.old.doc)
	if i := slices.IndexFunc(o.old.doc, func(m string) bool { return strings.HasPrefix(m, fmt.Sprintf("%q:", name)) }); i >= 0 {
		o.old.doc[i] = member
	} else {
		o.old.doc = append(o.old.doc, member)
	}
	o.put(o.old)
	return true
}

func (o *trial) encoded(text string) []byte {
	o.Helper()
	value, err := json.Parse([]byte(text))
	if err != nil {
		o.Fatal(err)
	}
	return value
}

func (o *trial) removeFromDocument() bool {
	d, ch, ok := editTrial[*json.Document](o, structures.KindJSON, nil)
	if !ok || len(o.old.doc) == 0 {
		return false
	}
	i := o.r.IntN(len(o.old.doc))
	name, _, _ := strings.Cut(o.old.doc[i][1:], `"`)
	if !d.Remove(ch, []json.Step{json.Named([]byte(name))}) {
		o.Fatalf("Remove %.20s %s: got false", o.key, name)
	}
	doc, last := slices.Clone(o.old.doc), len(o.old.doc)-1
	doc[i] = doc[last]
	o.old.doc = doc[:last]
	o.put(o.old)
	return true
}
