package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// The group g of a stream is the hash of its value:
//
//	last          milliseconds of the ID behind which entries are new
//	c name        a consumer
//	p ID          the consumer that has the entry, and how often it was delivered
//
// IDs are milliseconds and "-1".

const groupLast = "last"

// pendingOf lists the milliseconds of the entries pending for a consumer, in their order.
func (v *value) pendingOf(consumer string) (ids []int) {
	for field, delivery := range v.hash {
		if id, ok := strings.CutPrefix(field, "p "); ok && strings.HasPrefix(delivery, consumer+" ") {
			ids = append(ids, entryMillis(id))
		}
	}
	slices.Sort(ids)
	return ids
}

// entry is the reply that has the entry of these milliseconds: one without fields if the
// stream does not have it any more.
func (v *value) entry(ms int) (reply string, there bool) {
	id := strconv.Itoa(ms) + "-1"
	for _, e := range v.list {
		if entryMillis(e) == ms {
			_, text, _ := strings.Cut(e, " ")
			return list([]string{bulk(id), list([]string{bulk("f"), bulk(text)})}), true
		}
	}
	return list([]string{bulk(id), absent}), false
}

func (r *run) groupCommand(args []string) string {
	key := streamOf(args)
	v := r.edit(key)
	last, exists := v.hash[groupLast]
	if args[0] == "XGROUP" {
		if exists {
			return "-BUSYGROUP Consumer Group name already exists"
		}
		v.hash = map[string]string{groupLast: "0"}
		r.set(key, &v)
		return ok
	}
	switch {
	case args[0] == "XACK":
		acked := 0
		for _, id := range args[3:] {
			if _, ok := v.hash["p "+id]; ok {
				delete(v.hash, "p "+id)
				acked++
			}
		}
		if acked > 0 {
			r.set(key, &v)
		}
		return number(acked)
	case !exists:
		return "-NOGROUP No such key '" + key + "' or consumer group 'g' in XREADGROUP with GROUP option"
	}
	had := maps.Clone(v.hash)
	v.hash["c "+args[3]] = ""
	var out []string
	again := args[8] == "0"
	if again {
		out = v.deliverAgain(args[3])
	} else {
		out = v.deliver(args[3], atoi(last), atoi(args[5]))
	}
	if !maps.Equal(had, v.hash) {
		r.set(key, &v)
	}
	if len(out) == 0 && !again {
		return absent
	}
	return list([]string{list([]string{bulk(key), list(out)})})
}

// deliver gives a consumer up to count new entries.
func (v *value) deliver(consumer string, last, count int) (out []string) {
	for _, e := range v.list {
		if ms := entryMillis(e); ms > last && len(out) < count {
			reply, _ := v.entry(ms)
			out = append(out, reply)
			v.hash[groupLast] = strconv.Itoa(ms)
			v.hash["p "+strconv.Itoa(ms)+"-1"] = consumer + " 1"
		}
	}
	return out
}

// deliverAgain gives a consumer what it has not acknowledged.
func (v *value) deliverAgain(consumer string) (out []string) {
	for _, ms := range v.pendingOf(consumer) {
		reply, there := v.entry(ms)
		if out = append(out, reply); there {
			field := "p " + strconv.Itoa(ms) + "-1"
			_, times, _ := strings.Cut(v.hash[field], " ")
			v.hash[field] = consumer + " " + strconv.Itoa(atoi(times)+1)
		}
	}
	return out
}

// streamOf is the key of a command on a group.
func streamOf(args []string) string {
	switch args[0] {
	case "XGROUP":
		return args[2]
	case "XREADGROUP":
		return args[7]
	}
	return args[1]
}

// group is a command on the group of a stream.
func (w *workload) group(x string) []string {
	consumer, id := "c"+strconv.Itoa(w.r.IntN(2)), func() string { return strconv.Itoa(max(1, w.entries-w.r.IntN(12))) + "-1" }
	read := "XREADGROUP GROUP g " + consumer + " COUNT "
	return w.one("XGROUP CREATE "+x+" g 0 MKSTREAM", read+"1 STREAMS "+x+" >", read+"3 STREAMS "+x+" >", read+"100 STREAMS "+x+" 0",
		"XACK "+x+" g "+id(), "XACK "+x+" g "+id()+" "+id()+" "+id())
}

// streamFound is a stream as XINFO STREAM FULL tells it.
func streamFound(info redcon.RESP) *value {
	v := &value{list: []string{}}
	fields(info, "entries").ForEach(func(e redcon.RESP) bool {
		v.list = append(v.list, entryText(e))
		return true
	})
	fields(info, "groups").ForEach(func(g redcon.RESP) bool {
		v.hash = map[string]string{groupLast: strconv.Itoa(entryMillis(fields(g, "last-delivered-id").String()))}
		fields(g, "consumers").ForEach(func(c redcon.RESP) bool {
			v.hash["c "+fields(c, "name").String()] = ""
			return true
		})
		fields(g, "pending").ForEach(func(p redcon.RESP) bool {
			of := words(p)
			v.hash["p "+of[0]] = of[1] + " " + of[3]
			return true
		})
		return true
	})
	return v
}

// fields is the value behind a name in an array of names and values.
func fields(info redcon.RESP, name string) (found redcon.RESP) {
	i, next := 0, false
	info.ForEach(func(e redcon.RESP) bool {
		if next {
			found = e
			return false
		}
		next = i%2 == 0 && string(e.Data) == name
		i++
		return true
	})
	return found
}
