package format

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// TestBytesOnDiskAreFrozen pins every layout: a failure means that stores
// written so far would be read wrongly.
func TestBytesOnDiskAreFrozen(t *testing.T) {
	var rec structures.Change
	rec.Op(OpKey, 2)
	rec.Uint(3)
	rec.Bytes([]byte("key"))
	RecordSet(&rec, []byte("v"), 0)
	RecordSet(&rec, []byte("v"), 1000)
	rec.Op(OpPatch, 2)
	rec.Uint(300)
	rec.Bytes([]byte("p"))
	rec.Op(OpDelete, 0)
	rec.Op(OpExpireAt, 1)
	rec.Int(1000)
	rec.Op(OpPersist, 0)
	RecordMapping(&rec, 5, []uint32{0, 4})
	rec.Op(OpUser, 2)
	rec.String("u")
	rec.String("on")
	rec.Op(OpUser, 1)
	rec.String("u")
	rec.Op(OpConfiguration, 2)
	rec.String("d")
	rec.String("5")
	rec.Op(OpConfiguration, 1)
	rec.String("d")
	rec.Op(OpMove, 2)
	rec.String("7")
	rec.String("x")
	rec.Op(OpMove, 1)
	rec.String("7")
	l := list.New()
	l.Push(nil, list.Tail, []byte("e"))
	var restore structures.Change
	RecordRestore(&restore, l, 1000)
	chunk := append(make([]byte, ChunkHeader), 2, OpDelete, 0)
	SealChunk(chunk, 258, ChunkApart)
	m := Meta{Secret: [16]byte{1, 15: 16}, Trimmed: journal.Position{LSN: 2, Index: 1}, Mapped: 3, Next: 5, Phys: []uint32{0, 4}, Pebble: true}
	logged := Meta{Secret: m.Secret, Trimmed: m.Trimmed, Mapped: 3, Next: 5, Phys: m.Phys, Segment: 6}
	unmade := logged
	unmade.Unmade = true
	entry := append(make([]byte, EntryHeader), 2, OpDelete, 0)
	PutEntryHeader(entry, 258, 259, ChunkApart)
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"count key", AppendCountKey(nil, 3, 200), "63000000000003c8"},
		{"journal key", AppendJournalKey(nil, 258), "6a00000000000000000102"},
		{"head key", AppendHeadKey(nil, 3, 0x0102030405060708, []byte("key")), "6f00000000000301020304050607086b6579"},
		{"page key", AppendPageKey(nil, 3, 0x0102030405060708, []byte("key"), 9),
			"70000000000003010203040506070800000003" + "6b6579" + "0000000000000009"},
		{"short head", append(AppendHead(nil, &Head{Kind: structures.KindString, Short: true, LSN: 7}), 'v'), "4101070000000000000076"},
		{"paged head with expiry", AppendHead(nil, &Head{Kind: structures.KindList, Paged: true, LSN: 7, Expire: 1000}),
			"31020700000000000000e803000000000000"},
		{"mark key", AppendMarkKey(nil, 200), "6b0000c8"},
		{"meta key", AppendMetaKey(nil), "6d0000"},
		{"library key", AppendTextKey(nil, PrefixLibrary, "lib"), "6c00006c6962"},
		{"user key", AppendTextKey(nil, PrefixUser, "u"), "7500" + "0075"},
		{"user", AppendText(nil, "u", "on"), "e79023a7" + "6f6e"},
		{"directive key", AppendTextKey(nil, PrefixConfiguration, "d"), "6400" + "0064"},
		{"move key", AppendTextKey(nil, PrefixMove, "7"), "7300" + "0037"},
		{"end of heads", AppendPhysBound(nil, PrefixHead, 1<<32), "6f0001"},
		{"newest key", AppendNewestKey(nil), "6b0000"},
		{"entry", entry, "0201000000000000" + "0301000000000000" + "01" + "020400"},
		{"meta of format 3", logged.Append(nil), "03000000" + "f71cfa39" + "0110000000" + "01000000000000000000000000000010" +
			"0210000000" + "0200000000000000" + "0100000000000000" +
			"0314000000" + "0300000000000000" + "05000000" + "00000000" + "04000000" + "0508000000" + "0600000000000000"},
		{"meta of a store that was a member", unmade.Append(nil), "03000000" + "3eaf7ae5" + "0110000000" + "01000000000000000000000000000010" +
			"0210000000" + "0200000000000000" + "0100000000000000" +
			"0314000000" + "0300000000000000" + "05000000" + "00000000" + "04000000" + "0508000000" + "0600000000000000" + "0800000000"},
		{"meta", m.Append(nil), "02000000" + "791d532b" + "0110000000" + "01000000000000000000000000000010" +
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
	if b := restore.Encoded(); b[0] != OpRestore || b[1] != 3 || b[2] != 1 || b[3] != byte(structures.KindList) {
		t.Errorf("restore: got %x", b)
	}
}

func TestDamagedBytesAreErrors(t *testing.T) {
	chunk := append(make([]byte, ChunkHeader), 2, OpDelete, 0)
	SealChunk(chunk, 1, 0)
	for i := range chunk {
		bad := bytes.Clone(chunk)
		bad[i] ^= 0x40
		if _, _, _, err := OpenChunk(bad); err == nil {
			t.Errorf("chunk with byte %d changed: no error", i)
		}
		if _, _, _, err := OpenChunk(chunk[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("chunk of %d bytes: got %v, want ErrCorrupt", i, err)
		}
	}
	m := (&Meta{Next: 5, Phys: []uint32{0, 4}}).Append(nil)
	for i := range m {
		if _, err := DecodeMeta(m[:i]); err == nil {
			t.Errorf("meta of %d bytes: no error", i)
		}
	}
	for i := range m {
		bad := bytes.Clone(m)
		bad[i] ^= 0x40
		if _, err := DecodeMeta(bad); err == nil {
			t.Errorf("meta with byte %d changed: no error", i)
		}
	}
	m[0] = 4
	if _, err := DecodeMeta(m); !errors.Is(err, ErrVersion) {
		t.Errorf("meta of format 4: got %v, want ErrVersion", err)
	}
	entry := make([]byte, EntryHeader)
	if _, err := OpenEntry(entry[1:]); !errors.Is(err, ErrCorrupt) {
		t.Errorf("entry without its header: got %v, want ErrCorrupt", err)
	}
	PutEntryHeader(entry, 1, 1, ChunkPieces)
	if _, err := OpenEntry(entry); !errors.Is(err, ErrVersion) {
		t.Errorf("entry with a flag that is not known: got %v, want ErrVersion", err)
	}
	h := AppendHead(nil, &Head{Kind: structures.KindString, Short: true, Expire: 5})
	for i := range h {
		if _, err := DecodeHead(h[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("head of %d bytes: got %v, want ErrCorrupt", i, err)
		}
	}
}

// TestMetaGrowsByFields: what a later version adds is refused if a reader has to
// know it, and passed over if not.
func TestMetaGrowsByFields(t *testing.T) {
	extended := func(tag byte) []byte {
		b := appendMetaField((&Meta{Next: 5, Phys: []uint32{4}}).Append(nil), tag, []byte("later"))
		binary.LittleEndian.PutUint32(b[4:], Checksum(0, b[metaFixed:]))
		return b
	}
	if _, err := DecodeMeta(extended(metaHints - 1)); !errors.Is(err, ErrVersion) {
		t.Errorf("meta with a field that matters: got %v, want ErrVersion", err)
	}
	if m, err := DecodeMeta(extended(metaHints + 1)); err != nil || m.Next != 5 {
		t.Errorf("meta with a hint: got %v, %v", m, err)
	}
	for _, tag := range []byte{metaFollows, metaReplicated} {
		if _, err := DecodeMeta(extended(tag)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("field %d with too few bytes: got %v, want ErrCorrupt", tag, err)
		}
	}
}

// TestKeysOfAStoreAreFrozen: keys lie on disk, and fields in pages, where these
// functions say.
func TestKeysOfAStoreAreFrozen(t *testing.T) {
	k := DeriveKeys([16]byte{1, 2, 3})
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"hash of a key", k.Hash.Sum([]byte("key")), 0x8aac3ecf1ef6f85f},
		{"hash of a field", k.Values.Fields.Sum([]byte("key")), 0x731312a1eeeb67e6},
		{"cursor of a key", k.Cursors.Hide(1), 0x574b6f50},
		{"cursor of a field", k.Values.Cursors.Hide(1), 0x7d5e9b44},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

func FuzzDecodeMeta(f *testing.F) {
	m := Meta{Secret: [16]byte{1}, Trimmed: journal.Position{LSN: 2, Index: 1}, Mapped: 3, Next: 5, Phys: []uint32{0, 4}}
	f.Add(m.Append(nil))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = DecodeMeta(b) })
}

// The meta of a member has field 6 in place of 5 in format 3, and neither in format 2. Another combination is refused, so that neither a version
// without logs of groups nor one of stores that are alone takes the one for the other.
func TestMetaOfAMemberSaysWhereItsLogIs(t *testing.T) {
	m := Meta{Secret: [16]byte{1}, Grouped: true}
	for _, pebble := range []bool{true, false} {
		m.Pebble = pebble
		b := m.Append(nil)
		if got, err := DecodeMeta(b); err != nil || !got.Grouped || got.Pebble != pebble {
			t.Errorf("in Pebble %v: %+v, %v", pebble, got, err)
		}
		if has := bytes.HasSuffix(b, []byte{4, 0, 0, 0, 0, 6, 0, 0, 0, 0}); has == pebble || b[0] != map[bool]byte{true: 2, false: 3}[pebble] {
			t.Errorf("in Pebble %v: %x", pebble, b)
		}
		b[0] ^= 1 // the other format
		if _, err := DecodeMeta(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("in Pebble %v, with the other format: %v", pebble, err)
		}
	}
}
