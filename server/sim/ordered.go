package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Sets and sorted sets are hashes in the model: members with the times at which they expire, or with scores. No member of a set expires
// while the simulation lasts.
// A stream is a list of entries, each "ID value", and a hash with its group.

func (r *run) setCommand(args []string) string {
	key := args[1]
	if args[0] == "SMOVE" {
		if r.setCommand([]string{"SREM", key, args[3]}) == "0" {
			r.get(args[2])
			return "0"
		}
		r.setCommand([]string{"SADD", args[2], args[3]})
		return "1"
	}
	v := r.edit(key)
	if args[0] == "SCARD" {
		return number(len(v.hash))
	}
	changes := 0
	for _, member := range args[2:] {
		_, there := v.hash[member]
		switch {
		case args[0] == "SISMEMBER":
			return number(truth(there))
		case args[0] == "SREM" && there:
			delete(v.hash, member)
			changes++
		case args[0] == "SADD" && !there:
			if v.hash == nil {
				v.hash = map[string]string{}
			}
			v.hash[member] = ""
			changes++
		}
	}
	if changes > 0 {
		r.set(key, &v)
	}
	return number(changes)
}

// memberCommand gives the member of a set, the last argument, an expiry, or takes it away.
func (r *run) memberCommand(args []string) string {
	key, member := args[1], args[len(args)-1]
	v := r.edit(key)
	old, there := v.hash[member]
	switch {
	case !there:
		return list([]string{"-2"})
	case args[0] == "SPERSIST" && old == "":
		return list([]string{"-1"})
	case args[0] == "SPERSIST":
		v.hash[member] = ""
	default:
		v.hash[member] = args[2]
	}
	r.set(key, &v)
	return list([]string{"1"})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *run) zsetCommand(args []string) string {
	key := args[1]
	v := r.edit(key)
	if v.hash == nil {
		v.hash = map[string]string{}
	}
	switch args[0] {
	case "ZSCORE":
		if score, ok := v.hash[args[2]]; ok {
			return bulk(score)
		}
		return absent
	case "ZRANGE":
		return list(quoted(ranked(v.hash)))
	case "ZADD":
		old, there := v.hash[args[3]]
		if v.hash[args[3]] = args[2]; old != args[2] {
			r.set(key, &v)
		}
		return number(truth(!there))
	case "ZINCRBY":
		score := "0"
		if old, ok := v.hash[args[3]]; ok {
			score = old
		}
		v.hash[args[3]] = strconv.Itoa(atoi(score) + atoi(args[2]))
		r.set(key, &v)
		return bulk(v.hash[args[3]])
	case "ZREM":
		if _, ok := v.hash[args[2]]; !ok {
			return "0"
		}
		delete(v.hash, args[2])
		r.set(key, &v)
		return "1"
	}
	if len(v.hash) == 0 { // ZPOPMIN
		return list(nil)
	}
	first := ranked(v.hash)[:2]
	delete(v.hash, first[0])
	r.set(key, &v)
	return list(quoted(first))
}

// ranked lists members and scores in the order of a sorted set.
func ranked(scores map[string]string) (out []string) {
	for _, name := range slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(atoi(scores[a])-atoi(scores[b]), strings.Compare(a, b))
	}) {
		out = append(out, name, scores[name])
	}
	return out
}

func quoted(words []string) (out []string) {
	for _, w := range words {
		out = append(out, bulk(w))
	}
	return out
}

// streamCommand knows streams whose last entry is never deleted.
func (r *run) streamCommand(args []string) string {
	key := args[1]
	v := r.edit(key)
	switch args[0] {
	case "XLEN":
		return number(len(v.list))
	case "XRANGE":
		var out []string
		for _, e := range v.list {
			id, text, _ := strings.Cut(e, " ")
			out = append(out, list([]string{bulk(id), list([]string{bulk("f"), bulk(text)})}))
		}
		return list(out)
	case "XTRIM": // MAXLEN n
		gone := max(0, len(v.list)-atoi(args[3]))
		if gone > 0 {
			v.list = v.list[gone:]
			r.set(key, &v)
		}
		return number(gone)
	}
	id := args[2]
	if n := len(v.list); n > 0 && entryMillis(v.list[n-1]) >= entryMillis(id) {
		return "-ERR The ID specified in XADD is equal or smaller than the target stream top item"
	}
	v.list = append(v.list, id+" "+args[4])
	r.set(key, &v)
	return bulk(id)
}

// entryMillis is the first part of the ID that an entry begins with.
func entryMillis(entry string) int {
	text, _, _ := strings.Cut(entry, "-")
	return atoi(text)
}

// lateMillis is a time that no simulation reaches.
const lateMillis = 4_000_000_000_000

// timedMembers is the script that reads a set with the times at which its members expire.
const timedMembers = "local all = {} for _, m in ipairs(redis.call('SMEMBERS', KEYS[1])) do " +
	"all[#all + 1] = m all[#all + 1] = string.format('%.0f', redis.call('SPEXPIRETIME', KEYS[1], 'MEMBERS', 1, m)[1]) end return all"

// setAndCount is the script of the simulation.
const setAndCount = "redis.call('SET', KEYS[1], ARGV[1]); return redis.call('INCR', KEYS[2])"

func (r *run) script(args []string) string {
	r.do([]string{"SET", args[3], args[5]})
	return r.do([]string{"INCR", args[4]})
}

// ordered is a command on a set, a sorted set or a stream, or a script.
func (w *workload) ordered(f string) []string {
	a, b, z, x := "a"+f, "b"+f, "z"+f, "x"+f
	if w.r.IntN(2) == 0 {
		a, b = b, a
	}
	member := []string{"1", "2", "-7", "m", "n", "o"}[w.r.IntN(6)]
	score := strconv.Itoa(w.r.IntN(5))
	switch w.r.IntN(11) {
	case 0:
		return []string{"EVAL", setAndCount, "2", "s" + f, "n" + f, w.value()}
	case 1, 2:
		w.entries++
		return []string{"XADD", x, strconv.Itoa(w.entries) + "-1", "f", w.value()}
	case 8, 9, 10:
		return w.group(x)
	case 3:
		return w.one("XLEN "+x, "XRANGE "+x+" - +", "XTRIM "+x+" MAXLEN 3", "DEL "+x)
	case 4, 5:
		return w.one("ZADD "+z+" "+score+" "+member, "ZADD "+z+" "+score+" "+member, "ZINCRBY "+z+" "+score+" "+member,
			"ZREM "+z+" "+member, "ZSCORE "+z+" "+member, "ZRANGE "+z+" 0 -1 WITHSCORES", "ZPOPMIN "+z, "DEL "+z)
	}
	late := strconv.Itoa(lateMillis + w.calls)
	return w.one("SPEXPIREAT "+a+" "+late+" MEMBERS 1 "+member, "SPERSIST "+a+" MEMBERS 1 "+member, "SADD "+a+" "+member, "SADD "+a+" "+member+" 3 "+score, "SREM "+a+" "+member, "SREM "+a+" 3 "+member,
		"SISMEMBER "+a+" "+member, "SCARD "+a, "SMOVE "+a+" "+b+" "+member, "DEL "+a)
}
