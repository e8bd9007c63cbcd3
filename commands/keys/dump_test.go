package keys

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/bloom"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/hashes"
	"github.com/vigildb/vigil/commands/hll"
	"github.com/vigildb/vigil/commands/lists"
	"github.com/vigildb/vigil/commands/sched"
	"github.com/vigildb/vigil/commands/sets"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/persistence/eviction"
)

func dumpRig(t testing.TB) *commandtest.Rig {
	t.Helper()
	return commandtest.New(t, text.Group(), lists.Group(), hashes.Group(), sets.Group(), hll.Group(), bloom.Group(), sched.Group(), Group())
}

// fill makes key a value of a random type and size, and returns the calls that
// show it whole, without the key.
func fill(r *commandtest.Rig, rng *rand.Rand, key string) (show [][]string) {
	word := func() string {
		switch rng.IntN(4) {
		case 0:
			return fmt.Sprint(int64(rng.Uint64()) >> rng.IntN(64))
		case 1:
			return strings.Repeat(string(rune(rng.IntN(256))), rng.IntN(5000))
		}
		return fmt.Sprint("w", rng.IntN(1000))
	}
	size := []int{1, 10, 400}[rng.IntN(3)]
	switch rng.IntN(7) {
	case 6:
		for range size {
			r.Call("SADD", key, word(), word())
		}
		return [][]string{{"SMEMBERS"}}
	case 0:
		r.Call("SET", key, word())
		return [][]string{{"GET"}}
	case 1:
		for range size {
			r.Call("RPUSH", key, word(), word())
		}
		return [][]string{{"LRANGE", "0", "-1"}}
	case 2:
		for i := range size {
			r.Call("HSET", key, fmt.Sprint("f", i), word())
			if rng.IntN(3) == 0 {
				r.Call("HPEXPIREAT", key, fmt.Sprint(r.Ctx.Now+1+rng.Int64N(1e9)), "FIELDS", "1", fmt.Sprint("f", i))
			}
		}
		show = [][]string{{"HGETALL"}}
		for i := range size {
			show = append(show, []string{"HPEXPIRETIME", "FIELDS", "1", fmt.Sprint("f", i)})
		}
		return show
	case 3:
		for range size {
			r.Call("PFADD", key, word())
		}
		return [][]string{{"PFCOUNT"}, {"GET"}}
	case 4:
		r.Call("BF.RESERVE", key, "0.01", "5")
		for range size {
			r.Call("BF.ADD", key, word())
		}
		show = [][]string{{"BF.INFO"}, {"BF.SCANDUMP", "0"}, {"BF.SCANDUMP", "1"}}
		return append(show, [][]string{{"BF.SCANDUMP", "9"}, {"BF.SCANDUMP", "33"}}...)
	default:
		r.Call("SCHED.CREATE", key, "SEED", "7")
		for i := range size {
			r.Call("SCHED.ADD", key, fmt.Sprint("node", i))
		}
		r.Call("SCHED.NEXT", key, "COUNT", "3")
		return [][]string{{"SCHED.INFO"}, {"SCHED.NODE", "node0"}, {"SCHED.PEEK", "COUNT", "5"}}
	}
}

func TestEveryTypeIsDumpedAndRestored(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	r := dumpRig(t)
	for i := range 60 {
		r.Call("DEL", "from")
		show := fill(r, rng, "from")
		kind := r.Call("TYPE", "from")
		r.Call("PEXPIRE", "from", "100000")
		r.Want("+OK\r\n", "RESTORE", "to", "5000", r.Payload("from"), "REPLACE")
		r.Want(kind, "TYPE", "to")
		r.Want(":5000\r\n", "PTTL", "to")
		for _, call := range show {
			args := func(key string) []string { return slices.Insert(slices.Clone(call), 1, key) }
			got, want := strings.Fields(r.Call(args("to")...)), strings.Fields(r.Call(args("from")...))
			slices.Sort(got) // a hash has no order
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, value %d (%s): %v: got %.500q, want %.500q", seed, i, kind, call, got, want)
			}
		}
	}
}

func TestRestoreEventsAreThoseOfRedis(t *testing.T) {
	r := dumpRig(t)
	r.Call("SET", "a", "1")
	payload := r.Payload("a")
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   []string
		events []string
	}{
		{[]string{"DUMP", "a"}, nil},
		{[]string{"DUMP", "nosuch"}, []string{"keymiss nosuch"}},
		{[]string{"RESTORE", "b", "0", payload}, []string{"new b", "restore b"}},
		{[]string{"RESTORE", "b", "0", payload}, nil},
		{[]string{"RESTORE", "b", "0", payload, "REPLACE"}, []string{"new b", "restore b"}},
		{[]string{"RESTORE", "b", "0", "...", "REPLACE"}, nil},
		{[]string{"RESTORE", "b", "1", payload, "REPLACE", "ABSTTL"}, []string{"del b"}},
		{[]string{"RESTORE", "b", "1", payload, "ABSTTL"}, nil},
	} {
		r.Call(x.call...)
		r.WantEvents(x.events...)
	}
}

func TestRestoreTellsHowTheKeyWasUsed(t *testing.T) {
	r := dumpRig(t)
	r.Call("SET", "a", "1")
	payload := r.Payload("a")
	r.Want("+OK\r\n", "RESTORE", "b", "0", payload, "IDLETIME", "1000")
	r.Want(":1000\r\n", "OBJECT", "IDLETIME", "b")
	r.Want("+OK\r\n", "RESTORE", "b", "0", payload, "REPLACE")
	r.Want(":0\r\n", "OBJECT", "IDLETIME", "b")
	r.Want("+OK\r\n", "RESTORE", "b", "0", payload, "REPLACE", "IDLETIME", "9223372036854775807")
	r.Want(fmt.Sprintf(":%d\r\n", maxIdle), "OBJECT", "IDLETIME", "b")
	r.Want("+OK\r\n", "RESTORE", "c", "0", payload, "FREQ", "100") // not kept under this policy
	r.Want(":0\r\n", "OBJECT", "IDLETIME", "c")

	r.Limits.LFU = true
	r.Store.Eviction().Set(0, eviction.AllKeysLFU, 5)
	r.Want("+OK\r\n", "RESTORE", "d", "0", payload, "FREQ", "100")
	r.Want(":100\r\n", "OBJECT", "FREQ", "d")
}
