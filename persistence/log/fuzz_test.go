package log

import (
	"bytes"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// FuzzSegments opens arbitrary bytes as the segments of a log. What can be opened can be written, and what could be
// read before is there afterwards.
func FuzzSegments(f *testing.F) {
	cfg := small(vfs.NewMem())
	l, err := Open(cfg)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 6 {
		put(f, l, text(i, i*900))
	}
	put(f, l, text(6, 20<<10))
	l.Close()
	file := func(n uint64) []byte { return disktest.ReadFile(f, cfg.FS, "log/"+segmentName(n)) }
	f.Add(file(1), []byte{}, uint16(0))
	f.Add(file(1), file(2), uint16(0))
	f.Add(file(1)[:5000], []byte{}, uint16(4500))
	f.Add(file(1)[:HeadBytes], file(1), uint16(4500))
	h := head{store: testStore, number: 1, big: true}
	f.Add(append(h.encode(), file(1)[HeadBytes:]...), []byte{}, uint16(0))
	f.Add(append(h.encode(), longHead(1)...), []byte{}, uint16(0))
	f.Add([]byte{}, []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, first, second []byte, synced uint16) {
		cfg := small(vfs.NewMem())
		cfg.FS.MkdirAll("log", 0o700)
		disktest.WriteFile(t, cfg.FS, "log/"+segmentName(1), first)
		if len(second) > 0 {
			disktest.WriteFile(t, cfg.FS, "log/"+segmentName(2), second)
		}
		cfg.Synced = map[uint64]int64{1: int64(synced)}
		l, err := Open(cfg)
		if err != nil {
			return
		}
		before, err := contents(l, Position{})
		if err != nil {
			if AsDamage(err) == nil {
				t.Fatal(err)
			}
			return
		}
		put(t, l, []byte("more"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = Open(cfg); err != nil {
			t.Fatal(err)
		}
		after, err := contents(l, Position{})
		if err != nil || !slices.EqualFunc(after, append(before, []byte("more")), bytes.Equal) {
			t.Fatalf("%d frames became %d: %v", len(before), len(after), err)
		}
		l.Close()
	})
}

// FuzzFrames opens a segment of heads of frames that say anything, and have their checksums.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 16, 0, 0, 1, 3, 0, 0, 0, 0, 20, 16, 0, 0, 1, 0}, false)
	f.Add([]byte{255, 255, 255, 255, 0, 16, 0, 0, 1, 3}, true)
	f.Add([]byte{0, 0, 0, 127, 0, 16, 0, 0, 1, 3, 0, 0, 0, 0, 255, 255, 255, 255, 1, 0}, false)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		h := head{store: testStore, number: 1, big: big}
		file := h.encode()
		for ; len(b) >= 10 && len(file) < 16<<10; b = b[10:] {
			h := rawHeader(append(slices.Clone(b[:9]), 0, 0, 0, 0))
			n := len(file)
			file = append(file, make([]byte, frameHead+int(b[9]))...) // which may be fewer bytes than it says
			h.sum = crc32.Checksum(file[n+frameHead:], castagnoli)
			h.put(file[n:], seedOf(testStore, 1))
		}
		cfg := small(vfs.NewMem())
		cfg.FS.MkdirAll("log", 0o700)
		disktest.WriteFile(t, cfg.FS, "log/"+segmentName(1), file)
		l, err := Open(cfg)
		if AsDamage(err) != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		before, err := contents(l, Position{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, l, []byte("more"))
		l.Close()
		after, err := contents(mustOpen(t, cfg), Position{})
		if err != nil || !slices.EqualFunc(after, append(before, []byte("more")), bytes.Equal) {
			t.Fatalf("%d frames became %d: %v", len(before), len(after), err)
		}
	})
}

// longHead is the head of a frame in segment 1 that says it is as long as one can be.
func longHead(kind byte) []byte {
	b := make([]byte, frameHead)
	header{length: MaxPayload, synced: HeadBytes, kind: kind}.put(b, seedOf(testStore, 1))
	return b
}

// TestLengthsInFilesAreNotTrusted opens a segment with a frame that says that it has 4 GiB.
func TestLengthsInFilesAreNotTrusted(t *testing.T) {
	for _, big := range []bool{false, true} {
		cfg := small(vfs.NewMem())
		cfg.FS.MkdirAll("log", 0o700)
		h := head{store: testStore, number: 1, big: big}
		disktest.WriteFile(t, cfg.FS, "log/"+segmentName(1), append(h.encode(), longHead(1)...))
		allocated := testing.AllocsPerRun(1, func() {
			l, err := View(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := contents(l, Position{}); err != nil || len(got) != 0 {
				t.Errorf("%d frames, %v", len(got), err)
			}
		})
		if allocated > 1000 {
			t.Errorf("%v allocations", allocated)
		}
	}
}

func FuzzHead(f *testing.F) {
	h := head{store: testStore, number: 12, before: 5000, own: []byte("own")}
	f.Add(h.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHead(b)
		if err == nil && !bytes.Equal(h.encode(), b[:HeadBytes]) {
			t.Errorf("a head became another one: %+v", h)
		}
	})
}
