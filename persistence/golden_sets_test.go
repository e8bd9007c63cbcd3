package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// The store in testdata/format3-sets is as that in format3, and has sets. It is written
// anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenSets -golden
const goldenSets = "testdata/format3-sets"

// goldenMembers are the members of each set: some in its head, some in pages.
var goldenMembers = map[string][]string{
	"integers":       goldenList(5, func(i int) string { return fmt.Sprint(i - 2) }),
	"words":          goldenList(5, func(i int) string { return fmt.Sprint("word-", i) }),
	"both":           append(goldenList(3, func(i int) string { return fmt.Sprint("word-", i) }), "-9223372036854775808", "007"),
	"paged-integers": goldenList(1500, func(i int) string { return fmt.Sprint(i << 35) }),
	"paged-both": append(goldenList(1500, func(i int) string { return fmt.Sprint(-i << 35) }),
		goldenList(goldenMany, func(i int) string { return fmt.Sprint("word-", i) })...),
}

func goldenList(n int, at func(i int) string) (list []string) {
	for i := range n {
		list = append(list, at(i))
	}
	return list
}

func makeGoldenSets(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, members := range goldenMembers {
		s, ch, _, err := Edit(tx, []byte(prefix+name), func() *set.Set { return set.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range append(members, "gone", "17") {
			s.Add(ch, []byte(member))
		}
		s.Remove(ch, []byte("gone"))
		s.Remove(ch, []byte("17"))
	}
}

func TestGoldenSets(t *testing.T) { testGolden(t, goldenSets, makeGoldenSets, checkGoldenSets) }

func checkGoldenSets(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, members := range goldenMembers {
		key, want := []byte(prefix+name), map[string]bool{}
		for _, member := range members {
			want[member] = true
		}
		if diff := diffSet(tx, key, want); diff != "" || tx.Kind(key) != structures.KindSet {
			t.Errorf("%s: %s", key, diff)
		}
	}
}
