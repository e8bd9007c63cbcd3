package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// benchCase is one command that redis-benchmark sends.
type benchCase struct {
	name     string
	pipeline int
	args     []string
	costly   int      // requests are fewer by this factor; 0: the usual number
	before   []string // calls that prepare it, words apart by blanks
	peer     []string // what the other server is sent, if it lacks the command
}

var cases = []benchCase{
	{name: "SET, P=1", pipeline: 1, args: []string{"-t", "set", "-r", "100000", "-d", "100"}},
	{name: "GET, P=1", pipeline: 1, args: []string{"-t", "get", "-r", "100000", "-d", "100"}},
	{name: "SET, P=1, one client", pipeline: 1, args: words("-c 1 -t set -r 100000 -d 100"), costly: 2},
	{name: "GET, P=1, one client", pipeline: 1, args: words("-c 1 -t get -r 100000 -d 100"), costly: 2},
	{name: "SET of 1 KB, P=1", pipeline: 1, args: words("-t set -r 100000 -d 1024")},
	{name: "SET of 1 KB, P=16", pipeline: 16, args: words("-t set -r 100000 -d 1024")},
	{name: "SET, P=16", pipeline: 16, args: []string{"-t", "set", "-r", "100000", "-d", "100"}},
	{name: "GET, P=16", pipeline: 16, args: []string{"-t", "get", "-r", "100000", "-d", "100"}},
	{name: "INCR, P=16", pipeline: 16, args: []string{"-t", "incr", "-r", "100000"}},
	{name: "HSET, P=16", pipeline: 16, args: []string{"-t", "hset", "-r", "100000"}},
	{name: "LPUSH, P=16", pipeline: 16, args: []string{"-t", "lpush"}},
	{name: "RPOP, P=16", pipeline: 16, args: []string{"-t", "rpop"}},
	{name: "LRANGE 100, P=1", pipeline: 1, args: []string{"-t", "lrange_100"}},
	{name: "MSET of 10, P=1", pipeline: 1, args: []string{"-t", "mset", "-r", "1000000"}},
	{name: "PFADD, P=16", pipeline: 16, args: []string{"-r", "100000", "pfadd", "hll:__rand_int__", "item:__rand_int__"}},
	{name: "BITFIELD, P=16", pipeline: 16, args: []string{"-r", "100000", "bitfield", "bf:__rand_int__", "set", "u1", "#1500", "1", "get", "u8", "0"}},
	{name: "ZADD, P=16", pipeline: 16, args: []string{"-r", "1000000", "zadd", "board", "__rand_int__", "player:__rand_int__"}},
	{name: "ZINCRBY, P=16", pipeline: 16, args: []string{"-r", "1000000", "zincrby", "board", "1", "player:__rand_int__"}},
	{name: "ZRANK, P=16", pipeline: 16, args: words("-r 1000000 zrank board player:__rand_int__")},
	{name: "ZRANGE 100, P=16", pipeline: 16, args: []string{"zrange", "board", "0", "99"}},
	{name: "ZPOPMIN, P=16", pipeline: 16, args: []string{"zpopmin", "board"}, costly: 2},
	{name: "GEOADD, P=16", pipeline: 16, args: []string{"-r", "1000000", "geoadd", "map", "13.__rand_int__", "37.__rand_int__", "place:__rand_int__"}},
	{name: "SET EX, P=16", pipeline: 16, args: []string{"-r", "100000", "set", "s:__rand_int__", "session", "ex", "1800"}},
	{name: "HGET, P=16", pipeline: 16, args: words("-r 100000 hget myhash element:__rand_int__")},
	{name: "HSET of 5 fields, P=16", pipeline: 16, args: words("-r 100000 hset h:__rand_int__ a 1 b 2 c 3 d 4 e 5")},
	{name: "EXPIRE, P=16", pipeline: 16, args: words("-r 100000 expire key:__rand_int__ 3600")},
	{name: "SADD of words, P=16", pipeline: 16, args: words("-r 1000000 sadd words word:__rand_int__")},
	{name: "SISMEMBER, P=16", pipeline: 16, args: words("-r 1000000 sismember words word:__rand_int__")},
	{name: "SPOP, P=16", pipeline: 16, args: words("spop words"), costly: 2},
	{name: "SINTER of 1000 and 1000, P=16", pipeline: 16, args: words("sinter a b"), costly: 100, before: []string{members("sadd a", 0, 1000), members("sadd b", 500, 1500)}},
	{name: "SINTERCARD of 1000 and 1000, P=16", pipeline: 16, args: words("sintercard 2 a b"), costly: 100},
	{name: "SORT of 1000, P=16", pipeline: 16, args: words("sort n"), costly: 100, before: []string{"del n", shuffled("rpush n", 1000)}},
	{name: "XADD, P=16", pipeline: 16, args: words("xadd stream * field value")},
	{name: "XADD MAXLEN, P=16", pipeline: 16, args: words("xadd short maxlen ~ 1000 * field value")},
	{name: "XREADGROUP of 1, P=16", pipeline: 16, args: words("xreadgroup group g c count 1 streams stream >"), before: []string{"xgroup destroy stream g", "xgroup create stream g 0"}},
	{name: "XACK, P=16", pipeline: 16, args: words("-r 1000000 xack stream g __rand_int__-0")},
	{name: "GEOSEARCH with hits, P=16", pipeline: 16, args: words("geosearch spread fromlonlat 13.5 37.5 byradius 10 km asc"), costly: 10, before: []string{places("geoadd spread", 2000)}},
	{name: "GEOSEARCH without hits, P=16", pipeline: 16, args: words("geosearch spread fromlonlat -70 -40 byradius 10 km")},
	{name: "INFO, P=1", pipeline: 1, args: words("info"), costly: 10},
	{name: "EVALSHA of return 1, P=1", pipeline: 1, args: words("evalsha 930269f31393d0be681588b6ab08dccee7d6bb67 0"), before: []string{"script load return(1)"}},
	{name: "EVALSHA of return 1, P=16", pipeline: 16, args: words("evalsha 930269f31393d0be681588b6ab08dccee7d6bb67 0")},
	{name: "EVALSHA of SET and GET, P=1", pipeline: 1, args: words(setAndGet), before: []string{"script load redis.call('SET',KEYS[1],ARGV[1])return(redis.call('GET',KEYS[1]))"}},
	{name: "EVALSHA of SET and GET, P=16", pipeline: 16, args: words(setAndGet)},
}

// setAndGet calls the script of its cases by its digest.
const setAndGet = "-r 100000 evalsha 2d779416bc0217fcebfcf40a52be75c09ac06659 1 key:__rand_int__ value"

// words are the arguments of redis-benchmark.
func words(s string) []string { return strings.Fields(s) }

// members is a call with the numbers from lo on, below hi, as words.
func members(call string, lo, hi int) string {
	for i := lo; i < hi; i++ {
		call += fmt.Sprint(" word:", i)
	}
	return call
}

// places is a call with n places in a field of one degree.
func places(call string, n int) string {
	for i := range n {
		call += fmt.Sprintf(" %.6f %.6f place:%d", 13+float64(i*7919%n)/float64(n), 37+float64(i*104729%n)/float64(n), i)
	}
	return call
}

// shuffled is a call with n numbers in no order.
func shuffled(call string, n int) string {
	for i := range n {
		call += fmt.Sprint(" ", i*7919%n)
	}
	return call
}

// median takes the middle of what pick makes of each pair of runs.
func median[R any](ours, redis []R, pick func(a, b R) float64) float64 {
	var v []float64
	for i := range ours {
		v = append(v, pick(ours[i], redis[i]))
	}
	return middle(v)
}

// middle sorts values, and returns the one in the middle.
func middle[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// once makes a call. An error reply is none here: there may be nothing to remove.
func once(p *process, call []string) error {
	nc, err := dial(p.port)
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = nc.do(call...)
	return err
}

// compare runs a case against both servers in turn. The processor time of the work that the
// case leaves for later is shared out among its runs, if that work is due by then.
func compare(o *options, c benchCase, n int, ours, redis *process) (a, b []run, err error) {
	for _, call := range c.before {
		for _, p := range []*process{ours, redis} {
			if err := once(p, words(call)); err != nil {
				return nil, nil, err
			}
		}
	}
	n /= max(c.costly, 1)
	other := c.args
	if c.peer != nil {
		other = c.peer
	}
	for range o.rounds {
		x, err := benchmark(ours, n, c.pipeline, c.args)
		if err != nil {
			return nil, nil, err
		}
		y, err := benchmark(redis, n, c.pipeline, other)
		if err != nil {
			return nil, nil, err
		}
		a, b = append(a, x), append(b, y)
	}
	for _, of := range []struct {
		p    *process
		runs []run
	}{{ours, a}, {redis, b}} {
		late, err := settle(of.p)
		if err != nil {
			return nil, nil, err
		}
		for i := range of.runs {
			of.runs[i].cpuMicros += late / float64(n*len(of.runs)) * 1e6
		}
	}
	return a, b, nil
}

// meanCPU is the mean of the processor time for a request, in microseconds.
func meanCPU(runs []run) (micros float64) {
	for _, r := range runs {
		micros += r.cpuMicros / float64(len(runs))
	}
	return micros
}

func throughput(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Throughput and CPU", "50 clients, one redis-benchmark process, values of 100 bytes. Ratios are "+
			"those of vigil to the other, medians over the rounds; CPU is all of the process and its children over all rounds, with the work "+
			"that a case leaves for later.")
		return comparisons(o, r, cases, ours, redis)
	})
}

// comparisons is a table of cases.
func comparisons(o *options, r *report, cases []benchCase, ours, redis *process) error {
	r.compared(o)
	for _, c := range cases {
		n := o.requests
		if c.pipeline == 1 {
			n /= 4
		}
		a, b, err := compare(o, c, n, ours, redis)
		if err != nil {
			return err
		}
		r.comparison(c.name, a, b)
	}
	return nil
}
