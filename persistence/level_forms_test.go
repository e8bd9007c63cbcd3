package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/types"
)

// No form of values has a level that there is not.
func TestFormsHaveLevelsThatThereAre(t *testing.T) {
	for _, row := range types.All() {
		for _, f := range row.Forms {
			if WhatLevelAdds(f.Level) == "" {
				t.Errorf("%s: form %v has a level that is not in level.go", row.Name, f)
			}
		}
	}
}

// largeFilter is a Bloom filter with pages.
func largeFilter(t *testing.T) *bloom.Filter {
	t.Helper()
	f := bloom.New()
	if err := f.Reserve(nil, bloom.Shape{Error: 0.01, Capacity: 50_000, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := f.Add(nil, fmt.Append(nil, i), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// heads returns the payloads of the heads that the disk of a member has.
func (n *node) heads() (all [][]byte) {
	n.w.Helper()
	it, err := n.s.files.Disk.DB.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, format.PrefixHead), UpperBound: format.AppendGroupEnd(nil, format.PrefixHead)})
	n.must(err)
	for it.First(); it.Valid(); it.Next() {
		h, err := format.DecodeHead(it.Value())
		n.must(err)
		all = append(all, bytes.Clone(h.Payload))
	}
	n.must(it.Close())
	return all
}

// A Bloom filter is written, into records and onto the disk, as the versions of the members read it, whether it was prepared or
// not, and from the next time on in the form of the level that was reached.
func TestFiltersAreWrittenInTheFormOfTheLevel(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		w := newWorld(t, 1, 1<<30)
		defer w.close()
		n, other, third := lead(t, w)
		first, now := largeFilter(t).AppendHeadAs(nil, 0), largeFilter(t).AppendHead(nil)
		for level, want := range [...][]byte{LevelTold: first, LevelModules: now} {
			if want == nil {
				continue
			}
			n.s.Member().SetLevel(uint64(level))
			p := &Prepared{value: largeFilter(t)}
			if prepared {
				p.body = format.RecordBody(p.value)
			}
			tx := n.s.NewTx()
			var set Shards
			set.AddAll()
			tx.Lock(&set, w.now)
			if err := ReplacePrepared(tx, []byte("filter"), p, NoExpiry); err != nil {
				t.Error(err)
			}
			record := bytes.Clone(tx.rec.Encoded())
			for _, set := range tx.rec.big {
				record = append(record, set.b...)
			}
			tx.Commit()
			tx.Unlock()
			if !bytes.Contains(record, append([]byte{byte(len(want))}, want...)) {
				t.Errorf("prepared %v: the record of a group of level %d has no head of %d bytes", prepared, level, len(want))
			}
			for range 2 {
				n.propose()
				n.send(other)
				n.send(third)
				n.count()
			}
			n.materialise()
			if got := n.heads(); len(got) != 1 || !bytes.Equal(got[0], want) {
				t.Errorf("prepared %v: on the disk of a group of level %d is %q, want %q", prepared, level, got, want)
			}
		}
	}
}

// What is refused leaves no record and no key, also where another type is to become one that came with a level.
func TestValuesAboveTheLevelLeaveNothing(t *testing.T) {
	s := openMemory(t, Options{FS: vfs.NewMem(), Replicator: wary{}, IdleAfter: -1, Background: func(Task) {}})
	s.Member().Lead(1)
	s.Member().SetLevel(LevelTold)
	tx := s.NewTx()
	var set Shards
	set.AddAll()
	tx.Lock(&set, 1)
	defer tx.Unlock()
	tx.SetString([]byte("k"), []byte("v"), NoExpiry)
	tx.Commit()
	newest := s.commits.Newest()
	d := json.New(tx.HashKeys())
	d.SetRoot(nil, json.AppendString(nil, []byte("text")))
	want := NeedsLevelError{Needs: LevelModules, Has: LevelTold}
	if err := Replace(tx, []byte("k"), d, NoExpiry); !errors.Is(err, want) {
		t.Errorf("Replace: %v", err)
	}
	if _, _, _, err := Edit(tx, []byte("new"), func() *json.Document { return json.New(tx.HashKeys()) }); !errors.Is(err, want) {
		t.Errorf("Edit: %v", err)
	}
	if b, ok, err := tx.String([]byte("k")); string(b) != "v" || !ok || err != nil || tx.Databases().Size(0) != 1 {
		t.Errorf("the key holds %q, %v, %v; there are %d keys", b, ok, err, tx.Databases().Size(0))
	}
	if tx.Commit() != 0 || s.commits.Newest() != newest {
		t.Error("there is a record of what was refused")
	}
}
