package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// workload draws calls. Keys come in families, and a call stays in one, so that
// the checker can look at each by itself: r and s are strings, n counts, q and p
// are lists, h is a hash, a and b are sets, z is a sorted set and x a stream with a
// group, c a cuckoo filter, m a count-min sketch, k a list of the most frequent and d a digest.
// t expires, y is a stream whose entries have names, and f fills memory and chunks.
type workload struct {
	r     *rand.Rand
	big   int  // in a thousand of values that are of some 10 KB
	whole bool // FLUSHDB and SWAPDB too
	calls int

	entries int // of streams, so that IDs rise
}

const (
	families = 3
	fillers  = 48
)

// linear reports whether a call is about a family, and which.
func (c *call) family() (n int, linear bool) {
	for _, args := range c.commands {
		if args[0] == "SELECT" {
			continue
		}
		if args[0] == "EVAL" {
			n, linear = int(args[3][1]-'0'), true
			continue
		}
		if args[0] == "XGROUP" || args[0] == "XREADGROUP" {
			n, linear = int(streamOf(args)[1]-'0'), true
			continue
		}
		if args[0] == "FLUSHDB" || args[0] == "SWAPDB" || strings.ContainsAny(args[1][:1], "tfy") {
			return 0, false
		}
		n, linear = int(args[1][1]-'0'), true
	}
	return n, linear
}

// draw makes a call; waits says that clients are waiting.
func (w *workload) draw(waits bool) *call {
	w.calls++
	c := &call{number: w.calls}
	family := strconv.Itoa(w.r.IntN(families))
	switch n := w.r.IntN(100); {
	case n < 12:
		c.atomic = true
		w.fill(c, family)
	case n < 20:
		c.commands = [][]string{w.blpop(family)}
	case n < 28:
		c.commands = [][]string{w.timed("t" + family)}
	case n < 31:
		c.commands = [][]string{w.filler()}
	case n == 31, n == 35, n == 36:
		c.atomic = true
		for range 2 + w.r.IntN(6) {
			c.commands = append(c.commands, w.named("y"))
		}
	case n < 34:
		c.commands = [][]string{{"SELECT", strconv.Itoa(w.r.IntN(databases))}}
	case n == 34 && w.whole && !waits:
		c.commands = [][]string{w.one("FLUSHDB", "SWAPDB 0 1", "SWAPDB 1 0")}
	case n < 46:
		c.commands = [][]string{w.list("q"+family, "p"+family)}
	case n < 58:
		c.commands = [][]string{w.ordered(family)}
	case n < 66:
		c.commands = [][]string{w.sketch(family)}
	default:
		c.commands = [][]string{w.plain(family)}
	}
	return c
}

// fill gives a transaction its commands: at most one list, as the order in which
// clients waiting for two of them are served is not checked.
func (w *workload) fill(c *call, family string) {
	turned := false
	for range 2 + w.r.IntN(4) {
		switch w.r.IntN(10) {
		case 8, 9: // a script would be refused by itself in a transaction
			args := w.ordered(family)
			for args[0] == "EVAL" {
				args = w.ordered(family)
			}
			c.commands = append(c.commands, args)
		case 0:
			c.commands = append(c.commands, w.list("q"+family, ""))
		case 7:
			c.commands = append(c.commands, w.sketch(family))
		case 1:
			turned = true
			c.commands = append(c.commands, []string{"SELECT", strconv.Itoa(w.r.IntN(databases))})
		default:
			c.commands = append(c.commands, w.plain(family))
		}
	}
	if turned {
		c.commands = append(c.commands, []string{"SELECT", "0"})
	}
}

// one splits one of some command lines into words.
func (w *workload) one(lines ...string) []string {
	return strings.Fields(lines[w.r.IntN(len(lines))])
}

// value is one that is written only once.
func (w *workload) value() string {
	v := "v" + strconv.Itoa(w.calls) + "." + strconv.Itoa(w.r.IntN(1000))
	if w.r.IntN(1000) < w.big {
		v += strings.Repeat("-", 5000+w.r.IntN(35000))
	}
	return v
}

// plain is a command on a string, a counter, a hash or a JSON document.
func (w *workload) plain(f string) []string {
	r, s, n, h, j := "r"+f, "s"+f, "n"+f, "h"+f, "j"+f
	field := "f" + strconv.Itoa(w.r.IntN(3))
	return w.one("GET "+r, "GET "+r, "GET "+r, "GET "+s, "GET "+n, "EXISTS "+r,
		"SET "+r+" "+w.value(), "SET "+r+" "+w.value(), "SET "+s+" "+w.value(), "GETSET "+r+" "+w.value(),
		"APPEND "+r+" "+w.value(), "SETRANGE "+s+" 0 "+w.value(), "INCR "+n, "INCR "+n, "INCR "+n,
		"DEL "+r, "DEL "+s, "DEL "+n, "DEL "+h, "RENAME "+r+" "+s, "RENAME "+s+" "+r,
		"MOVE "+r+" "+strconv.Itoa(w.r.IntN(databases)),
		"HSET "+h+" "+field+" "+w.value(), "HSET "+h+" "+field+" "+w.value(), "HGET "+h+" "+field,
		"HDEL "+h+" "+field, "HINCRBY "+h+" count 1", "HLEN "+h,
		"JSON.MERGE "+j+` $ {"`+field+`":"`+w.value()+`"}`, "JSON.MERGE "+j+` $ {"n":7}`, "JSON.NUMINCRBY "+j+" $.n 1", "JSON.NUMINCRBY "+j+" $.n 1",
		"JSON.DEL "+j+" $."+field, "JSON.GET "+j+" $."+field)
}

// list is a command on a list, or on two if there is another.
func (w *workload) list(q, p string) []string {
	if p != "" && w.r.IntN(2) == 0 {
		q, p = p, q
	}
	if p != "" && w.r.IntN(6) == 0 {
		return w.one("LMOVE "+q+" "+p+" LEFT RIGHT", "LMOVE "+q+" "+p+" LEFT RIGHT", "DEL "+q)
	}
	return w.one("RPUSH "+q+" "+w.value(), "RPUSH "+q+" "+w.value()+" "+w.value(), "LPUSH "+q+" "+w.value(),
		"RPUSH "+q+" "+w.value(), "LPOP "+q, "LPOP "+q, "RPOP "+q, "LRANGE "+q+" 0 -1", "LLEN "+q)
}

func (w *workload) blpop(f string) []string {
	return w.one("BLPOP q"+f+" 0", "BLPOP q"+f+" 0.5", "BLPOP q"+f+" p"+f+" 0", "BLPOP p"+f+" q"+f+" 3")
}

// timed is a command on a key that expires.
func (w *workload) timed(t string) []string {
	ms := strconv.Itoa(1 + w.r.IntN(3000))
	return w.one("SET "+t+" "+w.value()+" PX "+ms, "SET "+t+" "+w.value()+" PX "+ms, "PEXPIRE "+t+" "+ms,
		"PTTL "+t, "GET "+t, "PERSIST "+t, "SET "+t+" "+w.value(), "INCR t9")
}

// filler writes or reads what is there for its size.
func (w *workload) filler() []string {
	f := "f" + strconv.Itoa(w.r.IntN(fillers))
	if w.r.IntN(3) == 0 {
		return w.one("GET "+f, "EXISTS "+f, "DEL "+f)
	}
	return []string{"SET", f, "v" + strconv.Itoa(w.calls) + strings.Repeat("+", 1000+w.r.IntN(60000))}
}
