package placement

import (
	"encoding/json"
	"os"
	"testing"
)

// sieveAnswers is testdata/sieve.json.
type sieveAnswers struct {
	Ranges struct {
		Half, SevenEighths map[int]int
	}
	Adjusted []struct {
		Capacities []Capacity
		Rounds     int
		Fallback   int
		Adjusted   []string
	}
	RoleChange map[int]string
	Growth     []struct {
		Capacities []Capacity
		Rounds     int
		Total      string
	}
}

func readSieveAnswers(t *testing.T) (a sieveAnswers) {
	t.Helper()
	b, err := os.ReadFile("testdata/sieve.json")
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil || len(a.Adjusted) == 0 || len(a.RoleChange) == 0 || len(a.Growth) == 0 ||
		len(a.Ranges.Half) == 0 || len(a.Ranges.SevenEighths) == 0 {
		t.Fatalf("read testdata/sieve.json: %v, %+v", err, a)
	}
	return a
}
