package chunklog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/structures/testscale"
)

// frameHead is the length of the head of a frame: see package log.
const frameHead = 17

// filled is a log of several segments that is closed, one of them with a big chunk, which is chunk 9, and where its
// chunks are.
func filled(t *testing.T) (w *world, at []log.Frame) {
	t.Helper()
	w = newWorld(t, 1)
	for i := range 20 {
		w.append([]int{2000, 30000}[i%9/8])
	}
	w.sync()
	if err := w.log.Log.Read(log.Position{}, func(f log.Frame) error {
		f.Payload, f.Body = nil, nil
		at = append(at, f)
		return nil
	}); err != nil || len(at) != 20 {
		t.Fatalf("%d chunks: %v", len(at), err)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	return w, at
}

func fileOf(f log.Frame) string { return fmt.Sprintf("db/log/%010d", f.Position.Segment) }

// spoiled changes one byte of a file for as long as f runs.
func (w *world) spoiled(name string, offset int64, f func()) {
	w.t.Helper()
	sound := disktest.ReadFile(w.t, w.disk, name)
	bad := bytes.Clone(sound)
	bad[offset] ^= 0x10
	disktest.WriteFile(w.t, w.disk, name, bad)
	f()
	disktest.WriteFile(w.t, w.disk, name, sound)
}

// verify opens a log for reading and reads all of it.
func verify(cfg storelog.Config) error {
	l, err := View(cfg)
	if err != nil {
		return err
	}
	return l.Verify()
}

// The first damaged chunk is named, whichever it is, wherever it is damaged, and however long it is.
func TestVerifyNamesTheDamagedChunk(t *testing.T) {
	w, at := filled(t)
	if err := verify(w.config()); err != nil {
		t.Fatal(err)
	}
	for i, f := range at {
		end := f.Position.Offset + frameHead + f.Len
		for _, offset := range testscale.Some([]int64{f.Position.Offset, f.Position.Offset + frameHead, (f.Position.Offset + end) / 2, end - 1}) {
			w.spoiled(fileOf(f), offset, func() {
				d := log.AsDamage(verify(w.config()))
				if d == nil || d.Offset != f.Position.Offset || "db/log/"+d.File != fileOf(f) {
					t.Errorf("chunk %d at %v is damaged at %d: %v", i+1, f.Position, offset, d)
				}
			})
		}
	}
}

// What Remains has, Behind finds and the damaged chunk are all there was, and Cut says what is to be noted of the rest.
func TestCutKeepsTheChunksBeforeTheDamage(t *testing.T) {
	for i := range 20 {
		w, at := filled(t)
		f := at[i]
		w.spoiled(fileOf(f), f.Position.Offset+frameHead+format.EntryHeader+1, func() {
			cfg := w.config()
			d := log.AsDamage(verify(cfg))
			left, err := Remains(cfg, d)
			if err != nil {
				t.Fatal(err)
			}
			if last := w.check(left, 1); last != i {
				t.Errorf("damage in chunk %d: %d remain", i+1, last)
			}
			if end, err := left.Last(); err != nil || int(end.Index) != i || int(end.LSN) != i {
				t.Errorf("damage in chunk %d: what remains ends with %+v: %v", i+1, end, err)
			}
			checkBehind(t, w, d, i+1)
			segment, length, err := storelog.Cut(cfg, d)
			if err != nil || segment != f.Position.Segment || length != f.Position.Offset {
				t.Fatalf("cut at %v: %d bytes of %d are on the device: %v", f.Position, length, segment, err)
			}
			clear(w.noted)
			w.noted[segment] = length
			w.open()
			w.records, w.files = w.records[:i], w.files[:i]
			w.append(10)
			w.sync()
			if last := w.check(w.log, 1); last != i+1 {
				t.Errorf("cut at chunk %d, which was written again: the log ends with %d", i+1, last)
			}
			if err := w.log.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// checkBehind checks that all chunks behind one are found, but big ones, with what they hold.
func checkBehind(t *testing.T, w *world, d *log.Damage, damaged int) {
	t.Helper()
	var want, got []int
	for n := damaged + 1; n <= len(w.records); n++ {
		if len(w.records[n-1]) < 10000 {
			want = append(want, n)
		}
	}
	if _, err := Behind(w.config(), d, func(c format.Chunk) {
		got = append(got, int(c.Index))
		if records, err := c.Open(); err != nil || int(c.First) != int(c.Index) || !bytes.Equal(records, w.records[c.Index-1]) {
			t.Errorf("chunk %d with record %d is another one: %v", c.Index, c.First, err)
		}
	}); err != nil || !slices.Equal(got, want) {
		t.Errorf("behind chunk %d are %v, want %v: %v", damaged, got, want, err)
	}
}

// A log whose first segment has lost its head is cut to nothing, and nothing is noted.
func TestCutInAHeadNotesNothing(t *testing.T) {
	w, at := filled(t)
	w.spoiled(fileOf(at[0]), 3, func() {
		d := log.AsDamage(verify(w.config()))
		if segment, length, err := storelog.Cut(w.config(), d); err != nil || segment != 0 || length != 0 {
			t.Errorf("%d bytes of segment %d are noted: %v", length, segment, err)
		}
	})
}

// Frames behind a damage that are no chunks are passed over.
func TestOtherFramesBehindADamageAreNoChunks(t *testing.T) {
	w := newWorld(t, 1)
	w.append(10)
	for _, kind := range []byte{chunk, chunk + 1} {
		if _, err := w.log.Log.Append(kind, []byte("short")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.log.Log.Append(chunk+1, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	w.append(10)
	w.sync()
	d := &log.Damage{File: "0000000001", Offset: log.HeadBytes}
	var got []uint64
	if _, err := Behind(w.config(), d, func(c format.Chunk) { got = append(got, c.Index) }); err != nil || !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("chunks %v are found, want 1 and 2: %v", got, err)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
}
