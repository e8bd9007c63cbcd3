package sched

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

// schedRig has what schedules are dumped, restored and compared with.
func schedRig(t testing.TB) *commandtest.Rig {
	t.Helper()
	return commandtest.New(t, Group(), keys.Group(), text.Group())
}

// pages is an encoding as Transfers.Dump makes it: a head, and one page.
func pages(head string, id uint64, page string) []byte {
	b := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	b = binary.AppendUvarint(b, id)
	return append(binary.AppendUvarint(b, uint64(len(page))), page...)
}

func TestPayloadsOfOwnTypesAreChecked(t *testing.T) {
	r := schedRig(t)
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	r.Call("SCHED.ADD", "s", "node")
	r.Call("SET", "k", "v")
	good := dumped(r, "s")
	headLen := int(good[0])
	head, page := string(good[1:1+headLen]), string(good[3+headLen:])
	if !bytes.Equal(pages(head, 0, page), good) {
		t.Fatalf("the encoding is another one: %q", good)
	}
	r.Want("+OK\r\n", "RESTORE", "copy", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, good)))
	before := r.Journal()
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
			want := "-ERR Bad data format\r\n"
			if what == "kind not known" {
				want = "-ERR Bad data format: kind 200 of a newer vigil is not known\r\n"
			}
			if got := r.Call("RESTORE", "k", ttl, string(payload), "REPLACE", "ABSTTL"); got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
	}
	r.Want("$1\r\nv\r\n", "GET", "k")
	if got := r.Journal(); got != before {
		t.Errorf("refused payloads: journal grew by %d bytes", got-before)
	}
}

func TestALoneNodeInAHighSlotIsRestoredInLittleRoom(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group(), admin.Group())
	for _, policy := range scheduler.Policies() {
		r.Call("DEL", "s", "far")
		r.Call("SCHED.CREATE", "s", "SEED", "1", "POLICY", policy.Name)
		r.Call("SCHED.ADD", "s", "node", "DECAY", "0.5", "ARRIVAL", "1")
		good := dumped(r, "s")
		headLen := int(good[0])
		head, page := string(good[1:1+headLen]), string(good[3+headLen:])
		far := string(rdb.AppendOwn(nil, structures.KindSchedule, pages(head, 1<<18-1, page)))
		r.Want("+OK\r\n", "RESTORE", "far", "0", far)
		for range 2 {
			if got := r.Call("SCHED.NEXT", "far"); got != "*1\r\n$4\r\nnode\r\n" {
				t.Errorf("%s: NEXT of the restored schedule: got %q", policy.Name, got)
			}
			r.Call("SCHED.OBSERVE", "far", "node", "1")
		}
		size, err := strconv.Atoi(strings.Trim(r.Call("MEMORY", "USAGE", "far"), ":\r\n"))
		if err != nil || size > 8192 {
			t.Errorf("%s: a payload of %d bytes takes %d, %v", policy.Name, len(far), size, err)
		}
	}
}

func TestManyPagesOfOneNodeAreRestoredInLittleRoom(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group(), admin.Group())
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	r.Call("SCHED.ADD", "s", "node-0000")
	good := dumped(r, "s")
	headLen := int(good[0])
	page := good[3+headLen:]
	binary.LittleEndian.PutUint64(page, 1<<63) // the last slot of a page
	payload := append([]byte{byte(headLen)}, good[1:1+headLen]...)
	for i := range 5000 {
		named := strings.Replace(string(page), "0000", fmt.Sprintf("%04d", i), 1)
		payload = append(payload, pages("", uint64(i), named)[1:]...)
	}
	r.Want("+OK\r\n", "RESTORE", "many", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, payload)))
	r.Want("*2\r\n$9\r\nnode-0000\r\n$9\r\nnode-0001\r\n", "SCHED.NEXT", "many", "COUNT", "2")
	size, err := strconv.Atoi(strings.Trim(r.Call("MEMORY", "USAGE", "many"), ":\r\n"))
	if err != nil || size > 8*len(payload) {
		t.Errorf("a payload of %d bytes takes %d, %v", len(payload), size, err)
	}
}

// A record means what it meant when it was made, wherever the schedule was read
// back: what a policy adds to nodes that lack it must be stored with them.
func TestARestoredScheduleIsStoredAsItIsUsed(t *testing.T) {
	r := commandtest.New(t, Group(), keys.Group())
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	r.Call("SCHED.ADD", "s", "a", "RATE", "1", "DECAY", ".5", "b", "RATE", "2", "DECAY", ".5")
	r.Call("SCHED.NEXT", "s")
	r.Call("SCHED.OBSERVE", "s", "b", "1")
	for _, policy := range scheduler.Policies() {
		foreign := dumped(r, "s")
		foreign[2] = policy.Number // in the head, behind its length and the version
		r.Call("DEL", "other")
		r.Want("+OK\r\n", "RESTORE", "other", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, foreign)))
		before := r.Payload("other")
		r.Call("SCHED.PEEK", "other")
		if r.Payload("other") != before {
			t.Errorf("%s: to PEEK changed what is stored", policy.Name)
		}
	}
}

func TestGapsAreClosedInOrder(t *testing.T) {
	r := schedRig(t)
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	head, all := "", []byte(nil)
	for i, name := range []string{"a", "b", "c"} {
		r.Call("SCHED.ADD", "s", name)
		good := dumped(r, "s")
		headLen := int(good[0])
		head = string(good[1 : 1+headLen])
		all = append(all, pages("", uint64(i)*70_000, string(good[3+headLen:]))[1:]...)
		r.Call("SCHED.REM", "s", name)
	}
	payload := append(append([]byte{byte(len(head))}, head...), all...)
	r.Want("+OK\r\n", "RESTORE", "far", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, payload)))
	r.Want("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "SCHED.PEEK", "far", "COUNT", "3")
	again := r.Payload("far")
	r.Want("+OK\r\n", "RESTORE", "near", "0", again)
	if r.Payload("near") != again {
		t.Error("the DUMP of a RESTORE is another one")
	}
}

// dumped is what the payload of a value of our own holds: what Transfers.Dump gave.
func dumped(r *commandtest.Rig, key string) []byte {
	payload := r.Payload(key)
	return []byte(payload[2 : len(payload)-10])
}

// FuzzRestoreSchedule restores anything as a schedule: it is refused in words, or
// works.
func FuzzRestoreSchedule(f *testing.F) {
	r := schedRig(f)
	for i, policy := range []string{"index", "memoryless", "adaptive", "whittle"} {
		key := fmt.Sprint("seed", i)
		r.Call("SCHED.CREATE", key, "POLICY", policy, "SEED", "1")
		r.Call("SCHED.ADD", key, "a", "ARRIVAL", "1", "b", "ARRIVAL", "1", "c", "ARRIVAL", "1")
		r.Call("SCHED.NEXT", key, "COUNT", "2")
		f.Add(dumped(r, key))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r.T = t
		r.Call("DEL", "k", "copy")
		got := r.Call("RESTORE", "k", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, encoded)))
		if got == "-ERR Bad data format\r\n" {
			return
		}
		if got != "+OK\r\n" {
			t.Fatalf("RESTORE: got %q", got)
		}
		for _, call := range [][]string{{"SCHED.INFO", "k"}, {"SCHED.PEEK", "k", "COUNT", "4"}, {"SCHED.ADD", "k", "new", "ARRIVAL", "1"}, {"SCHED.NEXT", "k", "COUNT", "4"}} {
			if got := r.Call(call...); strings.HasPrefix(got, "-"+string(commands.ErrInternal)) {
				t.Fatalf("%v: got %q", call, got)
			}
		}
		if got := r.Call("RESTORE", "copy", "0", r.Payload("k")); got != "+OK\r\n" {
			t.Fatalf("RESTORE of its own DUMP: got %q", got)
		}
	})
}
