package wal

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

func FuzzMark(f *testing.F) {
	m := Claims{generation: 3, Made: true, Files: []Synced{{File{markLog, 7}, 100}, {File{markManifest, 1}, 5}}}
	f.Add(m.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMarked(b)
		if err != nil {
			return
		}
		again, err := decodeMarked(m.Append(nil))
		if err != nil || again.generation != m.generation || again.Made != m.Made || len(again.Files) != len(m.Files) {
			t.Errorf("%x: %v became %v, %v", b, m, again, err)
		}
	})
}

func FuzzOldestLog(f *testing.F) {
	f.Add([]byte{1, 3, 'a', 'b', 'c', 2, 9})
	f.Add([]byte{2, 200, 1})
	f.Fuzz(func(_ *testing.T, b []byte) { oldestLog(b) })
}

func TestMarkHasRoomForManyFiles(t *testing.T) {
	var m Claims
	for i := range 2 * markFiles {
		m.Files = append(m.Files, Synced{File{markLog, uint64(i)}, 1})
	}
	b := m.Append(nil)
	got, err := decodeMarked(b)
	if err != nil || len(b) > markSlot || len(got.Files) != markFiles || got.Files[markFiles-1].num != 2*markFiles-1 {
		t.Errorf("%d files in %d bytes: %v", len(got.Files), len(b), err)
	}
}

// TestTornMarkStillTells cuts writes of the mark short at every byte: what is
// read then is what was promised before or after.
func TestTornMarkStillTells(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := openMark(fs, "db", Claims{Made: true}, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	log := File{markLog, 7}
	m.begin(log)
	for n := int64(1); n < 20; n++ {
		before := disktest.ReadFile(t, fs, "db/"+MarkName)
		m.grow(log, n)
		after := disktest.ReadFile(t, fs, "db/"+MarkName)
		for cut := range len(after) {
			if cut < len(before) && before[cut] == after[cut] {
				continue
			}
			torn := append(append([]byte(nil), after[:cut]...), before[min(cut, len(before)):]...)
			if err := fs.MkdirAll("torn", 0o700); err != nil {
				t.Fatal(err)
			}
			disktest.WriteFile(t, fs, "torn/"+MarkName, torn)
			got, _, err := ReadMark(fs, "torn")
			if err != nil || got.Synced(log) != n-1 && got.Synced(log) != n {
				t.Fatalf("write %d cut at byte %d: %d bytes of the log are promised, %v", n, cut, got.Synced(log), err)
			}
		}
	}
}
