package json

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// node is a value of the model: a naive ordered tree.
type node struct {
	text   string // of a scalar, as JSON
	names  []string
	values []*node
	kind   byte // '{', '[', or 0 for a scalar
}

func (n *node) String() string {
	switch n.kind {
	case '[':
		var parts []string
		for _, v := range n.values {
			parts = append(parts, v.String())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case '{':
		var parts []string
		for i, v := range n.values {
			parts = append(parts, string(AppendQuoted(nil, []byte(n.names[i])))+":"+v.String())
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return n.text
}

// randomNode makes a value, of up to about so many bytes.
func randomNode(r *rand.Rand, size int) *node {
	switch r.IntN(10) {
	case 0:
		return &node{text: fmt.Sprint(r.Int64N(1<<uint(1+r.IntN(60))) - 50)}
	case 1:
		return &node{text: []string{"true", "false", "null", "1.5", "-0.0", "18446744073709551615"}[r.IntN(6)]}
	case 2, 3:
		return &node{text: `"` + strings.Repeat("é", r.IntN(size/4+2)) + `"`}
	}
	n := &node{kind: "{["[r.IntN(2)]}
	for size > 0 && r.IntN(60) > 0 {
		part := 1 + r.IntN(size/2+2)
		n.put(fmt.Sprint("name-", r.IntN(200)), randomNode(r, part))
		size -= part + 2
	}
	return n
}

func (n *node) put(name string, v *node) {
	if n.kind == '{' {
		if i := slices.Index(n.names, name); i >= 0 {
			n.values[i] = v
			return
		}
		n.names = append(n.names, name)
	}
	n.values = append(n.values, v)
}

// remove removes a member: of an object, the last one takes its place.
func (n *node) remove(i int) {
	last := len(n.values) - 1
	if n.kind == '[' {
		n.values = slices.Delete(n.values, i, i+1)
		return
	}
	n.values[i], n.names[i] = n.values[last], n.names[last]
	n.values, n.names = n.values[:last], n.names[:last]
}

// choose returns a random node and the path to it.
func (n *node) choose(r *rand.Rand) (*node, []Step) {
	var path []Step
	for len(n.values) > 0 && r.IntN(4) > 0 {
		i := r.IntN(len(n.values))
		if n.kind == '{' {
			path = append(path, Named([]byte(n.names[i])))
		} else {
			path = append(path, At(i))
		}
		n = n.values[i]
	}
	return n, path
}

func encode(t testing.TB, text string) []byte {
	t.Helper()
	b, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return b
}

// modelChange makes a random change of both.
func modelChange(t testing.TB, r *rand.Rand, d *Document, root *node, ch *structures.Change) *node {
	t.Helper()
	n, path := root.choose(r)
	size := 1 << r.IntN(14)
	if r.IntN(3) > 0 {
		size = 40
	}
	v := randomNode(r, size)
	done := true
	switch op := r.IntN(8); {
	case op == 0 && (len(path) > 0 || r.IntN(20) == 0):
		done = d.Put(ch, path, encode(t, v.String()))
		if done {
			*n = *v
		}
	case op <= 2 && n.kind == '{':
		name := fmt.Sprint("name-", r.IntN(1000))
		if done = d.Put(ch, append(path, Named([]byte(name))), encode(t, v.String())); done {
			n.put(name, v)
		}
	case op == 3 && len(n.values) > 0 && (len(path) > 1 || r.IntN(8) == 0):
		i := r.IntN(len(n.values))
		s := At(i)
		if n.kind == '{' {
			s = Named([]byte(n.names[i]))
		}
		if done = d.Remove(ch, append(path, s)); done {
			n.remove(i)
		}
	case n.kind == '[':
		i := r.IntN(len(n.values) + 1)
		removed := 0
		if r.IntN(3) == 0 {
			removed = r.IntN(min(len(n.values)-i, 40) + 1)
		}
		var values []byte
		var nodes []*node
		for range r.IntN(5) {
			v := randomNode(r, size/4)
			nodes, values = append(nodes, v), append(values, encode(t, v.String())...)
		}
		if done = d.Splice(ch, path, i, removed, values); done {
			n.values = slices.Replace(n.values, i, i+removed, nodes...)
		}
	case n.kind == 0 && n.text[0] == '"':
		s := strings.Repeat("日", r.IntN(size))
		if done = d.AppendString(ch, path, []byte(s)); done {
			n.text = n.text[:len(n.text)-1] + s + `"`
		}
	}
	if !done && !d.Failed() {
		t.Fatalf("no change at %v", path)
	}
	return root
}

func TestDocumentIsWhatTheModelIs(t *testing.T) {
	r := structurestest.Seeded(t)
	keys := structurestest.Keys(1)
	chained := 0
	for range 40 {
		root := randomNode(r, 1<<r.IntN(16))
		d, twin := New(keys), New(keys)
		d.SetRoot(nil, encode(t, root.String()))
		twin.SetRoot(nil, encode(t, root.String()))
		shelf := structurestest.Shelf{}
		for step := range 200 {
			var ch structures.Change
			root = modelChange(t, r, d, root, &ch)
			structurestest.Replay(t, twin, ch.Encoded())
			checkDocument(t, d)
			if len(d.chains) > 0 {
				chained++
			}
			if step%20 == 0 {
				want := root.String()
				if got := string(AppendText(nil, d.Root())); got != want {
					t.Fatalf("step %d: got\n%.300s, want\n%.300s", step, got, want)
				}
				if got := string(AppendText(nil, twin.Root())); got != want {
					t.Fatalf("step %d: replayed as\n%.300s, want\n%.300s", step, got, want)
				}
				shelf.Store(t, d)
				again := structurestest.Again(t, d, func(head []byte) (*Document, error) { return Decode(head, keys) })
				checkDocument(t, again)
				if got := string(AppendText(nil, again.Root())); got != want {
					t.Fatalf("step %d: stored as\n%.300s, want\n%.300s", step, got, want)
				}
				if flat := d.Root().Encoded(nil); checkValues(flat, false, 1, MaxDepth, nil) != nil ||
					string(AppendText(nil, Of(flat))) != want || !Of(flat).Equal(d.Root(), NewBudget(1<<40)) {
					t.Fatal("the value without chains differs")
				}
				if len(root.String()) > 400_000 {
					break
				}
			}
		}
	}
	if chained < 500 {
		t.Errorf("the document had chains after %d steps only", chained)
	}
}

// checkDocument looks at what must always hold.
func checkDocument(t testing.TB, d *Document) {
	t.Helper()
	if len(d.root) > nearBytes+16 {
		t.Fatalf("root of %d bytes", len(d.root))
	}
	if !d.refersTo(d.root, false, 1, nil) {
		t.Fatal("the root is not sound")
	}
	chars, pages, evicted, changed := 0, 0, 0, 0
	for _, c := range d.chains {
		count, size := 0, 0
		for _, r := range c.runs {
			pages++
			count, size = count+r.n, size+r.size
			chars += cap(r.b)
			if r.dirty {
				changed += r.size
			}
			if r.evicted {
				evicted++
				continue
			}
			if c.typ != String && !d.refersTo(r.b, c.typ == Object, r.n, r) || len(r.b) != r.size {
				t.Fatalf("run of %d members in %d bytes is not sound", r.n, r.size)
			}
			if r.size > nearBytes && r.n > 1 && c.typ != String {
				t.Fatalf("run of %d members in %d bytes", r.n, r.size)
			}
		}
		if count != c.count || size != c.size || len(c.runs) == 0 {
			t.Fatalf("chain of %d members, %d bytes, has %d in %d", c.count, c.size, count, size)
		}
	}
	checkMarks(t, d)
	if pages != len(d.pages)-d.gone || chars != d.chars || evicted != d.evicted || changed != d.changed {
		t.Fatalf("%d pages, %d evicted, %d bytes, %d changed: counted %d, %d, %d, %d",
			len(d.pages)-d.gone, d.evicted, d.chars, d.changed, pages, evicted, chars, changed)
	}
}

// checkMarks looks at where members are said to begin.
func checkMarks(t testing.TB, d *Document) {
	t.Helper()
	of := map[*run]*chain{}
	for _, c := range d.chains {
		for _, r := range c.runs {
			of[r] = c
		}
	}
	for _, m := range d.marks {
		b, first, named := d.root, 0, false
		if m.run != nil {
			c := of[m.run]
			if c == nil || m.run.evicted {
				continue // nobody asks for it
			}
			b, named = m.run.b, c.typ == Object
		}
		if m.at != wholeRun {
			_, from, to := containerOf(b[m.at:])
			first, named = m.at+from, b[m.at] == tagObject
			b = b[:m.at+to]
		}
		for i, off := range m.offsets {
			if int(off) != first {
				t.Fatalf("mark %d of %d is at %d, and the member at %d", i, len(m.offsets), off, first)
			}
			for range markEvery {
				if first < len(b) {
					first += memberSize(b[first:], named)
				}
			}
		}
	}
}

// Members of one page are asked for and changed one after the other, forwards, backwards and at
// random, in a root, in runs and in what lies in them.
func TestMembersAreFoundNearThoseThatWereFoundLast(t *testing.T) {
	r := structurestest.Seeded(t)
	keys := structurestest.Keys(1)
	for range 60 {
		root := &node{kind: '['}
		for range 1 + r.IntN(3) {
			inner := &node{kind: "{["[r.IntN(2)]}
			for i := range r.IntN(3000) {
				inner.put(fmt.Sprint("name-", i), &node{text: fmt.Sprint(r.IntN(70))})
			}
			root.put("", inner)
		}
		d := New(keys)
		d.SetRoot(nil, encode(t, root.String()))
		most := 0
		for range 30 {
			k := r.IntN(len(root.values))
			inner := root.values[k]
			at, way := r.IntN(len(inner.values)+1), r.IntN(3)-1
			for range 40 {
				if at < 0 || at >= len(inner.values) {
					break
				}
				at = changeMember(t, r, d, inner, k, at)
				for _, m := range d.marks {
					most = max(most, len(m.offsets))
				}
				if at += way; way == 0 {
					at = r.IntN(len(inner.values) + 1)
				}
			}
			checkDocument(t, d)
			if got, want := string(AppendText(nil, d.Root())), root.String(); got != want {
				t.Fatalf("got\n%.300s, want\n%.300s", got, want)
			}
		}
		if most < 2 && len(root.String()) > 20_000 {
			t.Errorf("%d marks at the most", most)
		}
	}
}

// changeMember reads member at of the container k, and changes it.
func changeMember(t testing.TB, r *rand.Rand, d *Document, inner *node, k, at int) int {
	t.Helper()
	path := []Step{At(k), At(at)}
	if inner.kind == '{' {
		path[1] = Named([]byte(inner.names[at]))
	}
	v, ok := d.Lookup(path)
	if !ok || string(AppendText(nil, v)) != inner.values[at].text {
		t.Fatalf("at %d of %d: %v", at, len(inner.values), ok)
	}
	switch value := (&node{text: fmt.Sprint(r.IntN(300))}); {
	case r.IntN(4) == 0 && len(inner.values) > 1:
		d.Remove(nil, path)
		inner.remove(at)
	case r.IntN(3) == 0 && inner.kind == '[':
		d.Splice(nil, path[:1], at, 0, encode(t, value.text))
		inner.values = slices.Insert(inner.values, at, value)
	default:
		d.Put(nil, path, encode(t, value.text))
		inner.values[at] = value
	}
	return min(at, len(inner.values)-1)
}
