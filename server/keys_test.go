package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/testscale"
	"github.com/vigildb/vigil/structures/types"
)

// The keys of a call are found by its row, for its locks, the rules of its user, slots, client-side
// caching and COMMAND GETKEYS, and its handler reads its arguments by itself. A handler that uses a key
// that the row does not name panics, as its shard is not locked.

// oddNames are names for keys, groups, members and whatever else a client may choose: words of
// syntaxes, and numbers.
var oddNames = []string{"STREAMS", "GROUP", "COUNT", "BLOCK", "NOACK", "CLAIM", "STORE", "STOREDIST", "BY", "GET", "LIMIT", "KEYS", "COPY",
	"REPLACE", "AUTH", "AUTH2", "WEIGHTS", "AGGREGATE", "WITHSCORES", "WITHDIST", "ASC", "ALPHA", "MIN", "LEFT", "DB", "EX", "KEEPTTL", "FIELDS",
	"streams", "store", "2", "1", "-1", "0", "4294967296", "9223372036854775807", "*", "$", ">", "a", ""}

// callMaker makes random calls of a row, most of which are near to its syntax.
type callMaker struct {
	r    *rand.Rand
	cmd  *commands.Command
	keys []string // to be chosen from

	payload string // of DUMP
	streams int    // keys of the call so far
}

func (m *callMaker) pick(from []string) string { return from[m.r.IntN(len(from))] }

// odd returns a name, often a word of the row's own syntax.
func (m *callMaker) odd() string {
	if own := strings.FieldsFunc(m.cmd.Syntax, func(r rune) bool { return r < 'A' || r > 'Z' }); len(own) > 0 && m.r.IntN(2) == 0 {
		return m.pick(own)
	}
	return m.pick(oddNames)
}

func (m *callMaker) call() []string {
	call := strings.Split(strings.ToUpper(strings.ReplaceAll(m.cmd.FullName(), "|", " ")), " ")
	first := len(call)
	args := commands.ParseSyntax(m.cmd)
	m.streams = 0
	groups := optionGroups(args)
	if n := len(groups) - 1; n > 1 && m.r.IntN(2) == 0 {
		m.r.Shuffle(n, func(i, j int) {
			if groups[i].option && groups[j].option {
				groups[i], groups[j] = groups[j], groups[i]
			}
		})
	}
	for _, g := range groups {
		for _, a := range g.args {
			call = m.append(call, a)
		}
	}
	for i, word := range call {
		if word == pending {
			call[i] = "0"
		}
	}
	for m.r.IntN(3) == 0 && len(call) > first { // what follows is as a client that errs would send it
		at := first + m.r.IntN(len(call)-first)
		switch m.r.IntN(4) {
		case 0:
			call[at] = m.odd()
		case 1:
			call = slices.Insert(call, at, m.odd())
		case 2:
			call = slices.Delete(call, at, at+1)
		case 3:
			other := first + m.r.IntN(len(call)-first)
			call[at], call[other] = call[other], call[at]
		}
	}
	return call
}

// optionGroup is arguments that stay together: an option with what belongs to it.
type optionGroup struct {
	args   []*commands.Argument
	option bool
}

func optionGroups(args []*commands.Argument) (groups []optionGroup) {
	for _, a := range args {
		option := a.Token != "" || a.Optional && a.Type != commands.ArgKey
		if n := len(groups); n > 0 && groups[n-1].option && !option {
			groups[n-1].args = append(groups[n-1].args, a)
			continue
		}
		groups = append(groups, optionGroup{[]*commands.Argument{a}, option})
	}
	return groups
}

func (m *callMaker) append(call []string, a *commands.Argument) []string {
	if a.Optional && m.r.IntN(2) == 0 {
		return call
	}
	times := 1
	if a.Multiple {
		times += m.r.IntN(3)
	}
	name := strings.ToLower(a.Name)
	if name == "id" && m.streams > 0 {
		times = m.streams // an ID for each
	}
	if i := slices.IndexFunc(call, func(w string) bool { return w == pending }); i >= 0 && a.Multiple {
		call[i] = fmt.Sprint(times)
	}
	for i := range times {
		if a.Token != "" && (i == 0 || a.MultipleToken) {
			call = append(call, a.Token)
			if m.r.IntN(8) == 0 {
				call[len(call)-1] = strings.ToLower(a.Token)
			}
		}
		switch a.Type {
		case commands.ArgToken:
			if a.Token == "" {
				call = append(call, strings.ToUpper(a.Name))
			}
		case commands.ArgOneOf:
			call = m.append(call, a.Args[m.r.IntN(len(a.Args))])
		case commands.ArgBlock:
			for _, inner := range a.Args {
				call = m.append(call, inner)
			}
		case commands.ArgKey:
			call = append(call, m.pick(m.keys))
			m.streams++
		case commands.ArgInteger, commands.ArgDouble, commands.ArgUnixTime:
			switch {
			case strings.HasPrefix(name, "num"):
				call = append(call, pending)
			case len(aptWords[name]) > 0:
				call = append(call, m.pick(aptWords[name]))
			case m.r.IntN(10) == 0:
				call = append(call, m.odd())
			default:
				call = append(call, fmt.Sprint(m.r.IntN(4)))
			}
		default:
			switch apt := aptWords[name]; {
			case name == "serialized-value":
				call = append(call, m.payload)
			case len(apt) > 0 && m.r.IntN(4) > 0:
				call = append(call, m.pick(apt))
			case m.r.IntN(3) == 0:
				call = append(call, fmt.Sprint(m.r.IntN(4)))
			default:
				call = append(call, m.odd())
			}
		}
	}
	return call
}

// aptWords are words that fit arguments, by the names of these. The other arguments take any.
var aptWords = map[string][]string{
	"script": {"return 1"}, "sha1": {"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"}, "function": {"nothing"}, "id": {"0", "1-1", ">", "$", "+", "*"},
	"min": {"-", "0", "(1"}, "max": {"+", "9"}, "longitude": {"1"}, "latitude": {"1"}, "radius": {"9"}, "width": {"9"}, "height": {"9"},
	"error_rate": {"0.1"}, "expansion": {"2"}, "capacity": {"10"},
	"error": {"0.1"}, "probability": {"0.1"}, "increment": {"1"}, "depth": {"3"}, "decay": {"0.9"}, "topk": {"5"}, "quantile": {"0.5"}, "low_cut_quantile": {"0"}, "high_cut_quantile": {"1"}, "compression": {"20"},
	"path": {"$", ".", "$.*", "$..*", "$.1", "3"}, "value": {"1", `"1"`},
	"policy": {"index"}, "node": {"1"}, "unit": {"1"}, "object": {"1"}, "member": {"1", "2"},
}

// pending stands for a number of arguments that follow until these are made.
const pending = "\x00pending"

// types are calls that make keys of a type, by a name of the rows that use it.
var typedKeys = [][]string{
	{"SET", "KEY", "7"}, {"RPUSH", "KEY", "1", "2", "STORE"}, {"HSET", "KEY", "1", "2", "STORE", "3"}, {"SADD", "KEY", "1", "2", "STORE"},
	{"GEOADD", "KEY", "1", "1", "1", "2", "2", "STORE"}, {"XADD", "KEY", "1-1", "1", "2"}, {"BF.ADD", "KEY", "1"},
	{"SCHED.CREATE", "KEY"}, {"PLACE.CREATE", "KEY", "BOUND", "0.5"}, {"PFADD", "KEY", "1"},
	{"CF.ADD", "KEY", "1"}, {"CMS.INITBYDIM", "KEY", "10", "3"}, {"TOPK.RESERVE", "KEY", "5"}, {"TDIGEST.CREATE", "KEY"},
	{"JSON.SET", "KEY", "$", `{"1":[1,2],"2":"x","3":1,"4":true,"5":{"6":1}}`},
}

// typeOfFamily is which of typedKeys the rows of most families use.
var typeOfFamily = map[string]int{"string": 0, "bitmap": 0, "list": 1, "hash": 2, "set": 3, "sorted-set": 4, "geo": 4, "stream": 5, "bf": 6, "sched": 7, "place": 8, "hyperloglog": 9,
	"cf": 10, "cms": 11, "topk": 12, "tdigest": 13, "json": 14}

func TestTypedKeysHaveEveryType(t *testing.T) {
	c, made := newRig(t).dial(), map[string]bool{}
	for i, call := range typedKeys {
		key := fmt.Sprint(i)
		call = slices.Clone(call)
		call[slices.Index(call, "KEY")] = key
		c.do(call...)
		made[c.do("TYPE", key)] = true
	}
	for _, row := range types.All() {
		if !made[row.Name] {
			t.Errorf("typedKeys has no call that makes a %s: it gets one, and typeOfFamily the group of its commands", row.Name)
		}
	}
}

// fillOdd makes keys with odd names of a type, or of all of them if it is negative.
func fillOdd(c *testClient, kind int) {
	c.do("FLUSHALL")
	for i, name := range oddNames {
		of := kind
		if of < 0 {
			of = i % len(typedKeys)
		}
		call := slices.Clone(typedKeys[of])
		call[slices.Index(call, "KEY")] = name
		if got := c.do(call...); strings.HasPrefix(got, "(error)") {
			c.t.Fatalf("%q: %s", call, got)
		}
		switch call[0] {
		case "XADD":
			for _, group := range oddNames {
				c.do("XGROUP", "CREATE", name, group, "0")
			}
		case "TDIGEST.CREATE":
			c.do("TDIGEST.ADD", name, "1")
		case "SCHED.CREATE":
			c.do("SCHED.ADD", name, "1")
			c.do("SCHED.NEXT", name)
			c.do("SCHED.ADD", name, "2", "GROUP", "1")
		case "PLACE.CREATE":
			c.do("PLACE.SET", name, "1", "1", "2", "1")
			c.do("PLACE.ASSIGN", name, "1")
		}
	}
}

// TestHandlersUseTheKeysThatTheirRowsName makes random calls of each row that has keys. In MULTI
// none waits; MIGRATE, which may not be called there, is called alone.
func TestHandlersUseTheKeysThatTheirRowsName(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu") // for OBJECT FREQ
	admin.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function{function_name='nothing', callback=function() end, flags={'no-writes'}}")
	admin.do("SCRIPT", "LOAD", "return 1")
	admin.do("SET", "k", "7")
	payload, err := strconv.Unquote(admin.do("DUMP", "k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range r.srv.table.All() {
		if len(cmd.Keys) == 0 || cmd.Run == nil || cmd.Keys[0].Flags&commands.NotKey != 0 {
			continue
		}
		m := &callMaker{r: rand.New(rand.NewPCG(1, uint64(len(cmd.FullName())))), cmd: cmd, keys: append(slices.Clone(oddNames), "new", "other"), payload: payload}
		kind, ok := typeOfFamily[cmd.GroupName()]
		if !ok {
			kind = -1
		}
		c, done := r.dial(), 0
		for i := 0; i < testscale.Rounds(300) || done == 0 && i < 300; i++ {
			if i%100 == 0 {
				fillOdd(admin, kind)
			}
			call := m.call()
			if cmd.Name == "MIGRATE" && len(call) > 2 {
				call[1], call[2] = "127.0.0.1", "1" // where nobody listens
			}
			got := c.inTurn(cmd, call)
			if r.log.has("panic in ") {
				t.Errorf("%q: %s", call, got)
				r.log.clear()
				c = r.dial()
			}
			if !strings.HasPrefix(got, "(error)") || strings.Contains(got, "IOERR") {
				done++
			}
		}
		if done == 0 && cmd.FullName() != "place.import" { // whose data no syntax describes
			t.Errorf("%s: no call has succeeded", cmd.FullName())
		}
	}
}

// inTurn makes a call in a transaction of its own, if it may be in one, and returns its reply.
func (c *testClient) inTurn(cmd *commands.Command, call []string) string {
	if cmd.Flags&(commands.NoMulti|commands.NotQueued) != 0 {
		return c.do(call...)
	}
	c.do("MULTI")
	if got := c.do(call...); got != "QUEUED" {
		c.do("DISCARD")
		return got
	}
	return strings.TrimPrefix(c.do("EXEC"), "[")
}
