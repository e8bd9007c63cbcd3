package json

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// clone returns a copy of a node and of all in it.
func (n *node) clone() *node {
	c := *n
	c.names, c.values = slices.Clone(n.names), slices.Clone(n.values)
	for i, v := range c.values {
		c.values[i] = v.clone()
	}
	return &c
}

func fork(t testing.TB, d *Document) *Document {
	t.Helper()
	f, ok := d.Fork()
	if !ok {
		t.Fatal("no fork of a document in memory")
	}
	return f.(*Document)
}

// What is done to a document or to one of its forks does nothing to the others.
func TestForksChangeApart(t *testing.T) {
	r := structurestest.Seeded(t)
	keys := structurestest.Keys(1)
	for range 20 {
		root := randomNode(r, 1<<(8+r.IntN(9)))
		d := New(keys)
		d.SetRoot(nil, encode(t, root.String()))
		docs, models := []*Document{d}, []*node{root}
		for step := range 150 {
			i := r.IntN(len(docs))
			if len(models[i].String()) > 400_000 {
				break
			}
			if r.IntN(10) == 0 {
				f, model := fork(t, docs[i]), models[i].clone()
				if f.Changed() != f.chars {
					t.Fatalf("step %d: %d bytes of a fork are to be written of %d", step, f.Changed(), f.chars)
				}
				if len(docs) < 4 {
					docs, models = append(docs, f), append(models, model)
				} else {
					k := r.IntN(len(docs))
					docs[k], models[k] = f, model
				}
				continue
			}
			models[i] = modelChange(t, r, docs[i], models[i], nil)
			for k, d := range docs {
				checkDocument(t, d)
				if step%10 == 0 || k == i {
					if got, want := string(AppendText(nil, d.Root())), models[k].String(); got != want {
						t.Fatalf("step %d, document %d of %d, change of %d: got\n%.300s, want\n%.300s", step, k, len(docs), i, got, want)
					}
				}
			}
		}
		for _, d := range docs {
			shelf := structurestest.Shelf{}
			shelf.Store(t, d)
			again := structurestest.Again(t, d, func(head []byte) (*Document, error) { return Decode(head, keys) })
			if got, want := string(AppendText(nil, again.Root())), string(AppendText(nil, d.Root())); got != want {
				t.Fatalf("stored as\n%.300s, want\n%.300s", got, want)
			}
		}
	}
}

// A fork is read while the document is changed: the race detector is to find nothing.
func TestForkIsReadWhileTheDocumentChanges(t *testing.T) {
	r := structurestest.Seeded(t)
	d := New(structurestest.Keys(1))
	text := `{"l":[` + strings.Repeat(`{"name":"n","hits":1},`, 5000) + `1],"s":"` + strings.Repeat("x", 50_000) + `"}`
	d.SetRoot(nil, encode(t, text))
	var readers sync.WaitGroup
	for range 4 {
		f := fork(t, d)
		want := string(AppendText(nil, d.Root()))
		readers.Go(func() {
			if got := string(AppendText(nil, f.Root())); got != want {
				t.Error("a change of the document is in its fork")
			}
			if _, ok := f.Lookup([]Step{Named([]byte("l")), At(4000), Named([]byte("name"))}); !ok {
				t.Error("a member of a fork is not found")
			}
		})
		for range 300 {
			i := r.IntN(5000)
			if !d.Put(nil, []Step{Named([]byte("l")), At(i), Named([]byte("hits"))}, encode(t, "12345")) ||
				!d.AppendString(nil, []Step{Named([]byte("s"))}, []byte("more")) || !d.Splice(nil, []Step{Named([]byte("l"))}, i, 1, encode(t, `{"name":"new"}`)) {
				t.Fatal("not changed")
			}
		}
	}
	readers.Wait()
}

func TestDocumentWithEvictedPagesHasNoFork(t *testing.T) {
	d := New(structurestest.Keys(1))
	d.SetRoot(nil, encode(t, `["`+strings.Repeat(`x","`, 20_000)+`"]`))
	shelf := structurestest.Shelf{}
	shelf.Store(t, d)
	for range 2 {
		d.Evict(1)
	}
	if pages, _ := d.Evicted(); pages == 0 {
		t.Fatal("no page was evicted")
	}
	if _, ok := d.Fork(); ok {
		t.Error("a document with pages on disk only has a fork")
	}
}

var _ structures.Forkable = (*Document)(nil)
