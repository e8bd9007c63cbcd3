package zsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// flaky is a pager of pages of which some cannot be read.
type flaky struct {
	pages  map[uint64][]byte
	left   int // pages that can be read
	failed bool
}

func (f *flaky) ReadPage(id uint64, use func([]byte) error) bool {
	if f.left--; f.left < 0 || use(f.pages[id]) != nil {
		f.failed = true
	}
	return !f.failed
}

func (f *flaky) Failed() bool { return f.failed }
func (f *flaky) Room() bool   { return false }
func (f *flaky) Tight() bool  { return false }

// awayMember is a member of the set of awaySet: 8 of them fill a leaf.
func awayMember(n string) string { return fmt.Sprintf("%0220s", n) }

// awaySet puts a sorted set of 100 members with their numbers as scores under the key s. All
// pages of it that can be are on a disk of which a number of pages can be read.
func awaySet(r *commandtest.Rig, readable int) *flaky {
	s, f := zset.New(new(structures.HashKeys)), &flaky{pages: map[uint64][]byte{}, left: 1000}
	for i := range 100 {
		s.Add(nil, []byte(awayMember(strconv.Itoa(i))), float64(i), 0)
	}
	s.Shed(1)
	s.Pages(true, func(id uint64, page []byte) { f.pages[id] = slices.Clone(page) })
	s.Clean()
	s.SetPager(f)
	for range 3 {
		s.Shed(1 << 20)
	}
	r.Put("s", s)
	f.left = readable
	return f
}

// A command that needs several pages, of which one cannot be read, changes nothing. The
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
			if !f.failed {
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
