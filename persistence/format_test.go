package persistence

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// TestBytesOnDiskAreFrozen pins every layout: a failure means that stores
// written so far would be read wrongly.
func TestBytesOnDiskAreFrozen(t *testing.T) {
	var rec structures.Change
	rec.Op(opKey, 2)
	rec.Uint(3)
	rec.Bytes([]byte("key"))
	recordSet(&rec, []byte("v"), 0)
	recordSet(&rec, []byte("v"), 1000)
	rec.Op(opPatch, 2)
	rec.Uint(300)
	rec.Bytes([]byte("p"))
	rec.Op(opDelete, 0)
	rec.Op(opExpireAt, 1)
	rec.Int(1000)
	rec.Op(opPersist, 0)
	recordMapping(&rec, 5, []uint32{0, 4})
	rec.Op(opUser, 2)
	rec.String("u")
	rec.String("on")
	rec.Op(opUser, 1)
	rec.String("u")
	rec.Op(opConfiguration, 2)
	rec.String("d")
	rec.String("5")
	rec.Op(opConfiguration, 1)
	rec.String("d")
	rec.Op(opMove, 2)
	rec.String("7")
	rec.String("x")
	rec.Op(opMove, 1)
	rec.String("7")
	l := list.New()
	l.Push(nil, list.Tail, []byte("e"))
	var restore structures.Change
	encodeRestore(&restore, l, 1000)
	chunk := append(make([]byte, chunkHeader), 2, opDelete, 0)
	sealChunk(chunk, 258, chunkApart)
	m := meta{secret: [16]byte{1, 15: 16}, trimmed: journal.Position{LSN: 2, Index: 1}, mapped: 3, next: 5, phys: []uint32{0, 4}}
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"count key", appendCountKey(nil, 3, 200), "63000000000003c8"},
		{"journal key", appendJournalKey(nil, 258), "6a00000000000000000102"},
		{"head key", appendHeadKey(nil, 3, 0x0102030405060708, []byte("key")), "6f00000000000301020304050607086b6579"},
		{"page key", appendPageKey(nil, 3, 0x0102030405060708, []byte("key"), 9),
			"70000000000003010203040506070800000003" + "6b6579" + "0000000000000009"},
		{"short head", append(appendHead(nil, &head{kind: kindString, short: true, lsn: 7}), 'v'), "4101070000000000000076"},
		{"paged head with expiry", appendHead(nil, &head{kind: structures.KindList, paged: true, lsn: 7, expire: 1000}),
			"31020700000000000000e803000000000000"},
		{"mark key", appendMarkKey(nil, 200), "6b0000c8"},
		{"meta key", appendMetaKey(nil), "6d0000"},
		{"library key", appendTextKey(nil, prefixLibrary, "lib"), "6c00006c6962"},
		{"user key", appendTextKey(nil, prefixUser, "u"), "7500" + "0075"},
		{"user", appendText(nil, "u", "on"), "e79023a7" + "6f6e"},
		{"directive key", appendTextKey(nil, prefixConfiguration, "d"), "6400" + "0064"},
		{"move key", appendTextKey(nil, prefixMove, "7"), "7300" + "0037"},
		{"end of heads", appendPhysBound(nil, prefixHead, 1<<32), "6f0001"},
		{"meta", m.append(nil), "02000000" + "791d532b" + "0110000000" + "01000000000000000000000000000010" +
			"0210000000" + "0200000000000000" + "0100000000000000" +
			"0314000000" + "0300000000000000" + "05000000" + "00000000" + "04000000"},
		{"record", rec.Encoded(), "01020103036b6579" + "02010176" + "0202017602d007" + "0302022c010170" + "0400" +
			"050102d007" + "0600" + "0803010500" + "0104" +
			"0a020175026f6e" + "0a010175" + "0b0201640135" + "0b010164" + "0c0201370178" + "0c010137"},
		{"chunk", chunk, "0000000000000000" + "01" + "0201000000000000" + "5c7113d2" + "0101" + "020400"},
	} {
		want, err := hex.DecodeString(c.want)
		if err != nil || !bytes.Equal(c.got, want) {
			t.Errorf("%s: got %x, want %s (%v)", c.name, c.got, c.want, err)
		}
	}
	if b := restore.Encoded(); b[0] != opRestore || b[1] != 3 || b[2] != 1 || b[3] != byte(structures.KindList) {
		t.Errorf("restore: got %x", b)
	}
}

func TestDamagedBytesAreErrors(t *testing.T) {
	chunk := append(make([]byte, chunkHeader), 2, opDelete, 0)
	sealChunk(chunk, 1, 0)
	for i := range chunk {
		bad := bytes.Clone(chunk)
		bad[i] ^= 0x40
		if _, _, _, err := openChunk(bad); err == nil {
			t.Errorf("chunk with byte %d changed: no error", i)
		}
		if _, _, _, err := openChunk(chunk[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("chunk of %d bytes: got %v, want ErrCorrupt", i, err)
		}
	}
	m := (&meta{next: 5, phys: []uint32{0, 4}}).append(nil)
	for i := range m {
		if _, err := decodeMeta(m[:i]); err == nil {
			t.Errorf("meta of %d bytes: no error", i)
		}
	}
	for i := range m {
		bad := bytes.Clone(m)
		bad[i] ^= 0x40
		if _, err := decodeMeta(bad); err == nil {
			t.Errorf("meta with byte %d changed: no error", i)
		}
	}
	m[0] = 3
	if _, err := decodeMeta(m); !errors.Is(err, ErrVersion) {
		t.Errorf("meta of format 3: got %v, want ErrVersion", err)
	}
	h := appendHead(nil, &head{kind: kindString, short: true, expire: 5})
	for i := range h {
		if _, err := decodeHead(h[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("head of %d bytes: got %v, want ErrCorrupt", i, err)
		}
	}
}

// FuzzReplayRecord feeds foreign records to the replay: they may be refused but
// must not crash it.
func FuzzReplayRecord(f *testing.F) {
	var rec structures.Change
	rec.Op(opKey, 2)
	rec.Uint(0)
	rec.Bytes([]byte("key"))
	recordSet(&rec, []byte("v"), 1000)
	rec.Op(opPatch, 2)
	rec.Uint(3)
	rec.Bytes([]byte("p"))
	rec.Op(opDelete, 0)
	l := list.New()
	l.Push(nil, list.Tail, []byte("e"))
	encodeRestore(&rec, l, 0)
	l.Push(&rec, list.Head, []byte("e"))
	recordMapping(&rec, 20, []uint32{0, 4})
	rec.Op(opUser, 2)
	rec.String("u")
	rec.String("on")
	rec.Op(opUser, 1)
	rec.String("u")
	rec.Op(opConfiguration, 2)
	rec.String("d")
	rec.String("5")
	f.Add([]byte{opUser, 0, opUser, 3, 1, 'u', 0, 0})
	f.Add([]byte{opConfiguration, 0, opConfiguration, 3, 1, 'd', 0, 0})
	f.Add([]byte{opMove, 0, opMove, 3, 1, '7', 0, 0})
	f.Add(rec.Encoded())
	f.Add([]byte{opKey, 2, 0, 0, opPatch, 2, 8, 255, 255, 255, 255, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := openMemory(t, Options{IdleAfter: -1})
		defer closeStore(t, s)
		r := s.newReplay()
		for _, w := range r.workers {
			w.limit = 1 << 20
		}
		var set Shards
		set.AddAll()
		s.lock(&set, true) // replay runs before everything else; here the store is open
		err := r.recordApart(r.workers[0], b, 1)
		if err == nil {
			err = r.apply()
		}
		s.unlock(&set)
		if err != nil {
			return
		}
		materialise(t, s)
	})
}

// FuzzRestore feeds foreign payloads to Restore.
func FuzzRestore(f *testing.F) {
	f.Add(byte(structures.KindList), []byte{1, 0})
	f.Add(byte(structures.KindString), []byte("abc"))
	f.Add(byte(99), []byte{})
	s := openMemory(f, Options{IdleAfter: -1})
	f.Cleanup(func() { closeStore(f, s) })
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		all(s, 1, func(tx *Tx) {
			key := []byte("key")
			if tx.Restore(key, structures.Kind(kind), NoExpiry, payload) == nil {
				tx.Dump(nil, key)
			}
			tx.Delete(key)
		})
	})
}

// TestMetaGrowsByFields: what a later version adds is refused if a reader has to
// know it, and passed over if not.
func TestMetaGrowsByFields(t *testing.T) {
	extended := func(tag byte) []byte {
		b := appendMetaField((&meta{next: 5, phys: []uint32{4}}).append(nil), tag, []byte("later"))
		binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[metaFixed:], castagnoli))
		return b
	}
	if _, err := decodeMeta(extended(metaHints - 1)); !errors.Is(err, ErrVersion) {
		t.Errorf("meta with a field that matters: got %v, want ErrVersion", err)
	}
	if m, err := decodeMeta(extended(metaHints)); err != nil || m.next != 5 {
		t.Errorf("meta with a hint: got %v, %v", m, err)
	}
}

// TestKeysOfAStoreAreFrozen: keys lie on disk, and fields in pages, where these
// functions say.
func TestKeysOfAStoreAreFrozen(t *testing.T) {
	k := deriveKeys([16]byte{1, 2, 3})
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"hash of a key", k.hash.Sum([]byte("key")), 0x8aac3ecf1ef6f85f},
		{"hash of a field", k.values.Fields.Sum([]byte("key")), 0x731312a1eeeb67e6},
		{"cursor of a key", k.cursors.Hide(1), 0x574b6f50},
		{"cursor of a field", k.values.Cursors.Hide(1), 0x7d5e9b44},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

// TestOtherStoresAreRefusedByName: a store of format 1, and one that lost its
// meta.
func TestOtherStoresAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       error
		text       string
	}{
		{"m", "\x01\x00\x00\x00", ErrVersion, "format 1, which vigil 0.1.0 wrote"},
		{"j\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "", ErrCorrupt, "no meta"},
		{"m\x00\x00", "\x03\x00\x00\x00", ErrVersion, "format 3"},
	} {
		fs := vfs.NewMem()
		quiet := pebbleLog{&Store{opts: Options{}.withDefaults()}, fence.New(fs, "db")}
		db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set([]byte(c.key), []byte(c.value), pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the refusal changes nothing
			s, err := Open(Options{Dir: "db", FS: fs})
			if err == nil {
				closeStore(t, s)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("key %q: got %v, want %v with %q", c.key, err, c.want, c.text)
			}
		}
	}
}
