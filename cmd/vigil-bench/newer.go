package main

import (
	"fmt"
	"path/filepath"
)

// newerCase is a call of Redis 8.6 to 8.12 and the older ones that it does the work of, or does a little more than.
type newerCase struct {
	name, beside string
	call         []string
	older        [][]string
	goal         float64 // of the ratio to their sum, 0 for none
	before       string  // a script that prepares both servers, for the key names that it is given
}

// setsOf makes a thousand sets of twenty members; half of them get an expiry if the key has it.
const setsOf = `for i = 0, 999 do local k = string.format(KEYS[1] .. ':%012d', i)
redis.call('DEL', k)
for j = 1, 20 do redis.call('SADD', k, string.format('m%012d', (i + j * 49) % 1000)) end
if ARGV[1] == 'timed' then redis.call('SEXPIRE', k, 100000, 'MEMBERS', 10, unpack(redis.call('SRANDMEMBER', k, 10))) end end`

func newerCases() []newerCase {
	random := func(args string) []string { return append(words("-r 1000"), words(args)...) }
	many := func(args string) []string { return append(words("-r 1000000"), words(args)...) }
	cases := []newerCase{
		{name: "INCREX EX", beside: "INCR, then EXPIRE", call: random("increx c:__rand_int__ EX 100"),
			older: [][]string{random("incr c:__rand_int__"), random("expire c:__rand_int__ 100")}},
		{name: "XADD IDMP, one stream", beside: "XADD", call: many("xadd named IDMP p n__rand_int__ MAXLEN ~ 1000 * f v__rand_int__"),
			older: [][]string{many("xadd plain MAXLEN ~ 1000 * f v__rand_int__")}, goal: 1.15},
		{name: "XADD IDMP, 1,000 streams", beside: "XADD", call: random("xadd named:__rand_int__ IDMP p n__rand_int__ MAXLEN ~ 1000 * f v__rand_int__"),
			older: [][]string{random("xadd plain:__rand_int__ MAXLEN ~ 1000 * f v__rand_int__")}, goal: 1.15},
	}
	for _, call := range []string{"sadd %s:__rand_int__ x__rand_int__", "srem %s:__rand_int__ x__rand_int__",
		"sismember %s:__rand_int__ m__rand_int__", "smembers %s:__rand_int__", "scard %s:__rand_int__", "srandmember %s:__rand_int__"} {
		cases = append(cases, newerCase{name: words(call)[0] + ", half with expiries", beside: "without", call: random(fmt.Sprintf(call, "s")),
			older: [][]string{random(fmt.Sprintf(call, "s"))}, goal: 1.2, before: setsOf})
	}
	return cases
}

// newer compares newer calls with older ones, each on a server of its own.
func newer(o *options, r *report) error {
	prepare := func(dir string) (a, b *process, err error) {
		if a, err = own(o, filepath.Join(dir, "newer")); err == nil {
			b, err = own(o, filepath.Join(dir, "older"))
		}
		return a, b, err
	}
	return withTwo(prepare, func(a, b *process, _ string) error {
		r.section("Newer calls beside older ones", "The processor time of calls of Redis 8.6 to 8.12, and of what they take the place of, on another vigil in the same run: "+
			"pipelines of 16, 1,000 keys unless it says otherwise, with the work that a call leaves for later.")
		r.row("call", "us CPU", "beside", "us CPU", "ratio", "goal")
		r.rule(6)
		for _, c := range newerCases() {
			if err := compareNewer(o, r, c, [2]*process{a, b}); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	})
}

func compareNewer(o *options, r *report, c newerCase, p [2]*process) error {
	if c.before != "" {
		for i, kind := range []string{"timed", "plain"} {
			if err := once(p[i], []string{"EVAL", c.before, "1", "s", kind}); err != nil {
				return err
			}
		}
	}
	var call, sum float64
	for _, older := range c.older {
		a, b, err := compare(o, benchCase{pipeline: 16, args: c.call, peer: older}, o.requests, p[0], p[1])
		if err != nil {
			return err
		}
		call += meanCPU(a) / float64(len(c.older))
		sum += meanCPU(b)
	}
	goal := ""
	if c.goal > 0 {
		goal = fmt.Sprintf("%.2f", c.goal)
	}
	r.row(c.name, fmt.Sprintf("%.2f", call), c.beside, fmt.Sprintf("%.2f", sum), fmt.Sprintf("%.2f", call/sum), goal)
	return nil
}
