package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// model is the state after the first n transactions: transaction i changes a
// string, which is written whole, in part or with an expiry, a list, a hash, a set, a
// sorted set, a stream with a group, a counter by a script, a JSON document with the fields of
// the hash, and the counter n.
type model struct {
	n       int
	strings map[string]string
	list    []string
	hash    map[string]string
	members members
}

func newModel() model {
	return model{strings: map[string]string{}, hash: map[string]string{}, members: newMembers()}
}

// stringKeys is how many strings there are, hashFields how many fields, listLen
// the most that the list holds.
const (
	stringKeys = 8
	hashFields = 20
	listLen    = 50
)

// transaction returns the commands of transaction i.
func transaction(i int) [][]string {
	text, key := strconv.Itoa(i), "s"+strconv.Itoa(i%stringKeys)
	change := []string{"SET", key, strings.Repeat(text+",", 1+i%30)}
	switch i % 5 {
	case 1:
		change = append(change, "EX", "100000")
	case 2:
		change = []string{"APPEND", key, text}
	case 3:
		change = []string{"SETRANGE", key, "3", text}
	case 4:
		change = []string{"DEL", key}
	}
	return [][]string{{"MULTI"}, change, {"RPUSH", "l", text, text}, {"LTRIM", "l", strconv.Itoa(-listLen), "-1"},
		{"HSET", "h", "f" + strconv.Itoa(i%hashFields), text}, memberCommand(i), scored(i), {"XADD", "x", "MAXLEN", strconv.Itoa(listLen), text + "-1", "f", text},
		groupCommand(i), {"EVAL", script, "1", "e", text}, {"JSON.MERGE", "j", "$", `{"f` + strconv.Itoa(i%hashFields) + `":` + text + "}"}, {"INCR", "n"}, {"EXEC"}}
}

// transactionReplies is how many replies a transaction has.
const transactionReplies = 13

// send sends the next transaction, which the model of the caller does not follow
// but for its number.
func (m *model) send(c *client) {
	m.n++
	for _, args := range transaction(m.n) {
		c.send(args...)
	}
}

// step does the next transaction.
func (m *model) step() {
	m.n++
	for _, args := range transaction(m.n) {
		switch args[0] {
		case "SET":
			m.strings[args[1]] = args[2]
		case "APPEND":
			m.strings[args[1]] += args[2]
		case "SETRANGE":
			old := []byte(m.strings[args[1]])
			b := make([]byte, max(len(old), 3+len(args[3])))
			copy(b, old)
			copy(b[3:], args[3])
			m.strings[args[1]] = string(b)
		case "DEL":
			delete(m.strings, args[1])
		case "RPUSH":
			m.list = append(m.list, args[2:]...)
		case "LTRIM":
			m.list = slices.Clone(m.list[max(0, len(m.list)-listLen):])
		case "HSET":
			m.hash[args[2]] = args[3]
		}
	}
	m.members.step(m.n)
}

// compare reads everything.
func (m *model) compare(c *client) error {
	for i := range stringKeys {
		key := "s" + strconv.Itoa(i)
		want, ok := m.strings[key]
		if !ok {
			want = "(nil)"
		}
		if got, err := c.do("GET", key); err != nil || got != want {
			return fmt.Errorf("%s is %.50q (%v), want %.50q", key, got, err, want)
		}
	}
	want := strings.Join(m.list, " ")
	if got, err := c.do("LRANGE", "l", "0", "-1"); err != nil || got != want {
		return fmt.Errorf("the list is %q (%v), want %q", got, err, want)
	}
	for _, field := range slices.Sorted(maps.Keys(m.hash)) {
		if got, err := c.do("HGET", "h", field); err != nil || got != m.hash[field] {
			return fmt.Errorf("field %s is %q (%v), want %q", field, got, err, m.hash[field])
		}
		if got, err := c.do("JSON.GET", "j", "$."+field); err != nil || got != "["+m.hash[field]+"]" {
			return fmt.Errorf("member %s is %q (%v), want %q", field, got, err, m.hash[field])
		}
	}
	if got, err := c.do("HLEN", "h"); err != nil || got != strconv.Itoa(len(m.hash)) {
		return fmt.Errorf("the hash has %s fields (%v), want %d", got, err, len(m.hash))
	}
	return m.members.compare(c)
}
