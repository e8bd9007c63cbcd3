package commands

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// What takes long to answer and little to copy is answered off the locks, with
// the same reply.

func TestManyDrawsAreWrittenOffTheLocks(t *testing.T) {
	r := newRig(t, HashGroup())
	r.call("HSET", "h", "a", "1", "b", "2", "c", "3")
	for _, inMulti := range []bool{false, true} {
		r.ctx.InMulti = inMulti
		reply := r.call("HRANDFIELD", "h", "-10000", "WITHVALUES")
		pairs := 0
		for _, p := range []string{"a|1", "b|2", "c|3"} {
			name, value, _ := strings.Cut(p, "|")
			n := strings.Count(reply, fmt.Sprintf("$1\r\n%s\r\n$1\r\n%s\r\n", name, value))
			if n < 2500 {
				t.Errorf("%s was drawn %d times of 10000", name, n)
			}
			pairs += n
		}
		if !strings.HasPrefix(reply, "*20000\r\n") || pairs != 10000 {
			t.Errorf("%d pairs of 10000: %.40q", pairs, reply)
		}
		if (r.underLocks == 0) == inMulti {
			t.Errorf("in MULTI %v: %d bytes were written under the locks", inMulti, r.underLocks)
		}
	}
	r.ctx.InMulti = false
	if r.want("*2\r\n$1\r\nb\r\n$1\r\nb\r\n", "HRANDFIELD", "h", "-2"); r.underLocks == 0 {
		t.Error("two draws copied the hash")
	}
}

func TestLongStringsAreComparedOffTheLocks(t *testing.T) {
	r := newRig(t, StringGroup())
	a, b := strings.Repeat("abcde", 400), strings.Repeat("badce", 400)
	r.call("SET", "a", a)
	r.call("SET", "b", b)
	common, matches := structures.LCS([]byte(a), []byte(b), 0)
	r.want(fmt.Sprintf("$%d\r\n%s\r\n", len(common), common), "LCS", "a", "b")
	if r.underLocks != 0 {
		t.Errorf("%d bytes were written under the locks", r.underLocks)
	}
	r.want(fmt.Sprintf(":%d\r\n", len(common)), "LCS", "a", "b", "LEN")
	if got := r.do(argv("LCS", "a", "b", "IDX")); !bytes.Contains(got, fmt.Appendf(nil, "*%d\r\n", len(matches))) {
		t.Errorf("LCS IDX has other matches than %d", len(matches))
	}
}
