package persistence

import (
	"fmt"
	"os"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// The store in testdata/format2-sets is as that in format2, and has sets. It is written
// anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenSets -golden
const goldenSets = "testdata/format2-sets"

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

func TestGoldenSets(t *testing.T) {
	if *writeGolden {
		if err := os.RemoveAll(goldenSets); err != nil {
			t.Fatal(err)
		}
		s := openGolden(t, goldenSets)
		all(s, goldenNow, func(tx *Tx) {
			tx.Select(0)
			makeGoldenSets(t, tx, "old-")
		})
		materialise(t, s)
		all(s, goldenNow, func(tx *Tx) { // in the journal only
			tx.Select(0)
			makeGoldenSets(t, tx, "new-")
		})
		closeStore(t, s)
		closeStore(t, openGolden(t, goldenSets)) // which removes a log that is not needed
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(goldenSets)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // with the journal, and without
		s := openGolden(t, dir)
		all(s, goldenNow, func(tx *Tx) {
			tx.Select(0)
			for _, prefix := range []string{"old-", "new-"} {
				for name, members := range goldenMembers {
					want := map[string]bool{}
					for _, member := range members {
						want[member] = true
					}
					if diff := diffSet(tx, []byte(prefix+name), want); diff != "" || tx.Kind([]byte(prefix+name)) != structures.KindSet {
						t.Errorf("%s%s: %s", prefix, name, diff)
					}
				}
			}
		})
		materialise(t, s)
		closeStore(t, s)
	}
}
