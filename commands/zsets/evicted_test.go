package zsets

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// awayMember is a member of the set of awaySet: 8 of them fill a leaf.
func awayMember(n string) string { return fmt.Sprintf("%0220s", n) }

// awaySet puts a sorted set of 100 members with their numbers as scores under the key s.
func awaySet(r *commandtest.Rig, readable int) *commandtest.Pages {
	s := zset.New(new(structures.HashKeys))
	for i := range 100 {
		s.Add(nil, []byte(awayMember(strconv.Itoa(i))), float64(i), 0)
	}
	return r.PutEvicted("s", s, readable)
}

// A command that needs several pages, one of which cannot be read, changes nothing. The
// server has an error in place of the reply then.
func TestCommandThatCannotReadAPageOfASortedSetChangesNothing(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for _, line := range []string{
		"ZADD s 5.5 m200 15.5 m201 25.5 m202", "ZADD s 50 m5 51 m15 10 m25",
		"ZADD s XX GT CH 50 m5 51 m15 52 m25", "ZADD s 5.5 m200 5.6 m201 5.7 m202 70 m5",
		"ZADD s INCR 50 m5", "ZINCRBY s 3 m5", "ZINCRBY s 50 m5",
		"ZREM s m5 m15 m95", "ZPOPMIN s 40", "ZPOPMAX s 40", "ZPOPMIN s 100", "ZMPOP 1 s MIN COUNT 40",
		"ZREMRANGEBYRANK s 20 60", "ZREMRANGEBYRANK s 0 98", "ZREMRANGEBYSCORE s 20 60",
	} {
		for readable := 0; ; readable++ {
			r := commandtest.New(t, Group())
			f := awaySet(r, readable)
			journal := r.Journal()
			args := strings.Fields(line)
			for i, arg := range args {
				if n, ok := strings.CutPrefix(arg, "m"); ok {
					args[i] = awayMember(n)
				}
			}
			r.Call(args...)
			if !f.Failed() {
				if readable == 0 {
					t.Errorf("%.60s: needs no page", line)
				}
				break
			}
			if got := r.Journal(); got != journal {
				t.Errorf("%.60s with %d pages: %d bytes were recorded", line, readable, got-journal)
			}
		}
	}
}
