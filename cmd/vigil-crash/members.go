package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// members is the part of the model that sets, sorted sets, a stream and a script change.
type members struct {
	set     map[string]bool
	scores  map[string]int
	entries []int          // numbers of the stream's entries
	read    int            // entries that the group was given, from the first on
	pending map[int]string // entries that were not acknowledged, and their consumers
	counted int            // by the script
}

func newMembers() members {
	return members{set: map[string]bool{}, scores: map[string]int{}, pending: map[int]string{}}
}

// script counts in a hash and keeps what it was called with, in one record.
const script = "redis.call('SET', KEYS[1] .. 'last', ARGV[1]); return redis.call('HINCRBY', KEYS[1], 'calls', 1)"

// setSize is how many members come and go.
const setSize = 40

func member(i int) string { return "m" + strconv.Itoa(i%setSize) }

// memberCommand adds a member, or a number, and removes one each third time.
func memberCommand(i int) []string {
	if i%3 == 0 {
		return []string{"SREM", "set", member(i * 7)}
	}
	return []string{"SADD", "set", member(i * 7), strconv.Itoa(i % setSize)}
}

func scored(i int) []string {
	switch i % 4 {
	case 0:
		return []string{"ZREM", "z", member(i)}
	case 1:
		return []string{"ZINCRBY", "z", strconv.Itoa(i % 10), member(i * 3)}
	}
	return []string{"ZADD", "z", strconv.Itoa(-i), member(i)}
}

// groupCommand makes a group in the first transaction; later ones read and acknowledge.
func groupCommand(i int) []string {
	switch {
	case i == 1:
		return []string{"XGROUP", "CREATE", "x", "g", "0", "MKSTREAM"}
	case i%2 == 0:
		return []string{"XREADGROUP", "GROUP", "g", "c" + strconv.Itoa(i%3), "COUNT", "2", "STREAMS", "x", ">"}
	}
	return []string{"XACK", "x", "g", strconv.Itoa(i-1) + "-1", strconv.Itoa(max(0, i-4)) + "-1"}
}

// step does what transaction i does.
func (m *members) step(i int) {
	switch args := memberCommand(i); args[0] {
	case "SREM":
		delete(m.set, args[2])
	default:
		m.set[args[2]], m.set[args[3]] = true, true
	}
	switch args := scored(i); args[0] {
	case "ZREM":
		delete(m.scores, args[2])
	case "ZINCRBY":
		m.scores[args[3]] += number(args[2])
	default:
		m.scores[args[3]] = number(args[2])
	}
	m.entries = append(m.entries, i)
	m.entries = slices.Clone(m.entries[max(0, len(m.entries)-listLen):])
	switch {
	case i == 1:
	case i%2 == 0:
		left := 2
		for _, e := range m.entries {
			if e > m.read && left > 0 {
				m.read, left = e, left-1
				m.pending[e] = "c" + strconv.Itoa(i%3)
			}
		}
	default:
		delete(m.pending, i-1)
		delete(m.pending, i-4)
	}
	m.counted++
}

// compare reads all of it.
func (m *members) compare(c *client) error {
	if m.counted == 0 {
		return nil
	}
	var entries, pending, scores []string
	for _, e := range m.entries {
		entries = append(entries, fmt.Sprintf("%d-1 f %d", e, e))
	}
	for _, e := range slices.Sorted(maps.Keys(m.pending)) {
		pending = append(pending, fmt.Sprintf("%d-1 %s", e, m.pending[e]))
	}
	for _, name := range slices.SortedFunc(maps.Keys(m.scores), m.order) {
		scores = append(scores, name+" "+strconv.Itoa(m.scores[name]))
	}
	for _, x := range []struct {
		call string
		tidy func(string) string
		want string
	}{
		{"SMEMBERS set", sorted, strings.Join(slices.Sorted(maps.Keys(m.set)), " ")},
		{"ZRANGE z 0 -1 WITHSCORES", nil, strings.Join(scores, " ")},
		{"XRANGE x - +", nil, strings.Join(entries, " ")},
		{"XPENDING x g - + 10000000", owners, strings.Join(pending, " ")},
		{"HGET e calls", nil, strconv.Itoa(m.counted)},
		{"GET elast", nil, strconv.Itoa(m.counted)},
	} {
		got, err := c.do(strings.Fields(x.call)...)
		if x.tidy != nil {
			got = x.tidy(got)
		}
		if err != nil || got != x.want {
			return fmt.Errorf("%s is %q (%v), want %q", x.call, got, err, x.want)
		}
	}
	return nil
}

// order is that of a sorted set.
func (m *members) order(a, b string) int {
	if d := m.scores[a] - m.scores[b]; d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func sorted(list string) string {
	words := strings.Fields(list)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// owners leaves the IDs and the consumers of what XPENDING lists, without times and counts.
func owners(list string) string {
	var out []string
	for entry := range slices.Chunk(strings.Fields(list), 4) {
		out = append(out, entry[:2]...)
	}
	return strings.Join(out, " ")
}
