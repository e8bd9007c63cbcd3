package grouplog

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/log"
)

// wantHex compares bytes with what they should be, but for a checksum, which other tests damage.
func wantHex(t *testing.T, what string, b []byte, want string) {
	t.Helper()
	got := []byte(fmt.Sprintf("%x", b))
	if at := bytes.Index([]byte(want), []byte("SSSSSSSS")); at >= 0 && len(got) >= at+8 {
		copy(got[at:at+8], "SSSSSSSS")
	}
	if string(got) != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

// The bytes of entries, states and records are what docs/format.md says.
func TestFormatIsFrozen(t *testing.T) {
	d, l := filled(t)
	if err := errors.Join(l.SetBoot(Boot{ID: [16]byte{1, 2}, Closed: true}), l.Cut(2),
		l.SetMembership(Membership{Index: 9, Members: []byte("abc")}),
		l.Append([]Entry{{Index: 11, Term: 6, Type: 3, Data: []byte("xyz")}}, &HardState{Term: 6, Vote: 1, Commit: 7}, true)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"r\x00\x03m": "SSSSSSSS0900000000000000616263",
		"r\x00\x03b": "SSSSSSSS0102000000000000000000000000000001",
		"r\x00\x03c": "SSSSSSSS020000000000000001000000000000000400000000000000010000000000000001",
	} {
		v, closer, err := d.db.Get([]byte(key))
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		wantHex(t, key, v, want)
		closer.Close()
	}
	var frames []log.Frame
	if err := l.log.Read(log.Position{}, func(f log.Frame) error {
		f.Payload = bytes.Clone(f.Payload)
		frames = append(frames, f)
		return nil
	}); err != nil || len(frames) != 13 {
		t.Fatalf("%d frames: %v", len(frames), err)
	}
	wantHex(t, "entry", frames[11].Payload, "0b000000000000000600000000000000031500000000000000SSSSSSSS010078797a")
	wantHex(t, "state", frames[12].Payload, "060000000000000001000000000000000700000000000000")
	wantHex(t, "head", l.log.Segments()[0].Head, "000000000000000000000000000000000000000000000000")
	if frames[10].Kind != kindState || frames[11].Kind != kindEntry || frames[12].Kind != kindState {
		t.Errorf("kinds %d, %d, %d", frames[10].Kind, frames[11].Kind, frames[12].Kind)
	}
	for key, want := range map[string]string{
		"j\x00\x03\x00\x00\x00\x00\x00\x00\x00\x0b": "0600000000000000031500000000000000SSSSSSSS010078797a",
		"r\x00\x03s": "SSSSSSSS060000000000000001000000000000000700000000000000",
	} {
		m := &modelLog{cut: 10, begin: place{term: 5, last: 20}, entries: []Entry{{Index: 11, Term: 6, Type: 3, Data: []byte("xyz")}}, lasts: []uint64{20},
			state: l.State()}
		b := takeoverBatch(t, d, l, m)
		if err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
		v, closer, err := d.db.Get([]byte(key))
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		wantHex(t, key, v, want)
		closer.Close()
	}
}
