package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// Keys of all types arrive as they were when the slots were frozen, whatever was written while they were copied.
func TestKeysArriveAsTheyWereLast(t *testing.T) {
	for _, changed := range []int{100, 3000} { // few are copied while the slots are frozen, many before
		for _, late := range []int{0, 800} { // more than are copied at a time while the slots are frozen
			t.Run(fmt.Sprint(changed, late), func(t *testing.T) { keysArrive(t, changed, late) })
		}
	}
}

// keysArrive changes keys once when the first ones have been copied, and others each time that keys are sent.
func keysArrive(t *testing.T, changed, late int) {
	r := newMovesRig(t)
	target := newShardsRig(t)
	target.g.own.Store(new(slots.Set))
	c, w := r.dial(), r.dial()
	for i := range 3000 {
		c.want(fmt.Sprintf("SET {b}%d %d", i, i), "OK")
		c.want(fmt.Sprintf("SET {c}%d %d", i, i), "OK")
	}
	for _, call := range []string{"RPUSH {b}list 1 two", "HSET {b}hash f v", "SADD {b}set 1 2", "ZADD {b}zset 1.5 x", "XADD {b}stream 1-1 f v", "BF.ADD {b}bloom x", "SCHED.CREATE {b}sched POLICY index",
		"PLACE.CREATE {b}place", "SET {b}empty ''", "SETRANGE {b}large 3000000 x", "SET {b}expires v PXAT 30000000000000", "SET {b}gone v", "HSET {b}fields f v", "HPEXPIREAT {b}fields 30000000000000 FIELDS 1 f"} {
		if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
			t.Fatalf("%s: %s", call, got)
		}
	}
	sends, frames := r.g.sends, 0
	numbers := make([]int, 3000)
	for i := range numbers {
		numbers[i] = i
	}
	increment := func(n int) {
		for i := 0; i < n; i += 2 {
			numbers[i]++
			w.want(fmt.Sprintf("INCR {b}%d", i), fmt.Sprintf("(int) %d", numbers[i]))
		}
	}
	r.g.sends = func(keys []byte) error {
		if frames++; frames == 1 { // all keys were looked at that this frame has, and others not yet
			w.want("DEL {b}gone", "(int) 1")
			w.want("SET {b}late v", "OK")
			w.want("RPUSH {b}list 3", "(int) 3")
			increment(changed)
		}
		if r.srv.fence.Of() == nil {
			increment(late)
		}
		return sends(keys)
	}
	r.begin(c)
	w.want("SET {c}late v", "OK")
	r.given <- nil
	got := r.state(c, "success")
	for _, want := range []string{`"slot_ranges" "3300"`, `"slots" (int) 1`, `"slots_moved" (int) 1`, `"operation" "EXPORT"`, `"target_node" "cccc`} {
		if !strings.Contains(got, want) {
			t.Errorf("GETSLOTMIGRATIONS: %s, without %s", got, want)
		}
	}
	if err := target.g.take(r.sent, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	target.g.own.Store(nil)
	d := target.dial()
	each(t, d, map[string]string{"LRANGE {b}list 0 -1": `["1" "two" "3"]`, "HGET {b}hash f": `"v"`, "SMEMBERS {b}set": `["1" "2"]`, "ZSCORE {b}zset x": `"1.5"`, "XLEN {b}stream": "(int) 1", "BF.EXISTS {b}bloom x": "(int) 1",
		"TYPE {b}sched": "schedule", "TYPE {b}place": "placement", "GET {b}empty": `"''"`, "STRLEN {b}large": "(int) 3000001", "PEXPIRETIME {b}expires": "(int) 30000000000000", "EXISTS {b}gone": "(int) 0", "GET {b}late": `"v"`,
		"HPEXPIRETIME {b}fields FIELDS 1 f": "[(int) 30000000000000]", "EXISTS {c}1 {c}late": "(int) 0"})
	for i, want := range numbers {
		d.want(fmt.Sprintf("GET {b}%d", i), fmt.Sprintf("%q", fmt.Sprint(want)))
	}
}

// Slots are not given away while a script runs, which may change their keys yet: what it has changed arrives.
func TestSlotsWaitForTheScriptThatRuns(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	c.want("SET b 1", "OK")
	if err := r.srv.scripts.enter(); err != nil {
		t.Fatal(err)
	}
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 3300 3300 NODE "+strings.Repeat("c", 40), "OK")
	r.until("the slots are frozen", func() bool { return r.srv.fence.Of() != nil })
	for range 300 {
		c.want("PING", "PONG")
		select {
		case <-r.giving:
			t.Fatal("they are given away")
		default:
		}
	}
	tx := r.srv.store.NewTx()
	var shard persistence.Shards
	shard.Add(tx.Expect([]byte("b")))
	tx.Lock(&shard, r.clock.Now().UnixMilli())
	tx.Select(0)
	tx.SetString([]byte("b"), []byte("late"), persistence.NoExpiry)
	tx.Commit()
	tx.Unlock()
	r.srv.scripts.leave()
	<-r.giving
	r.given <- nil
	r.state(c, "success")
	if !strings.Contains(string(r.sent), "late") {
		t.Errorf("what the script has changed does not arrive: %q", r.sent)
	}
}
