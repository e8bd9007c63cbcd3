package schedule

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// The bytes on disk never change: a difference here is a new format version,
// not a new golden file.
func TestEncodingIsTheOneOnDisk(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Seed, c.StepMillis, c.Explore = "whittle", 0x0102030405060708, 250, .125
	s := New(testKey)
	ch := new(structures.Change)
	if err := s.Create(ch, c, 1_700_000_000_000); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alpha", "beta"} {
		p, _ := s.Params([]byte(name))
		p.Decay, p.Rate, p.MaxAge = .5, 2, 9
		if _, err := s.Add(ch, []byte(name), p, 1_700_000_000_100); err != nil {
			t.Fatal(err)
		}
	}
	for _, now := range []int64{1_700_000_000_200, 1_700_000_001_200} {
		picks, err := s.Next(ch, 1, now, 5000, NamesOnly)
		if err != nil || len(picks) != 1 {
			t.Fatalf("Next: %v %v", picks, err)
		}
		if now == 1_700_000_000_200 {
			if err := s.Observe(ch, []byte(picks[0].Node), 3, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := []string{"head " + hex.EncodeToString(s.AppendHead(nil))}
	s.Pages(true, func(_ uint64, page []byte) { lines = append(lines, "page "+hex.EncodeToString(page)) })
	lines = append(lines, "record "+hex.EncodeToString(ch.Encoded()))
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
