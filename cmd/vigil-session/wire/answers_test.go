package wire

import (
	"encoding/json"
	"testing"
)

func TestAnswersAreThoseOfTheDemo(t *testing.T) {
	unread := true
	for _, c := range []struct {
		v    any
		want string
	}{
		{PageView{ActivityThisMinute: true, TotalPages: 2, Activity: [5]int{0, 0, 1, 0, 1}, UniquePages: 1, PreviouslyVisited: true},
			`{"activityThisMinute":true,"totalPages":2,"activity":[0,0,1,0,1],"uniquePages":1,"previouslyVisited":true}`},
		{Notification{Text: "<b> & 'ü'", Seen: true, Link: "?seen=<b> & 'ü'"}, `{"text":"<b> & 'ü'","seen":true,"link":"?seen=<b> & 'ü'"}`},
		{Notification{Text: "t", Link: "?seen=t", Unread: &unread}, `{"text":"t","seen":false,"link":"?seen=t","unread":true}`},
		{1, `1`},
	} {
		if got, err := Marshal(c.v); string(got) != c.want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, c.want)
		}
	}
	if got, err := MarshalText([]string{"/a"}); string(got) != `"[\"/a\"]"` || err != nil {
		t.Errorf("string that holds JSON: got %s, %v", got, err)
	}
}

// FuzzUnmarshalText: whatever bytes an answer has, they are read or refused,
// and what was read comes back the same from what is written of it.
func FuzzUnmarshalText(f *testing.F) {
	for _, seed := range []string{`"[\"/a\"]"`, `["/a"]`, `"`, `""`, `null`, `"null"`, `[`, "\"[\\\"\xff\\\"]\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var list []string
		if err := UnmarshalText(b, &list); err != nil {
			return
		}
		text, err := MarshalText(list)
		if err != nil {
			t.Fatal(err)
		}
		var again []string
		if err := UnmarshalText(text, &again); err != nil {
			t.Fatalf("%q: wrote %s: %v", b, text, err)
		}
		if a, z := mustJSON(t, list), mustJSON(t, again); a != z {
			t.Errorf("%q: %s became %s", b, a, z)
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
