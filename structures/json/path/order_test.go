package path

import (
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/structurestest"
)

var keys = structurestest.Keys(1)

func TestMatchesAreOrderedAsTheyAreInTheDocument(t *testing.T) {
	d := document(t, `{"a":[1,[2,3]],"b":{"c":[4]}}`)
	p, err := Parse([]byte("$..*"))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := NewSearch(0).All(p, d.Root(), true)
	slices.SortFunc(list, func(a, b Match) int { return Compare(&a, &b) })
	for i := range list {
		for j := range list {
			if got := Compare(&list[i], &list[j]); got != compareInts(i, j) {
				t.Errorf("matches %v and %v: got %d", list[i].Path(), list[j].Path(), got)
			}
			within := slices.EqualFunc(list[i].Path(), list[j].Path()[:min(len(list[i].Path()), len(list[j].Path()))],
				func(a, b json.Step) bool { return string(a.Name) == string(b.Name) && a.Index == b.Index })
			if Contains(&list[i], &list[j]) != within {
				t.Errorf("%v contains %v: %v", list[i].Path(), list[j].Path(), !within)
			}
		}
	}
}

func compareInts(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}
