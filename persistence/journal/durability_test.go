package journal

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func newDurability() *Durability {
	d := new(Durability)
	d.Init()
	return d
}

func TestWaitingEndsWithTheAwaitedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDurability()
		woken, position, number := 0, make(chan error, 1), make(chan error, 1)
		go func() { position <- d.WaitSynced(5, func() { woken++ }) }()
		synctest.Wait()
		go func() { number <- d.WaitRecord(7, func() { woken++ }) }()
		synctest.Wait()
		if !d.Due() || woken != 2 {
			t.Errorf("due %v, woken %d times", d.Due(), woken)
		}
		d.Advance(6)
		synctest.Wait()
		if len(position) != 1 || len(number) != 0 || d.Synced() != 6 || !d.Due() {
			t.Errorf("with 6 on the device: %d and %d ended, synced %d", len(position), len(number), d.Synced())
		}
		d.Advance(7)
		d.Advance(2) // it does not go back
		synctest.Wait()
		if len(number) != 1 || d.Synced() != 7 || d.Due() {
			t.Errorf("with 7: %d ended, synced %d, due %v", len(number), d.Synced(), d.Due())
		}
		if err := errors.Join(<-position, <-number, d.WaitSynced(6, nil), d.WaitRecord(7, nil)); err != nil {
			t.Error(err)
		}
		if d.Request(9); !d.Due() {
			t.Error("what was asked for is not due")
		}
	})
}

func TestWaitingEndsWithAFailureOrTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, closed := errors.New("broken"), errors.New("closed")
		d := newDurability()
		got := make(chan error, 1)
		wait := func() { got <- d.WaitSynced(1, func() {}) }
		go wait()
		synctest.Wait()
		d.Fail(broken)
		if err := <-got; err != broken || d.Err() != broken {
			t.Errorf("got %v and %v", err, d.Err())
		}
		if d.Recover(); d.Err() != nil {
			t.Errorf("after a success: %v", d.Err())
		}
		go wait()
		synctest.Wait()
		d.Close(closed)
		if err := <-got; err != closed {
			t.Errorf("got %v at the end", err)
		}
	})
}

func TestNotificationIsAWaitThatEndsByACall(t *testing.T) {
	broken, closed := errors.New("broken"), errors.New("closed")
	for name, c := range map[string]struct {
		happens func(*Durability)
		want    []error // of the positions 5, 6 and 9; errStill for one that is waited for
	}{
		"nothing":        {func(*Durability) {}, []error{errStill, errStill, errStill}},
		"some are there": {func(d *Durability) { d.Advance(6) }, []error{nil, nil, errStill}},
		"a failure":      {func(d *Durability) { d.Advance(5); d.Fail(broken) }, []error{nil, broken, broken}},
		"the end":        {func(d *Durability) { d.Close(closed) }, []error{closed, closed, closed}},
		"given up":       {func(d *Durability) { d.Advance(5); d.Abandon(); d.Advance(9) }, []error{nil, ErrAbandoned, ErrAbandoned}},
		"a restart":      {func(d *Durability) { d.Restart() }, []error{ErrAbandoned, ErrAbandoned, ErrAbandoned}},
	} {
		d := new(Durability)
		d.Branch()
		d.Resume(4)
		woken, got := 0, []error{errStill, errStill, errStill}
		for i, number := range []uint64{5, 6, 9} {
			d.NotifySynced(d.Time()|number, func() { woken++ }, func(err error) {
				if got[i] != errStill {
					t.Errorf("%s: %d is told twice", name, number)
				}
				got[i] = err
				d.Confirmed(number) // d is not locked
			})
		}
		if !d.Due() || woken != 3 {
			t.Errorf("%s: due %v, woken %d times", name, d.Due(), woken)
		}
		if c.happens(d); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		d.Close(closed) // whatever is left is told, and nothing twice
		if slices.Contains(got, errStill) {
			t.Errorf("%s: %v after the end", name, got)
		}
		before := len(got)
		d.NotifySynced(0, func() { t.Errorf("%s: woken for nothing", name) }, func(err error) { got = append(got, err) })
		if len(got) != before+1 || got[before] != nil {
			t.Errorf("%s: what is there already was not told at once: %v", name, got[before:])
		}
	}
}

// errStill stands for no call.
var errStill = errors.New("still waited for")

func TestLogForgetsWhatIsCut(t *testing.T) {
	var l Log
	l.Add(3, 10, 1)
	l.Add(5, 20, 1)
	l.Add(9, 40, 2)
	if a, b, c := l.File(5), l.File(9), l.File(8); a != 1 || b != 2 || c != 0 {
		t.Errorf("files %d and %d, want 1 and 2, and %d of a record amid a chunk", a, b, c)
	}
	l.Cut(5)
	if l.Bytes() != 40 {
		t.Errorf("%d bytes, want 40", l.Bytes())
	}
	l.Cut(8) // within a chunk
	if l.Bytes() != 40 {
		t.Errorf("%d bytes after a cut within a chunk, want 40", l.Bytes())
	}
}

// A record that was given up is never confirmed, although its number is used again, and
// neither is anything together with it.
func TestPositionsOfAbandonedRecordsAreNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(Durability)
		d.Branch()
		d.Resume(4)
		given, waiting := d.Time()|6, make(chan error, 1)
		go func() { waiting <- d.WaitSynced(given, func() {}) }()
		synctest.Wait()
		d.Advance(5)
		synctest.Wait()
		if len(waiting) != 0 || !d.Confirmed(d.Time()|5) || !d.Confirmed(0) || d.Confirmed(given) {
			t.Errorf("with 5 of 6: %d ended, 5 is confirmed: %v, nothing: %v, 6: %v",
				len(waiting), d.Confirmed(d.Time()|5), d.Confirmed(0), d.Confirmed(given))
		}
		d.Abandon()
		d.Advance(7) // before the one that waits has seen it
		synctest.Wait()
		if len(waiting) != 1 {
			t.Fatal("still waiting")
		}
		if err := <-waiting; !errors.Is(err, ErrAbandoned) {
			t.Errorf("the one that waited: %v", err)
		}
		if err := d.WaitSynced(given, nil); !errors.Is(err, ErrAbandoned) {
			t.Errorf("one that comes later: %v", err)
		}
		later := d.Time() | 7
		if d.Confirmed(given) || !d.Confirmed(later) || d.Confirmed(max(given, later)) {
			t.Errorf("6 is confirmed: %v, the new 7: %v, both: %v", d.Confirmed(given), d.Confirmed(later), d.Confirmed(max(given, later)))
		}
		for range 65534 {
			if d.Abandon(); d.Time() == given&^numberMask {
				return // the first again
			}
		}
		t.Error("the times do not begin again")
	})
}
