package server

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// answers are calls with the replies that RedisJSON 8.8.0 gave, in the order in which they ran in
// an empty server. testdata/json-answers.json says of each where it ran.
type answers struct {
	Name     string
	Resp     int
	Commands [][]any
	Replies  []any
}

func TestJSONAnswersAsRedisJSONDoes(t *testing.T) {
	b, err := os.ReadFile("testdata/json-answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []answers
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	to := newOwnTarget(t, false)
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) { cases[i].run(t, to) })
	}
}

func (a *answers) run(t *testing.T, to *ownTarget) {
	flush := to.dial(t, 2)
	defer flush.nc.Close()
	ask(t, flush, [][]byte{[]byte("FLUSHALL")})
	c := to.dial(t, a.Resp)
	defer c.nc.Close()
	for i, call := range a.Commands {
		var argv [][]byte
		for _, arg := range call {
			argv = append(argv, argument(t, arg))
		}
		if got := ask(t, c, argv); !answered(t, a.Replies[i], got) {
			t.Errorf("call %d, %.200q: got %s, want %v", i, call, got, a.Replies[i])
		}
	}
}

func ask(t *testing.T, c *scriptClient, argv [][]byte) *node {
	t.Helper()
	if err := c.send(argv); err != nil {
		t.Fatal(err)
	}
	got, err := c.receive()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// argument is a string, or bytes in hexadecimal.
func argument(t *testing.T, arg any) []byte {
	t.Helper()
	if s, ok := arg.(string); ok {
		return []byte(s)
	}
	b, err := hex.DecodeString(arg.(map[string]any)["hex"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answered reports whether a reply is the one that is written down.
func answered(t *testing.T, want any, got *node) bool {
	switch want := want.(type) {
	case nil:
		return got.kind == nodeNull || got.kind == nodeNullArray
	case string:
		return got.kind == nodeBulk && got.text == want
	case json.Number:
		return got.kind == nodeInt && got.text == want.String()
	case bool:
		return got.kind == nodeBool && got.text == map[bool]string{true: "t", false: "f"}[want]
	case []any:
		if got.kind != nodeArray || len(got.list) != len(want) {
			return false
		}
		for i := range want {
			if !answered(t, want[i], got.list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		for form, value := range want {
			return answeredIn(t, form, value, got)
		}
	}
	t.Errorf("reply %v of no form", want)
	return false
}

// answeredIn is answered for the forms that a text of JSON does not have.
func answeredIn(t *testing.T, form string, value any, got *node) bool {
	text := fmt.Sprint(value)
	switch form {
	case "any":
		return true
	case "ok":
		return got.kind == nodeStatus && got.text == text
	case "err":
		return got.kind == nodeError && got.text == text
	case "err_starts":
		return got.kind == nodeError && strings.HasPrefix(got.text, text)
	case "dbl":
		a, _ := strconv.ParseFloat(text, 64)
		b, err := strconv.ParseFloat(got.text, 64)
		return got.kind == nodeDouble && err == nil && a == b
	case "json":
		var a, b any
		if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal([]byte(got.text), &b) != nil {
			return false
		}
		return got.kind == nodeBulk && fmt.Sprint(a) == fmt.Sprint(b) // which orders members
	case "map":
		return answeredPairs(t, value.([]any), got)
	}
	t.Errorf("reply in form %s", form)
	return false
}

func answeredPairs(t *testing.T, pairs []any, got *node) bool {
	if got.kind != nodeMap || len(got.list) != 2*len(pairs) {
		return false
	}
	for _, pair := range pairs {
		pair, found := pair.([]any), false
		for i := 0; i < len(got.list); i += 2 {
			found = found || answered(t, pair[0], got.list[i]) && answered(t, pair[1], got.list[i+1])
		}
		if !found {
			return false
		}
	}
	return true
}
