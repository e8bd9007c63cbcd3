package resharding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// A frame that does not decode, is not expected, or has keys of the group's own slots is refused.
func TestFramesAreCheckedBeforeTheyAreTaken(t *testing.T) {
	r := newRoom(t)
	r.set("b", "mine")
	yes := func() bool { return true }
	theirs := []byte("\x01a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00ok")
	mine := []byte("\x01b\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00no")
	for n := 1; n < len(theirs); n++ {
		if err := r.Keys.Take(theirs[:n], yes); !errors.Is(err, ErrFrame) {
			t.Errorf("%d of %d bytes: %v", n, len(theirs), err)
		}
	}
	for what, bad := range map[string][]byte{
		"an own key": mine, "an own one that goes": []byte("\x01b\x00"), "another kind": append([]byte("\x01a\x63"), theirs[3:]...),
		"no list": append([]byte("\x01a\x02"), theirs[3:]...), "a long key": []byte("\xff\xff\xff\x0f"),
		"a key of more than 1 MB":     append(append([]byte("\x81\x80\x40"), strings.Repeat("k", 1<<20+1)...), 0),
		"an expiry before 1970":       []byte("\x01a\x01\x00\x00\x00\x00\x00\x00\x00\x80\x02\x00\x00\x00ok"),
		"a length that does not end":  []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"a value longer than a frame": []byte("\x01a\x01\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xffok"),
		"a database without a key":    append(slices.Clone(theirs), "\x83\x80\x80\x80\x10"...),
		"a database that is not here": append([]byte("\x85\x80\x80\x80\x10"), theirs...),
		"a very large database":       append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), theirs...),
		"an own key of a database":    append([]byte("\x83\x80\x80\x80\x10"), mine...),
	} {
		if err := r.Keys.Take(bad, yes); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if err := r.Keys.Take(theirs, func() bool { return false }); !errors.Is(err, persistence.ErrNotLeader) {
		t.Errorf("what is not expected: %v", err)
	}
	r.full = true
	if err := r.Keys.Take(theirs, yes); err != error(commands.ErrOOM) {
		t.Errorf("without memory: %v", err)
	}
	r.full = false
	if got := r.value("b") + r.value("b", 3); got != "mine" {
		t.Errorf("the keys have %q", got)
	}
	r.tx(nil, func(tx *persistence.Tx) { tx.Delete([]byte("a")) })
	for _, good := range [][]byte{append(theirs, "\x01a\x00\x02{a\x00"...), theirs, nil} {
		if err := r.Keys.Take(good, yes); err != nil {
			t.Error(err)
		}
	}
	if got := r.value("a"); got != "ok" {
		t.Errorf("the key has %q", got)
	}
}

// Scan visits the keys of the slots, until it is told to stop.
func TestScanVisitsTheKeysOfSlots(t *testing.T) {
	r := newRoom(t)
	for i := range 2000 {
		r.set(fmt.Sprint("{b}", i), "v")
		r.set(fmt.Sprint("{a}", i), "v")
	}
	count := func(of *slots.Set, most int) (n int) {
		await, err := r.Keys.Scan(t.Context(), 0, of, func([]byte) bool { n++; return n < most })
		if err == nil {
			err = await()
		}
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if n := count(slotstest.Set(t, "3300"), 1<<30); n != 2000 {
		t.Errorf("%d keys of one slot", n)
	}
	if n := count(slots.All(), 3000); n != 3000 {
		t.Errorf("%d keys, want the first 3000", n)
	}
	if n := count(new(slots.Set), 1); n != 0 {
		t.Errorf("%d keys of no slot", n)
	}
	failed := errors.New("failed")
	if err := r.Keys.each(t.Context(), slots.All(), func([]DBKey) error { return failed }); err != failed {
		t.Errorf("got %v", err)
	}
}
