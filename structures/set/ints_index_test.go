package set

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func TestIndexOfIntegersIsFrozen(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(1))
	s := New(testKeys(1))
	for i := range 600 {
		s.Add(nil, fmt.Append(nil, int64(i)<<40))
	}
	want := "\x02\xd8\x04\x02" + "\x00\x83\x10" + "\x80\x80\x80\x80\x80\x80\xc0\x80@\xe3\x02" + "\x00"
	if got := string(s.AppendHead(nil)); got != want {
		t.Errorf("head: got %q, want %q", got, want)
	}
}

func TestBadIndexOfIntegersIsRefused(t *testing.T) {
	good, d := evicted(t, 2000)
	head := good.AppendHead(nil)
	if _, err := Decode(head, testKeys(1)); err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string]string{
		"no numbers":              "\x02",
		"no pages":                "\x02\x05",
		"no index":                "\x02\x05\x02",
		"one run":                 "\x02\x05\x01\x00\x14\x00",
		"too few integers":        "\x02\x06\x02\x00\x08\x01\x0c\x00",
		"too many integers":       "\x02\x04\x02\x00\x08\x01\x0c\x00",
		"no bound":                "\x02\x05\x02\x00\x08\x00\x0c\x00",
		"first not the least":     "\x02\x05\x02\x01\x08\x01\x0c\x00",
		"empty run":               "\x02\x05\x02\x00\x14\x01\x00\x00",
		"too wide":                "\x02\x82\x04\x02\x00\x87\x10\x01\x04\x00",
		"beyond all integers":     "\x02\x05\x03\x00\x04\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x04\x01\x0c\x00",
		"of more than 64 bits":    "\x02\x05\x02\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0c\x00",
		"no hash":                 "\x02\x05\x02\x00\x08\x01\x0c",
		"more runs than it tells": "\x02\x05\x02\x00\x08\x01\x0c\x01\x0c\x00",
	} {
		if _, err := Decode([]byte(head), testKeys(1)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ids := make([]uint64, 0, len(d.pages))
	for id := range d.pages {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for name, give := range map[string]func(s *Set) error{
		"another run's":   func(s *Set) error { return s.SetPage(ids[1], d.pages[ids[2]]) },
		"one member less": func(s *Set) error { return s.SetPage(ids[1], d.pages[ids[1]][:len(d.pages[ids[1]])-8]) },
		"not in the index": func(s *Set) error {
			return s.SetPage(ids[1]+1, d.pages[ids[1]])
		},
		"twice": func(s *Set) error {
			if err := s.SetPage(ids[1], d.pages[ids[1]]); err != nil {
				return nil
			}
			return s.SetPage(ids[1], d.pages[ids[1]])
		},
	} {
		s, err := Decode(head, testKeys(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := give(s); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s, _ := Decode(head, testKeys(1))
	if err := s.Complete(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("without a pager: %v", err)
	}
	for _, id := range ids {
		if err := s.SetPage(id, d.pages[id]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Complete(); err != nil || s.Len() != 2000 {
		t.Errorf("with all pages: %v, %d members", err, s.Len())
	}
}

// The head has an index of all pages or of none: a store reads no page with the head, or
// all.
func TestHeadIndexesWordsAndIntegersTogether(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(4))
	for _, c := range []struct{ words, ints int }{{100, 5000}, {2000, 1000}, {100, 1000}, {1, 5000}, {2000, 1}} {
		s, pages := New(testKeys(1)), 0
		for i := range c.words {
			s.Add(nil, fmt.Appendf(nil, "word-%0100d", i))
		}
		for i := range c.ints {
			s.Add(nil, fmt.Append(nil, int64(i)<<33))
		}
		s.Pages(true, func(uint64, []byte) { pages++ })
		again, err := Decode(s.AppendHead(nil), testKeys(1))
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if pages > 4 {
			want = pages
		}
		if evicted, _ := again.Evicted(); evicted != want {
			t.Errorf("%d words and %d integers in %d pages: %d are evicted, want %d", c.words, c.ints, pages, evicted, want)
		}
	}
}
