package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// largeSketches are values of 16 MB and more, whose pages are nearly all there: what makes one, what puts
// items into it, and calls that change a few bytes of it.
var largeSketches = []struct {
	create, fill string
	n            int // of items, which fill has in groups of a thousand
	changes      []string
}{
	{"BF.RESERVE v 0.01 20000000", "BF.MADD v #", 20_000, []string{"BF.ADD v @"}},
	{"CF.RESERVE v 16000000", "CF.INSERT v ITEMS #", 30_000, []string{"CF.ADDNX v @", "CF.ADD v @", "CF.DEL v @"}},
	{"CMS.INITBYDIM v 1000000 4", "CMS.INCRBY v # 1", 20_000, []string{"CMS.INCRBY v @ 5"}},
	{"TOPK.RESERVE v 10 500000 4 0.9", "TOPK.ADD v #", 20_000, []string{"TOPK.ADD v @", "TOPK.INCRBY v @ 5"}},
	{"TDIGEST.CREATE v COMPRESSION 200000", "TDIGEST.ADD v #", 1_100_000, []string{"TDIGEST.ADD v @"}},
}

// One item costs the journal the item, not a part of the value.
func TestAnItemOfALargeSketchJournalsFewBytes(t *testing.T) {
	const most = 200
	for _, c := range largeSketches {
		name, _, _ := strings.Cut(c.create, " ")
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			k := r.dial()
			if got := k.do(strings.Fields(c.create)...); got != "OK" {
				t.Fatal(got)
			}
			for i := 0; i < c.n; i += 1000 {
				var call []string
				for _, word := range strings.Fields(c.fill) {
					if word != "#" && word != "1" {
						call = append(call, word)
						continue
					}
					for j := i; word == "#" && j < i+1000; j++ {
						if call = append(call, strconv.Itoa(j)); strings.HasSuffix(c.fill, " 1") {
							call = append(call, "1")
						}
					}
				}
				k.do(call...)
			}
			if size, _ := strconv.Atoi(strings.Trim(k.do("MEMORY", "USAGE", "v"), "(int) ")); size < 12<<20 {
				t.Fatalf("the value takes %d bytes", size)
			}
			for _, change := range c.changes {
				grew := 0
				for i := range 50 {
					before := r.srv.store.Stats()
					k.do(strings.Fields(strings.ReplaceAll(change, "@", fmt.Sprint(5_000_000+i)))...)
					after := r.srv.store.Stats()
					if after.Trimmed != before.Trimmed {
						continue // the journal was cut meanwhile
					}
					bytes := after.JournalBytes + after.PendingBytes - before.JournalBytes - before.PendingBytes
					if bytes > most {
						t.Fatalf("%s: %d bytes of journal, want up to %d", change, bytes, most)
					}
					if bytes > 0 {
						grew++
					}
				}
				if grew < 25 {
					t.Errorf("%s: the journal grew %d times in 50", change, grew)
				}
			}
		})
	}
}
