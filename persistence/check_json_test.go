package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures/json"
)

// documentStore has a JSON document whose array, object and string lie in pages, and in them others.
func documentStore(t *testing.T) *disktest.Disk {
	t.Helper()
	fs := disktest.New()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	text := `{"list":[` + strings.Join(goldenList(900, func(i int) string { return fmt.Sprintf(`{"n":%d,"s":"%0*d"}`, i, i%60, 7) }), ",") +
		`,[` + strings.Repeat("1000,", 5000) + `1]],"names":{` + strings.Join(goldenList(900, func(i int) string { return fmt.Sprintf(`"name-%d":[%d]`, i, i) }), ",") +
		`},"text":"` + strings.Repeat("x", 20_000) + `"}`
	value, err := json.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) {
		d, ch, _, err := Edit(tx, []byte("document"), func() *json.Document { return json.New(tx.HashKeys()) })
		if err != nil {
			t.Fatal(err)
		}
		d.SetRoot(ch, value)
	})
	materialise(t, s)
	closeStore(t, s)
	return fs
}

// quietLog is a logger that discards what Pebble says.
func quietLog(behind *fence.FS) pebble.Logger {
	return files.PebbleLog{Operator: operatorLog{&Store{opts: Options{}.withDefaults()}}, Behind: behind}
}

// openPebble opens the Pebble of a store that is closed.
func openPebble(t *testing.T, fs *disktest.Disk) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: quietLog(fence.New(fs, "db"))})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// records are copies of all keys with a prefix, and of what they have.
func records(t *testing.T, db *pebble.DB, prefix byte) (keys, values [][]byte) {
	t.Helper()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, prefix), UpperBound: format.AppendGroupEnd(nil, prefix)})
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(it.Value()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return keys, values
}

// TestCheckFindsDamagedPagesOfDocuments changes the pages of a large document through Pebble: the files
// are sound, and each page is one that could be sound.
func TestCheckFindsDamagedPagesOfDocuments(t *testing.T) {
	fs := documentStore(t)
	if r := checkStore(t, fs, "db"); !r.Sound() || r.Pages < 10 {
		t.Fatalf("before: %d pages, damage %q", r.Pages, r.Damage)
	}
	db := openPebble(t, fs)
	keys, pages := records(t, db, format.PrefixPage)
	for i, page := range pages {
		for what, bad := range map[string][]byte{
			"missing":          nil,
			"that of another":  pages[(i+1)%len(pages)],
			"cut":              page[:len(page)-1],
			"longer":           append(bytes.Clone(page), 0),
			"without members":  {},
			"with another tag": append([]byte{0xff}, page[1:]...),
		} {
			if bytes.Equal(bad, page) || what == "with another tag" && page[0] == 'x' {
				continue
			}
			set := func(value []byte) {
				err := db.Set(keys[i], value, pebble.Sync)
				if value == nil {
					err = db.Delete(keys[i], pebble.Sync)
				}
				if err = errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
			}
			set(bad)
			if damage := strings.Join(checkStore(t, fs, "db").Damage, "\n"); !strings.Contains(damage, `"document"`) {
				t.Errorf("page %d of %d is %s: the check finds %q", i, len(pages), what, damage)
			}
			db = openPebble(t, fs)
			set(page)
			db = openPebble(t, fs)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := checkStore(t, fs, "db"); !r.Sound() {
		t.Errorf("after: damage %q", r.Damage)
	}
}

// TestCheckReadsHeadsOfDocumentsWhateverIsInThem changes each byte of the head of a large document.
func TestCheckReadsHeadsOfDocumentsWhateverIsInThem(t *testing.T) {
	fs := documentStore(t)
	db := openPebble(t, fs)
	keys, heads := records(t, db, format.PrefixHead)
	found := 0
	for i := range heads[0] {
		bad := bytes.Clone(heads[0])
		bad[i] ^= 1 << (i % 8)
		if err := errors.Join(db.Set(keys[0], bad, pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
		if r := checkStore(t, fs, "db"); !r.Sound() {
			found++
		}
		db = openPebble(t, fs)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(heads[0]); found < n/2 {
		t.Errorf("of %d changed bytes %d are found", n, found)
	}
}
