package check

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures"
)

// made is a store that was made key by key: one short string that expires, in database 0, the
// record that set it, and what spoil writes.
func made(t *testing.T, spoil func(b *pebble.Batch, keys format.Keys)) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := wal.Inspect(fs, "db", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := l.GoOn(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	f := fence.New(marked, "db")
	db, err := lsm.Open("db", lsm.Options(f, quiet{f}), f, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	meta := format.Meta{Secret: [16]byte{1}, Next: 1, Phys: []uint32{0}, Pebble: true}
	keys := format.DeriveKeys(meta.Secret)
	key := []byte("key")
	hash := keys.Hash.Sum(key)
	list := format.AppendExpiring(nil, format.Expiring{Hash: hash})
	var rec structures.Change
	rec.Op(format.OpKey, 2)
	rec.Uint(0)
	rec.Bytes(key)
	format.RecordSet(&rec, []byte("v"), 1000)
	chunk := append(binary.AppendUvarint(make([]byte, format.ChunkHeader), uint64(len(rec.Encoded()))), rec.Encoded()...)
	format.SealChunk(chunk, 1, 0)
	b := db.NewBatch()
	for _, kv := range [][2][]byte{
		{format.AppendMetaKey(nil), meta.Append(nil)},
		{format.AppendJournalKey(nil, 1), chunk},
		{format.AppendHeadKey(nil, 0, hash, key), append(format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true, LSN: 1, Expire: 1000}), 'v')},
		{format.AppendCountKey(nil, 0, format.ShardOf(hash)), binary.LittleEndian.AppendUint64(nil, 1)},
		{format.AppendExpiryKey(nil, 0, 1000, keys.Hash.Sum(list)), list},
		{format.AppendTextKey(nil, format.PrefixUser, "u"), format.AppendText(nil, "u", "on")},
	} {
		if err := b.Set(kv[0], kv[1], nil); err != nil {
			t.Fatal(err)
		}
	}
	if spoil != nil {
		spoil(b, keys)
	}
	err = errors.Join(db.Flush(), b.Commit(pebble.Sync), db.Flush(), marked.Mark.Complete(), lsm.Close("db", db, f), marked.Mark.Close())
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func run(t *testing.T, fs vfs.FS) *Report {
	t.Helper()
	r, err := Run(Options{FS: fs, Dir: "db"}, func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What is sound is counted.
func TestSoundStoreIsCounted(t *testing.T) {
	r := run(t, made(t, nil))
	if !r.Sound() || r.Heads() != 1 || r.Keys[KeyClass{0, structures.KindString}] != 1 || r.Users != 1 || r.Chunks != 1 || r.Records != 1 || r.Last != 1 || r.Tables == 0 {
		t.Errorf("report: %+v", r)
	}
}

// Keys that contradict each other are found, though no checksum is wrong.
func TestContradictionsAreFound(t *testing.T) {
	other := []byte("other")
	for _, c := range []struct {
		found string
		spoil func(b *pebble.Batch, keys format.Keys)
	}{
		{"but there are 1", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.AppendCountKey(nil, 0, format.ShardOf(keys.Hash.Sum([]byte("key")))), binary.LittleEndian.AppendUint64(nil, 2), nil)
		}},
		{"it is not where its hash says", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.AppendHeadKey(nil, 0, keys.Hash.Sum(other)+1, other), append(format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true}), 'v'), nil)
		}},
		{"but the journal ends with 1", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.AppendHeadKey(nil, 0, keys.Hash.Sum(other), other), append(format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true, LSN: 2}), 'v'), nil)
		}},
		{"no list of heads that expire names it", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.AppendHeadKey(nil, 0, keys.Hash.Sum(other), other), append(format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true, Expire: 1000}), 'v'), nil)
		}},
		{"which has no head", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.AppendPageKey(nil, 0, keys.Hash.Sum(other), other, 1), []byte("page"), nil)
		}},
		{"checksum of user \"u\"", func(b *pebble.Batch, _ format.Keys) {
			_ = b.Set(format.AppendTextKey(nil, format.PrefixUser, "u"), format.AppendText(nil, "v", "on"), nil)
		}},
		{"values of shard 9 hold record 7", func(b *pebble.Batch, _ format.Keys) {
			_ = b.Set(format.AppendMarkKey(nil, 9), binary.LittleEndian.AppendUint64(nil, 7), nil)
		}},
		{"staged page of 0 bytes", func(b *pebble.Batch, keys format.Keys) {
			_ = b.Set(format.Restage(nil, format.AppendPageKey(nil, 0, keys.Hash.Sum(other), other, 1)), nil, nil)
		}},
		{"meta lacks fields", func(b *pebble.Batch, _ format.Keys) {
			_ = b.Set(format.AppendMetaKey(nil), []byte{2, 0, 0, 0, 0, 0, 0, 0}, nil)
		}},
	} {
		if r := run(t, made(t, c.spoil)); r.Sound() || !strings.Contains(strings.Join(r.Damage, "\n"), c.found) {
			t.Errorf("%s: found %q", c.found, r.Damage)
		}
	}
}

// What is no store is not checked.
func TestDirectoryWithoutAStoreIsAnError(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(Options{FS: fs, Dir: "db"}, nil); !errors.Is(err, ErrNoStore) {
		t.Errorf("got %v, want ErrNoStore", err)
	}
}

// What the disk has of a database that the journal says was flushed may be there in part; that of the databases which are there by then
// may not.
func TestPartsOfFlushedDatabasesAreNoDamage(t *testing.T) {
	mapping := func(b *pebble.Batch, to uint32) error {
		var rec structures.Change
		format.RecordMapping(&rec, 9, []uint32{to})
		chunk := append(binary.AppendUvarint(make([]byte, format.ChunkHeader), uint64(len(rec.Encoded()))), rec.Encoded()...)
		format.SealChunk(chunk, 2, format.ChunkApart)
		return b.Set(format.AppendJournalKey(nil, 2), chunk, nil)
	}
	for flushed, to := range map[bool]uint32{true: 5, false: 0} {
		fs := made(t, func(b *pebble.Batch, keys format.Keys) {
			hash := keys.Hash.Sum([]byte("key"))
			err := errors.Join(mapping(b, to), b.Delete(format.AppendHeadKey(nil, 0, hash, []byte("key")), nil))
			if err != nil {
				t.Fatal(err)
			}
		})
		if r := run(t, fs); r.Sound() != flushed {
			t.Errorf("a count without a key, flushed: %v: %q", flushed, r.Damage)
		}
	}
}
