package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Memory that is given back has its bytes when it is touched again, and leaves the process.
func TestMappedMemoryIsGivenBack(t *testing.T) {
	const big, bytes = 64, 64 << 10
	m, err := Map(filepath.Join(t.TempDir(), "tail"), Size(big, bytes))
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(m, big, bytes, us)
	if err != nil {
		t.Fatal(err)
	}
	full := make([]byte, bytes)
	for i := range full {
		full[i] = byte(i)
	}
	var rooms []*Room
	for i := range big {
		room := x.Begin(uint64(i+1), 1, bytes)
		if !room.Append(0, full) {
			t.Fatal("no room")
		}
		rooms = append(rooms, room)
	}
	for _, r := range rooms[1:] {
		r.Free()
	}
	before := resident(t)
	if x.Rest(); before-resident(t) < (big-2)*bytes/2 {
		t.Errorf("%d bytes were resident, %d are, of %d that were given back", before, resident(t), (big-1)*bytes)
	}
	if got := read(t, m, us); len(got) != 1 || string(got[0].Records) != string(full) {
		t.Error("the chunk in use is gone")
	}
	if at := dataAt(big) + 7*bytes; string(m.Bytes()[at:at+bytes]) != string(full) {
		t.Error("the bytes of a page that was given back are gone")
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// resident is how many bytes of files the process has in memory.
func resident(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, all, shared int
	if _, err := fmt.Sscan(string(b), &size, &all, &shared); err != nil {
		t.Fatal(err)
	}
	return shared * os.Getpagesize()
}
