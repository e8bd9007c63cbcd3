package sim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// A stream with named entries is y: its IDs are those that the server makes of its clock, and its producers give names that come
// again. In its hash stand the window and how many names it was ever given. The names themselves are not compared after a crash,
// as the server tells them to nobody: they belong to the entries, with which they are written, and what is lost of them shows when
// one is given again.

// name is one that a producer gave to an entry.
type name struct {
	producer, text, id string
	time               int64 // unix ms
}

const (
	namesWindow = "window" // field: seconds and how many of each producer
	namesAdded  = "added"  // field
)

// window returns how many seconds names are remembered, and how many of each producer.
func (v *value) window() (seconds, most int) {
	a, b, _ := strings.Cut(v.hash[namesWindow], " ")
	return atoi(a), atoi(b)
}

// remembered returns the name that a producer has given, if it is not too old.
func (v *value) remembered(producer, text string, now int64) *name {
	seconds, most := v.window()
	given := 0
	for i := len(v.names) - 1; i >= 0 && given < most; i-- {
		if n := &v.names[i]; n.producer == producer {
			given++
			if n.text == text && now-n.time < int64(seconds)*1000 {
				return n
			}
		}
	}
	return nil
}

// nextID is the ID that the server makes: its time, or what follows the last entry.
func (v *value) nextID(now int64) string {
	if len(v.list) > 0 {
		last, _, _ := strings.Cut(v.list[len(v.list)-1], " ")
		ms, seq, _ := strings.Cut(last, "-")
		if int64(atoi(ms)) >= now {
			return ms + "-" + strconv.Itoa(atoi(seq)+1)
		}
	}
	return strconv.FormatInt(now, 10) + "-0"
}

// namedCommand knows streams whose last entry is never deleted.
func (r *run) namedCommand(args []string) string {
	key := args[1]
	v, there := r.edit(key), r.get(key) != nil
	switch {
	case args[0] != "XADD" && args[0] != "XCFGSET":
		return r.streamCommand(args)
	case args[0] == "XCFGSET" && !there:
		return "-ERR no such key"
	case args[0] == "XCFGSET": // IDMP-DURATION seconds IDMP-MAXSIZE names
		if window := args[3] + " " + args[5]; window != v.hash[namesWindow] {
			v.hash[namesWindow], v.names = window, nil
			r.set(key, &v)
		}
		return ok
	case !there:
		v.hash = map[string]string{namesWindow: "100 100", namesAdded: "0"}
	}
	id, text := v.nextID(r.now), args[len(args)-1]
	if args[2] == "IDMP" {
		producer, given := args[3], args[4]
		if n := v.remembered(producer, given, r.now); n != nil {
			return bulk(n.id)
		}
		v.names = append(slices.Clone(v.names), name{producer, given, id, r.now})
		v.hash[namesAdded] = strconv.Itoa(atoi(v.hash[namesAdded]) + 1)
	}
	v.list = append(v.list, id+" "+text)
	r.set(key, &v)
	return bulk(id)
}

// namedFound is the stream of what XINFO STREAM tells.
func namedFound(info redcon.RESP) *value {
	v := streamFound(info)
	v.hash = map[string]string{
		namesWindow: fields(info, "idmp-duration").String() + " " + fields(info, "idmp-maxsize").String(),
		namesAdded:  fields(info, "iids-added").String(),
	}
	return v
}

// named is a command on a stream with named entries.
func (w *workload) named(y string) []string {
	add := "XADD " + y + " IDMP p" + strconv.Itoa(w.r.IntN(2)) + " " + strconv.Itoa(w.r.IntN(5)) + " * f " + w.value()
	return w.one(add, add, add, add, add, add, add, add, "XADD "+y+" * f "+w.value(), "XLEN "+y, "XRANGE "+y+" - +", "XTRIM "+y+" MAXLEN 3",
		"XCFGSET "+y+" IDMP-DURATION "+strconv.Itoa(1+w.r.IntN(2))+" IDMP-MAXSIZE "+strconv.Itoa(1+w.r.IntN(3)), "DEL "+y)
}
