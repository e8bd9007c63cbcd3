package server

import (
	"strconv"
	"strings"
	"testing"
)

// A reply that is long has several parts, and the cursor stands before them.
func TestLongScansAnswerAllKeysAndFields(t *testing.T) {
	const n = 20_000
	r := newRig(t)
	c := r.dial()
	var keys, fields []string
	for i := range n {
		name := "a-name-that-is-not-short:" + strconv.Itoa(i)
		keys, fields = append(keys, name, ""), append(fields, name, "")
	}
	if c.do(append([]string{"MSET"}, keys...)...) != "OK" {
		t.Fatal("MSET failed")
	}
	c.do(append([]string{"HSET", "hash"}, fields...)...)
	for _, call := range []string{"SCAN 0 COUNT 1000000000 MATCH a-name*", "HSCAN hash 0 COUNT 1000000000 NOVALUES"} {
		got := c.do(strings.Fields(call)...)
		if !strings.HasPrefix(got, `["0" ["a-name`) || strings.Count(got, "a-name") != n {
			t.Errorf("%s: got %.60s and %d names, want cursor 0 and %d", call, got, strings.Count(got, "a-name"), n)
		}
	}
}
