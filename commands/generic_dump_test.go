package commands

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

func dumpRig(t testing.TB) *rig {
	t.Helper()
	return newRig(t, StringGroup(), ListGroup(), HashGroup(), HyperLogLogGroup(), BloomGroup(), SchedGroup(), GenericGroup())
}

// payloadOf is what DUMP answers for a key that exists.
func payloadOf(t testing.TB, r *rig, key string) string {
	t.Helper()
	bulks := splitBulks("*1\r\n" + r.call("DUMP", key))
	if len(bulks) != 1 {
		t.Fatalf("DUMP %s: got %d bulks", key, len(bulks))
	}
	return bulks[0]
}

// fill makes key a value of a random type and size, and returns the calls that
// show it whole, without the key.
func fill(r *rig, rng *rand.Rand, key string) (show [][]string) {
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
	switch rng.IntN(6) {
	case 0:
		r.call("SET", key, word())
		return [][]string{{"GET"}}
	case 1:
		for range size {
			r.call("RPUSH", key, word(), word())
		}
		return [][]string{{"LRANGE", "0", "-1"}}
	case 2:
		for i := range size {
			r.call("HSET", key, fmt.Sprint("f", i), word())
			if rng.IntN(3) == 0 {
				r.call("HPEXPIREAT", key, fmt.Sprint(r.ctx.Now+1+rng.Int64N(1e9)), "FIELDS", "1", fmt.Sprint("f", i))
			}
		}
		show = [][]string{{"HGETALL"}}
		for i := range size {
			show = append(show, []string{"HPEXPIRETIME", "FIELDS", "1", fmt.Sprint("f", i)})
		}
		return show
	case 3:
		for range size {
			r.call("PFADD", key, word())
		}
		return [][]string{{"PFCOUNT"}, {"GET"}}
	case 4:
		r.call("BF.RESERVE", key, "0.01", "5")
		for range size {
			r.call("BF.ADD", key, word())
		}
		show = [][]string{{"BF.INFO"}, {"BF.SCANDUMP", "0"}, {"BF.SCANDUMP", "1"}}
		return append(show, [][]string{{"BF.SCANDUMP", "9"}, {"BF.SCANDUMP", "33"}}...)
	default:
		r.call("SCHED.CREATE", key, "SEED", "7")
		for i := range size {
			r.call("SCHED.ADD", key, fmt.Sprint("node", i))
		}
		r.call("SCHED.NEXT", key, "COUNT", "3")
		return [][]string{{"SCHED.INFO"}, {"SCHED.NODE", "node0"}, {"SCHED.PEEK", "COUNT", "5"}}
	}
}

func TestEveryTypeIsDumpedAndRestored(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	r := dumpRig(t)
	for i := range 60 {
		r.call("DEL", "from")
		show := fill(r, rng, "from")
		kind := r.call("TYPE", "from")
		r.call("PEXPIRE", "from", "100000")
		r.want("+OK\r\n", "RESTORE", "to", "5000", payloadOf(t, r, "from"), "REPLACE")
		r.want(kind, "TYPE", "to")
		r.want(":5000\r\n", "PTTL", "to")
		for _, call := range show {
			args := func(key string) []string { return slices.Insert(slices.Clone(call), 1, key) }
			got, want := strings.Fields(r.call(args("to")...)), strings.Fields(r.call(args("from")...))
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
	r.call("SET", "a", "1")
	payload := payloadOf(t, r, "a")
	r.classes = EventAll | EventNew | EventMissed
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
		r.call(x.call...)
		r.wantEvents(x.events...)
	}
}

func TestRestoreTellsHowTheKeyWasUsed(t *testing.T) {
	r := dumpRig(t)
	r.call("SET", "a", "1")
	payload := payloadOf(t, r, "a")
	r.want("+OK\r\n", "RESTORE", "b", "0", payload, "IDLETIME", "1000")
	r.want(":1000\r\n", "OBJECT", "IDLETIME", "b")
	r.want("+OK\r\n", "RESTORE", "b", "0", payload, "REPLACE")
	r.want(":0\r\n", "OBJECT", "IDLETIME", "b")
	r.want("+OK\r\n", "RESTORE", "b", "0", payload, "REPLACE", "IDLETIME", "9223372036854775807")
	r.want(fmt.Sprintf(":%d\r\n", maxIdle), "OBJECT", "IDLETIME", "b")
	r.want("+OK\r\n", "RESTORE", "c", "0", payload, "FREQ", "100") // not kept under this policy
	r.want(":0\r\n", "OBJECT", "IDLETIME", "c")

	r.limits.LFU = true
	r.store.SetMaxMemory(0, persistence.PolicyAllKeysLFU, 5)
	r.want("+OK\r\n", "RESTORE", "d", "0", payload, "FREQ", "100")
	r.want(":100\r\n", "OBJECT", "FREQ", "d")
}

// pages is an encoding as Tx.Dump makes it: a head, and one page.
func pages(head string, id uint64, page string) []byte {
	b := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	b = binary.AppendUvarint(b, id)
	return append(binary.AppendUvarint(b, uint64(len(page))), page...)
}

func TestPayloadsOfOwnTypesAreChecked(t *testing.T) {
	r := dumpRig(t)
	r.call("SCHED.CREATE", "s", "SEED", "1")
	r.call("SCHED.ADD", "s", "node")
	r.call("SET", "k", "v")
	good := dumped(r, "s")
	headLen := int(good[0])
	head, page := string(good[1:1+headLen]), string(good[3+headLen:])
	if !bytes.Equal(pages(head, 0, page), good) {
		t.Fatalf("the encoding is another one: %q", good)
	}
	r.want("+OK\r\n", "RESTORE", "copy", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, good)))
	before := r.journal()
	for what, payload := range map[string][]byte{
		"nothing":           rdb.AppendOwn(nil, structures.KindSchedule, nil),
		"cut short":         rdb.AppendOwn(nil, structures.KindSchedule, good[:len(good)-1]),
		"gone on":           rdb.AppendOwn(nil, structures.KindSchedule, append(bytes.Clone(good), 0)),
		"page twice":        rdb.AppendOwn(nil, structures.KindSchedule, append(bytes.Clone(good), pages("", 0, page)[1:]...)),
		"page out of turn":  rdb.AppendOwn(nil, structures.KindSchedule, append(pages(head, 1<<17, page), pages("", 0, page)[1:]...)),
		"page one too far":  rdb.AppendOwn(nil, structures.KindSchedule, pages(head, 1<<18, page)),
		"page beyond all":   rdb.AppendOwn(nil, structures.KindSchedule, pages(head, 1<<63, page)),
		"kind not known":    rdb.AppendOwn(nil, 200, good),
		"kind with no form": rdb.AppendOwn(nil, structures.KindHash, good),
	} {
		for _, ttl := range []string{"0", "1"} { // 1: it would have expired
			if got, want := r.call("RESTORE", "k", ttl, string(payload), "REPLACE", "ABSTTL"), "-"+string(ErrPayload)+"\r\n"; got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
	}
	r.want("$1\r\nv\r\n", "GET", "k")
	if got := r.journal(); got != before {
		t.Errorf("refused payloads: journal grew by %d bytes", got-before)
	}
}

func TestALoneNodeInAHighSlotIsRestoredInLittleRoom(t *testing.T) {
	r := newRig(t, SchedGroup(), GenericGroup(), ServerGroup())
	for _, policy := range scheduler.Policies() {
		r.call("DEL", "s", "far")
		r.call("SCHED.CREATE", "s", "SEED", "1", "POLICY", policy.Name)
		r.call("SCHED.ADD", "s", "node", "DECAY", "0.5")
		good := dumped(r, "s")
		headLen := int(good[0])
		head, page := string(good[1:1+headLen]), string(good[3+headLen:])
		far := string(rdb.AppendOwn(nil, structures.KindSchedule, pages(head, 1<<18-1, page)))
		r.want("+OK\r\n", "RESTORE", "far", "0", far)
		for range 2 {
			if got := r.call("SCHED.NEXT", "far"); got != "*1\r\n$4\r\nnode\r\n" {
				t.Errorf("%s: NEXT of the restored schedule: got %q", policy.Name, got)
			}
			r.call("SCHED.OBSERVE", "far", "node", "1")
		}
		size, err := strconv.Atoi(strings.Trim(r.call("MEMORY", "USAGE", "far"), ":\r\n"))
		if err != nil || size > 8192 {
			t.Errorf("%s: a payload of %d bytes takes %d, %v", policy.Name, len(far), size, err)
		}
	}
}

func TestManyPagesOfOneNodeAreRestoredInLittleRoom(t *testing.T) {
	r := newRig(t, SchedGroup(), GenericGroup(), ServerGroup())
	r.call("SCHED.CREATE", "s", "SEED", "1")
	r.call("SCHED.ADD", "s", "node-0000")
	good := dumped(r, "s")
	headLen := int(good[0])
	page := good[3+headLen:]
	binary.LittleEndian.PutUint64(page, 1<<63) // the last slot of a page
	payload := append([]byte{byte(headLen)}, good[1:1+headLen]...)
	for i := range 5000 {
		named := strings.Replace(string(page), "0000", fmt.Sprintf("%04d", i), 1)
		payload = append(payload, pages("", uint64(i), named)[1:]...)
	}
	r.want("+OK\r\n", "RESTORE", "many", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, payload)))
	r.want("*2\r\n$9\r\nnode-0000\r\n$9\r\nnode-0001\r\n", "SCHED.NEXT", "many", "COUNT", "2")
	size, err := strconv.Atoi(strings.Trim(r.call("MEMORY", "USAGE", "many"), ":\r\n"))
	if err != nil || size > 8*len(payload) {
		t.Errorf("a payload of %d bytes takes %d, %v", len(payload), size, err)
	}
}

// A record means what it meant when it was made, wherever the schedule was read
// back: what a policy adds to nodes that lack it must be stored with them.
func TestARestoredScheduleIsStoredAsItIsUsed(t *testing.T) {
	r := newRig(t, SchedGroup(), GenericGroup())
	r.call("SCHED.CREATE", "s", "SEED", "1")
	r.call("SCHED.ADD", "s", "a", "RATE", "1", "DECAY", ".5", "b", "RATE", "2", "DECAY", ".5")
	r.call("SCHED.NEXT", "s")
	r.call("SCHED.OBSERVE", "s", "b", "1")
	for _, policy := range scheduler.Policies() {
		foreign := dumped(r, "s")
		foreign[2] = policy.Number // in the head, behind its length and the version
		r.call("DEL", "other")
		r.want("+OK\r\n", "RESTORE", "other", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, foreign)))
		before := payloadOf(t, r, "other")
		r.call("SCHED.PEEK", "other")
		if payloadOf(t, r, "other") != before {
			t.Errorf("%s: to PEEK changed what is stored", policy.Name)
		}
	}
}

func TestGapsAreClosedInOrder(t *testing.T) {
	r := dumpRig(t)
	r.call("SCHED.CREATE", "s", "SEED", "1")
	head, all := "", []byte(nil)
	for i, name := range []string{"a", "b", "c"} {
		r.call("SCHED.ADD", "s", name)
		good := dumped(r, "s")
		headLen := int(good[0])
		head = string(good[1 : 1+headLen])
		all = append(all, pages("", uint64(i)*70_000, string(good[3+headLen:]))[1:]...)
		r.call("SCHED.REM", "s", name)
	}
	payload := append(append([]byte{byte(len(head))}, head...), all...)
	r.want("+OK\r\n", "RESTORE", "far", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, payload)))
	r.want("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "SCHED.PEEK", "far", "COUNT", "3")
	again := payloadOf(t, r, "far")
	r.want("+OK\r\n", "RESTORE", "near", "0", again)
	if payloadOf(t, r, "near") != again {
		t.Error("the DUMP of a RESTORE is another one")
	}
}

// dumped is what the payload of a value of our own holds: what Tx.Dump gave.
func dumped(r *rig, key string) []byte {
	payload := payloadOf(r.t, r, key)
	return []byte(payload[2 : len(payload)-10])
}

// FuzzRestoreSchedule restores anything as a schedule: it is refused in words, or
// works.
func FuzzRestoreSchedule(f *testing.F) {
	r := dumpRig(f)
	for i, policy := range []string{"index", "memoryless", "adaptive", "whittle"} {
		key := fmt.Sprint("seed", i)
		r.call("SCHED.CREATE", key, "POLICY", policy, "SEED", "1")
		r.call("SCHED.ADD", key, "a", "b", "c")
		r.call("SCHED.NEXT", key, "COUNT", "2")
		f.Add(dumped(r, key))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r.call("DEL", "k", "copy")
		got := r.call("RESTORE", "k", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, encoded)))
		if got == "-"+string(ErrPayload)+"\r\n" {
			return
		}
		if got != "+OK\r\n" {
			t.Fatalf("RESTORE: got %q", got)
		}
		for _, call := range [][]string{{"SCHED.INFO", "k"}, {"SCHED.PEEK", "k", "COUNT", "4"}, {"SCHED.ADD", "k", "new"}, {"SCHED.NEXT", "k", "COUNT", "4"}} {
			if got := r.call(call...); strings.HasPrefix(got, "-"+string(ErrInternal)) {
				t.Fatalf("%v: got %q", call, got)
			}
		}
		if got := r.call("RESTORE", "copy", "0", payloadOf(t, r, "k")); got != "+OK\r\n" {
			t.Fatalf("RESTORE of its own DUMP: got %q", got)
		}
	})
}
