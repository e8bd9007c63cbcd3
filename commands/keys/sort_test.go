package keys

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/hashes"
	"github.com/vigildb/vigil/commands/lists"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/zset"
)

func sortRig(t testing.TB) *commandtest.Rig {
	t.Helper()
	r := commandtest.New(t, text.Group(), lists.Group(), hashes.Group(), Group())
	r.Ctx.Host = reader{r.Ctx.Host}
	return r
}

// reader is a server all of whose users may read all keys.
type reader struct{ commands.Host }

func (reader) ReadsAll(*commands.Ctx) bool { return true }

func (reader) Limits() *commands.Limits { return &commands.Limits{} }

// Whatever the words of a call are: what it stores to and reads is locked.
func TestSortLocksTheKeysThatItsOptionsName(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	words := []string{"BY", "GET", "STORE", "LIMIT", "by", "Get", "store", "ASC", "ALPHA", "1", "a*", "STORE*", "#", "x"}
	stored, read := 0, 0
	for range 100_000 {
		argv := commandtest.Argv("SORT", "k")
		for range r.IntN(8) {
			argv = append(argv, []byte(words[r.IntN(len(words))]))
		}
		c := commands.Ctx{Host: reader{}}
		c.Args.Reset(argv, 2)
		o := readSortOptions(&c, true)
		if c.Args.Done() != nil {
			continue
		}
		at := sortDestination(argv)
		if (len(at) == 1) != (o.destination != nil) || len(at) == 1 && !bytes.Equal(argv[at[0]], o.destination) {
			t.Fatalf("%q stores to %q, locked are %v", argv, o.destination, at)
		}
		reads := o.reads() || o.by != nil && o.by.named
		if reads && !sortsByPattern(argv) {
			t.Fatalf("%q reads keys that are not locked", argv)
		}
		if o.destination != nil {
			stored++
		}
		if reads {
			read++
		}
	}
	if stored < 1000 || read < 1000 {
		t.Errorf("%d calls that store, %d that read: too few for a trial", stored, read)
	}
}

func TestSortEqualsThatOfSlices(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rig := sortRig(t)
	for range 200 {
		rig.Call("DEL", "l")
		want := []int{}
		for range 1 + r.IntN(100) {
			want = append(want, r.IntN(1000)-500)
			rig.Call("RPUSH", "l", fmt.Sprint(want[len(want)-1]))
		}
		call := []string{"SORT", "l"}
		slices.Sort(want)
		if r.IntN(2) == 0 {
			slices.Reverse(want)
			call = append(call, "DESC")
		}
		from, count := r.IntN(120)-10, r.IntN(120)-10
		call = append(call, "LIMIT", fmt.Sprint(from), fmt.Sprint(count))
		want = want[min(max(from, 0), len(want)):]
		if count >= 0 {
			want = want[:min(count, len(want))]
		}
		if got := strings.Join(commandtest.SplitBulks(rig.Call(call...)), " "); got != strings.Trim(fmt.Sprint(want), "[]") {
			t.Fatalf("%q: got %s, want %v", call, got, want)
		}
	}
}

// Many elements are sorted when their key is not locked any more, unless other keys are
// read or written for them.
func TestManyElementsAreSortedOffTheLock(t *testing.T) {
	r := sortRig(t)
	for i := range quickSort + 1 {
		r.Call("RPUSH", "l", fmt.Sprint(i*7919%(quickSort+1)))
	}
	for call, off := range map[string]bool{
		"SORT l": true, "SORT l LIMIT 0 10 GET #": true, "SORT l BY w_*": true, "SORT l LIMIT 0 10 GET w_*": false, "SORT l STORE d": false,
	} {
		r.Call(strings.Fields(call)...)
		if (r.UnderLocks == 0) != off {
			t.Errorf("%s: %d bytes written under the locks", call, r.UnderLocks)
		}
	}
	got := commandtest.SplitBulks(r.Call("SORT", "l"))
	if len(got) != quickSort+1 || got[0] != "0" || got[quickSort] != fmt.Sprint(quickSort) {
		t.Errorf("%d elements, from %s", len(got), got[0])
	}
}

func TestSortedSetsKeepTheirOrderUnlessSorted(t *testing.T) {
	r := sortRig(t)
	tx := r.Ctx.Tx
	var shards persistence.Shards
	shards.AddAll()
	tx.Lock(&shards, r.Ctx.Now)
	tx.Select(0)
	s := zset.New(tx.HashKeys())
	for i, member := range []string{"30", "2", "1"} {
		s.Add(nil, []byte(member), float64(i), 0)
	}
	persistence.Replace(tx, []byte("z"), s, persistence.NoExpiry)
	tx.Commit()
	tx.Unlock()
	for call, want := range map[string]string{
		"SORT z": "1 2 30", "SORT z DESC": "30 2 1", "SORT z BY x": "30 2 1", "SORT z BY x DESC": "1 2 30",
		"SORT z BY x LIMIT 1 5": "2 1", "SORT z BY x DESC LIMIT 1 1": "2", "SORT z BY x LIMIT 3 1": "", "SORT z BY x DESC LIMIT 0 0": "",
	} {
		if got := strings.Join(commandtest.SplitBulks(r.Call(strings.Fields(call)...)), " "); got != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
}

func TestSortEventsAreThoseOfRedis(t *testing.T) {
	r := sortRig(t)
	r.Call("RPUSH", "l", "2", "1")
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"SORT l", nil},
		{"SORT l STORE d", []string{"new d", "sortstore d"}},
		{"SORT l DESC STORE d", []string{"sortstore d"}},
		{"SORT nosuch STORE d", []string{"keymiss nosuch", "del d"}},
		{"SORT nosuch STORE d", []string{"keymiss nosuch"}},
		{"SORT l BY w_*", []string{"keymiss w_2", "keymiss w_1"}},
	} {
		r.Call(strings.Fields(x.call)...)
		r.WantEvents(x.events...)
	}
}
