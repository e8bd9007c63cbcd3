package main

import (
	"bufio"
	"reflect"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// A value that is older than the last acknowledged write is a lost write, and one that nobody has sent is damage. A write
// that ended with an error may be there, and then stays.
func TestLostWriteIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name        string
		known, sent int64
		value       any
		want        bool
	}{
		{"as it was written", 7, 7, "7   ", true},
		{"the write before", 7, 7, "6   ", false},
		{"gone", 7, 7, nil, false},
		{"never written", 0, 0, nil, true},
		{"an error, and it was written", 7, 8, "8", true},
		{"an error, and it was not written", 7, 8, "7", true},
		{"of the future", 7, 8, "9", false},
		{"another value", 7, 7, "x", false},
	} {
		w := written{known: c.known, sent: c.sent}
		if got := w.check(c.value); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	w := written{known: 7, sent: 8}
	if !w.check("8") || w.check("7") {
		t.Error("a write that was seen may be gone later")
	}
}

// The fewest slots move if each of the old groups keeps its share, and the larger shares are theirs.
func TestLeastMovedSlots(t *testing.T) {
	for _, c := range []struct{ old, groups, want int }{{3, 6, 8191}, {1, 2, 8192}, {3, 3, 0}, {4, 5, 3276}} {
		var was [commands.Slots]int
		for slot := range was {
			was[slot] = 1 + slot*c.old/commands.Slots
		}
		if got := leastMoved(&was, c.groups); got != c.want {
			t.Errorf("%d groups become %d: got %d, want %d", c.old, c.groups, got, c.want)
		}
	}
}

// A slot with two masters, and one with none, are errors.
func TestOwnersAreOneForEachSlot(t *testing.T) {
	read := func(reply string) error {
		c := &conn{r: bufio.NewReader(strings.NewReader(strings.ReplaceAll(reply, " ", "\r\n")))}
		v, err := c.readValue()
		if err != nil {
			t.Fatal(err)
		}
		_, err = ownersIn(v)
		return err
	}
	of := func(first, last string) string { return "*3 :" + first + " :" + last + " *3 $9 127.0.0.1 :7001 *0 " }
	for reply, want := range map[string]bool{
		"*1 " + of("0", "16383"):                    true,
		"*2 " + of("0", "99") + of("100", "16383"):  true,
		"*2 " + of("0", "100") + of("100", "16383"): false,
		"*2 " + of("0", "99") + of("101", "16383"):  false,
		"*0 ": false,
	} {
		if err := read(reply); (err == nil) != want {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

func TestReplyIsRead(t *testing.T) {
	c := &conn{r: bufio.NewReader(strings.NewReader("*5\r\n+OK\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*0\r\n-MOVED 7 127.0.0.1:7001\r\n"))}
	v, err := c.readValue()
	if want := []any{"OK", int64(-7), "a\r\n", nil, []any{}}; err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("got %#v, %v", v, err)
	}
	if _, err := c.readValue(); err != errorReply("MOVED 7 127.0.0.1:7001") {
		t.Errorf("got %v", err)
	}
}
