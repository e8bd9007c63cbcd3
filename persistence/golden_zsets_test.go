package persistence

import (
	"fmt"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// The store in testdata/format3-zsets is as that in format3, and has sorted sets. It is
// written anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenSortedSets -golden
const goldenZSets = "testdata/format3-zsets"

// goldenScores are the members of each sorted set: one in its head, the others in pages,
// where one member fills its own.
func goldenScores() map[string]map[string]float64 {
	small, paged, large := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i, score := range []float64{0, math.Copysign(0, -1), 1.5, -2, math.Inf(1), math.Inf(-1), 1e300} {
		small[fmt.Sprint("member-", i)] = score
	}
	for i := range 1500 {
		paged[fmt.Sprint("member-", i)] = float64(i * 7919 % 1500)
	}
	for i := range 20 {
		large[fmt.Sprintf("%0*d", 1+i*200, i)] = float64(i)
	}
	return map[string]map[string]float64{"small": small, "paged": paged, "large": large}
}

func makeGoldenZSets(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, scores := range goldenScores() {
		s, ch, _, err := Edit(tx, []byte(prefix+name), func() *zset.Set { return zset.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []zset.End{zset.Least, zset.Greatest} {
			score := math.Inf(int(end)*2 - 1)
			s.Add(ch, []byte("gone"), score, 0)
			s.Add(ch, []byte("gone too"), score, 0)
			s.Pop(ch, end, 1, nil)
			s.RemoveRange(ch, 0, 1)
		}
		for member, score := range scores {
			s.Add(ch, []byte(member), score-1, 0)
			s.Add(ch, []byte(member), score, 0)
		}
		s.Add(ch, []byte("gone"), 1, 0)
		s.Remove(ch, []byte("gone"))
	}
}

func TestGoldenSortedSets(t *testing.T) {
	testGolden(t, goldenZSets, makeGoldenZSets, checkGoldenZSets)
}

func checkGoldenZSets(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	for name, scores := range goldenScores() {
		key := []byte(prefix + name)
		if diff := diffZSet(tx, key, scores); diff != "" || tx.Kind(key) != structures.KindZSet {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// The store in testdata/format3-indexed-zsets has a sorted set whose index and branches
// are pages. It is written anew by
//
//	go test ./persistence -run TestGoldenIndexedSortedSets -golden
const goldenIndexedZSets = "testdata/format3-indexed-zsets"

// goldenIndexedScores has members that begin alike, many with equal scores, and one that
// fills its own page.
func goldenIndexedScores() map[string]float64 {
	scores := map[string]float64{fmt.Sprintf("%03000d", 1): 2}
	for i := range 1000 {
		scores[fmt.Sprintf("a member with the number %d", i)] = float64(i % 7 / 2)
	}
	return scores
}

func TestGoldenIndexedSortedSets(t *testing.T) {
	indexPages(t) // else so few leaves have no index
	testGolden(t, goldenIndexedZSets, func(t *testing.T, tx *Tx, prefix string) {
		s, ch, _, err := Edit(tx, []byte(prefix+"indexed"), func() *zset.Set { return zset.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		for member, score := range goldenIndexedScores() {
			s.Add(ch, []byte(member), score, 0)
		}
		s.Evict(0) // makes pages of the index
	}, checkGoldenIndexedZSet)
	openTight(t, goldenIndexedZSets, func(s *Store, tx *Tx) {
		v, _, err := View[*zset.Set](tx, []byte("old-indexed"))
		if err != nil || s.writer.PageReads.Load() != 0 {
			t.Fatalf("%v, %d pages were read", err, s.writer.PageReads.Load())
		}
		if n, _ := v.Evicted(); n < 20 {
			t.Errorf("%d pages are evicted", n)
		}
		checkGoldenIndexedZSet(t, tx, "old-")
	})
}

func checkGoldenIndexedZSet(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	if diff := diffZSet(tx, []byte(prefix+"indexed"), goldenIndexedScores()); diff != "" {
		t.Error(diff)
	}
}
