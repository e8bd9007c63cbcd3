package resharding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// takes returns a room without slots that has taken what another one has sent.
func takes(t *testing.T, from *room) *room {
	t.Helper()
	to := newRoom(t)
	to.have(new(slots.Set), slots.All())
	for _, frame := range from.frames {
		if err := to.Keys.Take(frame, func() bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// Keys of all databases move, each to the one in which it is, whatever changes meanwhile: the same key may be in several.
func TestKeysOfAllDatabasesMove(t *testing.T) {
	r := newRoom(t)
	for i := range 1500 {
		key := fmt.Sprint("{b}", i)
		r.set(key, "zero", 0)
		r.set(key, "two", 2)
		r.set(key, "four", 4)
		r.set(fmt.Sprint("{a}", i), "not moved", 2)
	}
	frames := 0
	r.sends = func([]byte) error {
		if frames++; frames == 1 {
			r.set("{b}1", "changed", 2)
			r.set("{b}0", "changed", 0)
			r.set("{b}new", "new", 1)
			r.tx([]string{"{b}2"}, func(tx *persistence.Tx) {
				tx.Select(4)
				tx.Delete([]byte("{b}2"))
			})
			r.tx([]string{"{b}3"}, func(tx *persistence.Tx) {
				tx.Select(2)
				tx.Transfers().Move([]byte("{b}3"), 3)
			})
		}
		return nil
	}
	r.order("3300")
	r.gives()
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
	to := takes(t, r)
	for i := range 1500 {
		want := []string{"zero", "", "two", "", "four"}
		switch i {
		case 0:
			want[0] = "changed"
		case 1:
			want[2] = "changed"
		case 2:
			want[4] = ""
		case 3:
			want[2], want[3] = "", "two"
		}
		for db := range want {
			if got := to.value(fmt.Sprint("{b}", i), db); got != want[db] {
				t.Errorf("{b}%d in database %d: got %q, want %q", i, db, got, want[db])
			}
		}
		if got := to.value(fmt.Sprint("{a}", i), 0, 1, 2, 3, 4); got != "" {
			t.Errorf("{a}%d has come: %q", i, got)
		}
	}
	if got := to.value("{b}new", 0, 1, 2, 3, 4); got != "new" || to.value("{b}new", 1) != "new" {
		t.Errorf("a new key of database 1: got %q", got)
	}
}

// Each frame says which database its keys are in, whatever the one before was about.
func TestEachFrameSaysItsDatabases(t *testing.T) {
	r := newRoom(t)
	r.set("b", "first", 4)
	r.sends = func([]byte) error {
		if r.value("b", 4) == "first" {
			r.set("b", "second", 4)
		}
		return nil
	}
	r.order("3300")
	r.gives()
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
	if to := takes(t, r); to.value("b", 4) != "second" || to.value("b", 0, 1, 2, 3) != "" || len(r.frames) != 2 {
		t.Errorf("of %d frames the key is %q, in others %q", len(r.frames), to.value("b", 4), to.value("b", 0, 1, 2, 3))
	}
}

// A frame that has keys of database 0 alone is what servers before several databases send and read.
func TestFramesOfTheFirstDatabaseAreAsBefore(t *testing.T) {
	r := newRoom(t)
	r.set("b", "v")
	r.order("3300")
	r.gives()
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
	if want := "\x01b\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00v"; string(r.sent) != want {
		t.Errorf("sent is %q, want %q", r.sent, want)
	}
}

// To a server that does not know it, the number of a database looks like the length of a key that is too long: it is refused.
func TestServersBeforeSeveralDatabasesRefuseOtherKeys(t *testing.T) {
	r := newRoom(t)
	r.set("b", "v", 3)
	r.order("3300")
	r.gives()
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
	if want := "\x83\x80\x80\x80\x10\x01b\x01"; !strings.HasPrefix(string(r.sent), want) {
		t.Errorf("sent is %q, want %q at first", r.sent, want)
	}
	if ofDatabase <= persistence.MaxKey {
		t.Errorf("a key may be %d bytes long", persistence.MaxKey)
	}
}

// A group with fewer databases does not get slots that have keys in others: the move fails at once, and says why. Slots
// without such keys go there.
func TestSlotsStayWhoseDatabasesTheOtherGroupLacks(t *testing.T) {
	r := newRoom(t)
	change(r, func() { r.theirs = 2 })
	r.set("b", "v", 0, 1, 2)
	r.set(keyOf(3301), "v", 0, 1)
	r.order("3300")
	r.until("the move has failed", func() bool { return strings.HasPrefix(r.progress(), "failed") })
	if m := r.Moves.List()[0]; m.Retries != 0 || !strings.Contains(m.Message, "slot 3300 has keys in database 2, and the server that is to get it has databases up to 1") {
		t.Errorf("got %+v", m)
	}
	if r.fence.Of() != nil || len(r.away) > 0 {
		t.Errorf("%v is fenced, and clients of %q were sent away", r.fence.Of(), r.away)
	}
	r.order("3301")
	r.gives()
	r.given <- nil
	r.until("the other slot has moved", func() bool { return strings.HasSuffix(r.progress(), "success of 3301 1/1") })

	// A key that comes to such a database while its slot is copied keeps it, too.
	change(r, func() {
		r.sends = func([]byte) error {
			r.set("{b}", "late", 3)
			return nil
		}
	})
	r.tx([]string{"b"}, func(tx *persistence.Tx) {
		tx.Select(2)
		tx.Delete([]byte("b"))
	})
	r.order("3300")
	r.until("the move has failed", func() bool { return strings.HasPrefix(r.Moves.List()[2].Message, "slot 3300 has keys in database 3") })
}

// keyOf returns a key of a slot.
func keyOf(slot int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); commands.KeySlot([]byte(key)) == slot {
			return key
		}
	}
}

// The group that gets keys refuses those of databases that it does not have, whatever it said before: another member may lead it
// by now.
func TestKeysOfDatabasesThatAreNotHereAreRefused(t *testing.T) {
	r := newRoom(t)
	r.set("b", "v", 1, 3)
	r.order("3300")
	r.gives()
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
	to := newRoom(t)
	to.have(new(slots.Set), slots.All())
	to.own = 3
	var few TooFewError
	if err := to.Keys.Take(r.sent, func() bool { return true }); !errors.As(err, &few) || few != (TooFewError{3300, 3, 3}) {
		t.Errorf("got %v", err)
	}
	if got := to.value("b", 0, 2, 3, 4); got != "" {
		t.Errorf("the key is there: %q", got)
	}
}

// A scan is of one database, or of all.
func TestScanVisitsDatabases(t *testing.T) {
	r := newRoom(t)
	for i := range 700 {
		r.set(fmt.Sprint("{b}", i), "v", 1)
		r.set(fmt.Sprint("{b}", i), "v", 4)
		r.set(fmt.Sprint("{a}", i), "v", 4)
	}
	for db, want := range map[int]int{0: 0, 1: 700, 3: 0, 4: 700, cluster.EveryDB: 1400} {
		n := 0
		if _, err := r.Keys.Scan(t.Context(), db, slotstest.Set(t, "3300"), func([]byte) bool { n++; return true }); err != nil || n != want {
			t.Errorf("database %d: %d keys, %v, want %d", db, n, err, want)
		}
	}
	n := 0
	if _, err := r.Keys.Scan(t.Context(), cluster.EveryDB, slotstest.Set(t, "3300"), func([]byte) bool { n++; return n < 800 }); err != nil || n != 800 {
		t.Errorf("%d keys, %v, want the first 800", n, err)
	}
}

// A step of a walk looks at a bounded number of keys, in all databases together, and the steps at each key once.
func TestStepsOfAWalkAreBounded(t *testing.T) {
	const shard = 7
	r := newRoom(t)
	keys := 0
	r.tx(nil, func(tx *persistence.Tx) {
		for i := 0; keys < 3*databases*scannedAtOnce/2; i++ {
			if key := fmt.Appendf(nil, "k%d", i); r.store.Hash(key)>>56 == shard {
				tx.Select(keys % databases)
				tx.SetString(key, nil, persistence.NoExpiry)
				keys++
			}
		}
	})
	tx := r.store.NewTx()
	for db, want := range map[int]int{3: keys / databases, cluster.EveryDB: keys} {
		var seen []string
		steps := 0
		for w := r.Keys.Walk(shard, db); !w.Over(); steps++ {
			tx.Lock(w.Shards(), r.clock.Now().UnixMilli())
			before := len(seen)
			w.Step(tx, func(key DBKey) { seen = append(seen, fmt.Sprint(key.DB, string(key.Name))) })
			tx.Unlock()
			if n := len(seen) - before; n > scannedAtOnce {
				t.Errorf("a step looks at %d keys", n)
			}
		}
		slices.Sort(seen)
		if len(seen) != want || len(slices.Compact(seen)) != want || steps > want/scannedAtOnce+1 {
			t.Errorf("database %d: %d steps, %d keys, want %d once each", db, steps, len(seen), want)
		}
	}
}
