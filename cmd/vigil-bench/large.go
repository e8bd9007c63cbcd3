package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

const (
	// largeMemory is the maxmemory of values that are larger than it.
	largeMemory = "256mb"
	// largeCalls is how often each command on one of them is called.
	largeCalls = 1000
)

// nearEnds are commands on the values of large, by the type that a name begins with: on any
// element, and near the ends of those that have an order.
var nearEnds = map[string][]string{
	"hash":          {"HGET hash %", "HSET hash % w", "HDEL hash %"},
	"list":          {"LRANGE list 0 9", "LRANGE list -10 -1", "LPOP list", "RPUSH list %", "LINDEX list #"},
	"set":           {"SISMEMBER set %", "SADD set new:%", "SREM set %"},
	"set, integers": {"SISMEMBER set @", "SADD set 9@", "SREM set @", "SPOP set", "SRANDMEMBER set"},
	"sorted set":    {"ZSCORE zset %", "ZRANK zset %", "ZREVRANGE zset 0 9", "ZADD zset 0x% new:%", "ZINCRBY zset 1e18 %", "ZPOPMIN zset", "ZRANGE zset # #"},
	"stream":        {"XADD stream * id % name v", "XRANGE stream - + COUNT 10", "XREVRANGE stream + - COUNT 10"},
}

// largerThanMemory loads one value of each type that is several times as large as maxmemory.
func largerThanMemory(o *options, r *report) error {
	r.section("Values larger than memory", fmt.Sprintf("One value of many elements under a maxmemory of %s, added one a call by one client that sends 200 at a time; then %d calls of each command, one at a time: the median and the 99th of 100, in us. %% is any element, @ any number, # any index.",
		largeMemory, largeCalls))
	r.row("value", "elements", "load, s", "CPU, us an element", "elements /s", "peak, MB", "peak of all, MB", "us (99th) a call")
	r.rule(8)
	for _, p := range large {
		if !chosen(p.name, o.largeTypes) {
			continue
		}
		kind, _, _ := strings.Cut(p.name, ",")
		if p.name == "set, integers" {
			kind = p.name
		}
		if err := alone(o, []string{"--maxmemory", largeMemory, "--appendfsync", o.fsync}, func(s *process, _ string) error {
			return s.explained(largeOne(o, r, kind, p, s))
		}); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// chosen reports that a value is to be measured: one of the types, separated by semicolons, is
// how its name begins, or there are none.
func chosen(name, types string) bool {
	return slices.ContainsFunc(strings.Split(types, ";"), func(t string) bool { return strings.HasPrefix(name, t) })
}

func largeOne(o *options, r *report, kind string, p part, s *process) error {
	began := time.Now()
	if err := write(s, part{n: o.large, commands: p.commands}); err != nil {
		return err
	}
	took, loaded, cpu := time.Since(began).Seconds(), s.status("VmHWM"), s.cpu()
	var calls []string
	for _, command := range nearEnds[kind] {
		half, most, err := largeLatency(o, command, s)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		calls = append(calls, fmt.Sprintf("%s: %.0f (%.0f)", command, half, most))
	}
	n := float64(o.large)
	r.row(p.name, fmt.Sprint(o.large), fmt.Sprintf("%.0f", took), fmt.Sprintf("%.1f", cpu/n*1e6), fmt.Sprintf("%.0f", n/took), fmt.Sprint(loaded>>20),
		fmt.Sprint(s.status("VmHWM")>>20), strings.Join(calls, "; "))
	return nil
}

// largeLatency returns the median and the 99th of 100 of what calls take, in us.
func largeLatency(o *options, command string, s *process) (half, most float64, err error) {
	c, err := dial(s.port)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	chance := rand.New(rand.NewPCG(1, 2))
	var took []float64
	for range largeCalls {
		line := strings.ReplaceAll(command, "%", element(chance.IntN(o.large)))
		line = strings.ReplaceAll(line, "@", number(chance.IntN(o.large)))
		line = strings.ReplaceAll(line, "#", fmt.Sprint(chance.IntN(o.large/2)))
		began := time.Now()
		if _, err := c.Write(appendCommand(nil, strings.Fields(line))); err != nil {
			return 0, 0, err
		}
		if err := c.replies(1); err != nil {
			return 0, 0, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1000)
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], nil
}
