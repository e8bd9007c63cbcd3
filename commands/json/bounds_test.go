package json

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
)

// soon fails if a call takes longer than it can if what it does is in proportion to its arguments
// and to the document.
func soon(t *testing.T, r *commandtest.Rig, call ...string) (reply string) {
	t.Helper()
	start := time.Now()
	reply = r.Call(call...)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("%s with %d arguments took %v", call[0], len(call), took)
	}
	return reply
}

func TestCallsMayHaveManyPaths(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", `{"a":1}`)
	call := []string{"JSON.GET", "k"}
	for i := range 100_000 {
		call = append(call, "$.none[?(((( "+strconv.Itoa(i))
	}
	if got := soon(t, r, call...); got != bulk("{}") {
		t.Errorf("got %.60q", got)
	}
	if got := soon(t, r, append(call, "a", "$.a", "a")...); got != bulk(`{"a":[1],"$.a":[1]}`) {
		t.Errorf("got %.60q", got)
	}
}

// Paths that are written otherwise each time lead to one value: the reply has it as often as a call
// may visit it.
func TestRepliesOfManyPathsAreBounded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", `["`+strings.Repeat("x", 1<<20)+`"]`)
	paths := func(n int, point string) (call []string) {
		for i := range n {
			call = append(call, point+"["+strings.Repeat(" ", 10+i)+"0]")
		}
		return call
	}
	for _, point := range []string{"", "$"} {
		if got := soon(t, r, append([]string{"JSON.GET", "k"}, paths(4, point)...)...); got[0] != '$' {
			t.Errorf("few paths %s[...]: got %.60q", point, got)
		}
		if got := soon(t, r, append([]string{"JSON.GET", "k"}, paths(100, point)...)...); got != "-"+string(errSteps)+"\r\n" {
			t.Errorf("many paths %s[...]: got %.60q", point, got)
		}
	}
	r.Ctx.Reply = commands.NewReply(nil, 3)
	if got := soon(t, r, append([]string{"JSON.GET", "k", "FORMAT", "EXPAND"}, paths(100, "$")...)...); got != "-"+string(errSteps)+"\r\n" {
		t.Errorf("many paths, expanded: got %.60q", got)
	}
}

func TestManyDocumentsCanBeReadAtOnce(t *testing.T) {
	r := commandtest.New(t, Group())
	call := []string{"JSON.MGET"}
	for i := range 20_000 {
		key := fmt.Sprintf("k%d", i)
		r.Want("+OK\r\n", "JSON.SET", key, "$", session)
		call = append(call, key)
	}
	if got := soon(t, r, append(call, "$")...); !strings.HasPrefix(got, "*20000\r\n") {
		t.Errorf("got %.60q", got)
	}
}

// A document that a call names often adds once to what the call may visit.
func TestReadsOfOneDocumentAreBounded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", "["+strings.Repeat(`{"a":1},`, 100_000)+"0]")
	call := []string{"JSON.MGET"}
	for range 10_000 {
		call = append(call, "k")
	}
	if got := soon(t, r, append(call, "$[?(@.a==2)]")...); got != "-"+string(errSteps)+"\r\n" {
		t.Errorf("got %.60q", got)
	}
}

func TestElementsOfTheLargestArraysAreFound(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want("+OK\r\n", "JSON.SET", "k", "$", "["+strings.Repeat("1,", 4_500_000)+"2]")
	r.Want("*1\r\n:4500000\r\n", "JSON.ARRINDEX", "k", "$", "2")
	r.Want(":-1\r\n", "JSON.ARRINDEX", "k", ".", "3")
}

// The copies of all triplets are bounded together.
func TestCopiesOfManyTripletsAreBounded(t *testing.T) {
	r := commandtest.New(t, Group())
	list := "[" + strings.Repeat("1,", 9_999) + "1]"
	r.Want("+OK\r\n", "JSON.SET", "k", "$", list)
	call := []string{"JSON.MSET"}
	for range 60 {
		call = append(call, "k", "$[*]", `"`+strings.Repeat("x", 10_000)+`"`)
	}
	if got := soon(t, r, call...); got != "-"+string(errCopies)+"\r\n" {
		t.Errorf("got %.60q", got)
	}
	r.Want(bulk(list), "JSON.GET", "k")
}
