package server

import (
	"strconv"
	"strings"
	"testing"
)

// redis-cli --cluster import keeps cursors in an int, and others in what has no more
// bits. A reply has about as many elements as COUNT asks for, and what is there is returned.
func TestCursorsFitAnIntOf32Bits(t *testing.T) {
	const n = 6000
	r := newRig(t)
	c := r.dial()
	fill := func(command, key string, element func(i int) []string) {
		call := []string{command, key}
		for i := range n {
			call = append(call, element(i)...)
		}
		if got := c.do(call...); got != "(int) "+strconv.Itoa(n) {
			t.Fatalf("%s %s: got %s", command, key, got)
		}
	}
	name := func(i int) string { return "e" + strconv.Itoa(i) }
	fill("HSET", "hash", func(i int) []string { return []string{name(i), "v"} })
	fill("ZADD", "zset", func(i int) []string { return []string{strconv.Itoa(i), name(i)} })
	fill("SADD", "words", func(i int) []string { return []string{name(i)} })
	fill("SADD", "ints", func(i int) []string { return []string{strconv.Itoa(i)} })
	fill("SADD", "times", func(i int) []string { return []string{strconv.Itoa(1795000000000 + i)} })
	fill("SADD", "mixed", func(i int) []string { return []string{strings.Repeat("e", i%2) + strconv.Itoa(i<<24)} })
	c.do("SCHED.CREATE", "schedule")
	fill("SCHED.ADD", "schedule", func(i int) []string { return []string{name(i)} })
	for i := range n - 7 {
		c.do("SET", name(i), "v")
	}
	for _, call := range []string{"SCAN", "HSCAN hash", "ZSCAN zset", "SSCAN words", "SSCAN ints", "SSCAN times", "SSCAN mixed", "SCHED.NODES schedule"} {
		words := strings.Fields(call)
		seen, most := map[string]bool{}, 0
		for cursor, calls := "0", 0; ; calls++ {
			c.send(append(words, cursor, "COUNT", "20")...)
			reply, err := readNode(c.r)
			if err != nil || calls > n {
				t.Fatalf("%s: %v, after %d calls", call, err, calls)
			}
			elements := reply.list[1].list
			most = max(most, len(elements))
			for i := 0; i < len(elements); i++ {
				seen[elements[i].text] = true
				if words[0] == "HSCAN" || words[0] == "ZSCAN" {
					i++
				}
			}
			if cursor = reply.list[0].text; cursor == "0" {
				break
			}
			if v, err := strconv.ParseInt(cursor, 10, 32); err != nil || v < 0 {
				t.Fatalf("%s: cursor %s", call, cursor)
			}
		}
		// Integers that were made of a time are returned in runs.
		if limit := map[bool]int{false: 100, true: 4700}[call == "SSCAN times"]; len(seen) != n || most > limit {
			t.Errorf("%s: got %d elements, at most %d at once, want %d and %d", call, len(seen), most, n, limit)
		}
	}
}

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
