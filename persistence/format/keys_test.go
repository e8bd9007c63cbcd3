package format

import (
	"bytes"
	"errors"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// What takes keys apart returns what they were made of, and refuses other lengths.
func TestKeysComeApart(t *testing.T) {
	const phys, hash, page = 3, 0x0102030405060708, 9
	key := []byte("key")
	for _, k := range [][]byte{AppendPageKey(nil, phys, hash, key, page), Restage(nil, AppendPageKey(nil, phys, hash, key, page))} {
		p, h, got, id, ok := SplitPageKey(k)
		if !ok || p != phys || h != hash || !bytes.Equal(got, key) || id != page || PageID(k) != page {
			t.Errorf("page key %x: got %d, %x, %q, %d, %v", k, p, h, got, id, ok)
		}
		if IsPageKey(k[:len(k)-1]) || IsPageKey(append(k, 0)) {
			t.Errorf("page key %x is taken for one at another length", k)
		}
	}
	p, h, got, err := SplitHeadKey(AppendHeadKey(nil, phys, hash, key))
	if err != nil || p != phys || h != hash || !bytes.Equal(got, key) {
		t.Errorf("head key: got %d, %x, %q, %v", p, h, got, err)
	}
	if _, _, _, err := SplitHeadKey(AppendHeadBound(nil, phys, hash)[:HeadKeyFixed-1]); !errors.Is(err, ErrCorrupt) {
		t.Errorf("short head key: %v", err)
	}
	if p, at, sum, err := SplitExpiryKey(AppendExpiryKey(nil, phys, 1000, 5)); err != nil || p != phys || at != 1000 || sum != 5 {
		t.Errorf("expiry key: got %d, %d, %d, %v", p, at, sum, err)
	}
	if p, shard, n, err := DecodeCount(AppendCountKey(nil, phys, 200), []byte{7, 0, 0, 0, 0, 0, 0, 0}); err != nil || p != phys || shard != 200 || n != 7 {
		t.Errorf("count: got %d, %d, %d, %v", p, shard, n, err)
	}
	if shard, lsn, err := DecodeMark(AppendMarkKey(nil, 200), []byte{7, 0, 0, 0, 0, 0, 0, 0}); err != nil || shard != 200 || lsn != 7 {
		t.Errorf("mark: got %d, %d, %v", shard, lsn, err)
	}
	if !HasGroup(AppendMetaKey(nil)) || HasGroup([]byte{PrefixMeta}) || HasGroup([]byte{PrefixMeta, 0, 1}) {
		t.Error("HasGroup takes another group for ours")
	}
}

// The keys of a hash, and of the last one of the last database, are between its bounds.
func TestBoundsEncloseTheirKeys(t *testing.T) {
	for _, hash := range []uint64{0, 1 << 40, ^uint64(0)} {
		for _, phys := range []uint32{0, 5, ^uint32(0)} {
			k := AppendHeadKey(nil, phys, hash, []byte{0xff, 0xff})
			if low, high := AppendHeadBound(nil, phys, hash), AppendHeadEnd(nil, phys, hash); bytes.Compare(k, low) < 0 || bytes.Compare(k, high) >= 0 {
				t.Errorf("head key %x is not in [%x, %x)", k, low, high)
			}
			if end := AppendPhysBound(nil, PrefixHead, uint64(phys)+1); bytes.Compare(k, end) >= 0 {
				t.Errorf("head key %x is not below %x", k, end)
			}
		}
	}
}

// The entries of a list are as they were, and half an entry is an error.
func TestEntriesOfAListComeBack(t *testing.T) {
	list := AppendExpiring(AppendExpiring(nil, Expiring{1, 2}), Expiring{^uint64(0), 3})
	got, err := DecodeExpiring(nil, list)
	if err != nil || len(got) != 2 || got[0] != (Expiring{1, 2}) || got[1] != (Expiring{^uint64(0), 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := DecodeExpiring(nil, list[:len(list)-1]); !errors.Is(err, ErrCorrupt) {
		t.Errorf("half an entry: got %v, want ErrCorrupt", err)
	}
}

// A text is refused under another name, and an operation with too many arguments, or
// none, unless it may remove all.
func TestTextsAreChecked(t *testing.T) {
	for op := byte(OpLibrary); op <= OpMove; op++ {
		kind := TextKindOf(op)
		value := AppendText(nil, "name", "text")
		name, text, err := kind.Decode(AppendTextKey(nil, kind.Prefix, "name"), value)
		if err != nil || name != "name" || text != "text" {
			t.Errorf("%s: got %q, %q, %v", kind.What, name, text, err)
		}
		if _, _, err := kind.Decode(AppendTextKey(nil, kind.Prefix, "other"), value); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s under another name: got %v, want ErrCorrupt", kind.What, err)
		}
		for n := range 4 {
			var rec structures.Change
			rec.Op(op, n)
			for range n {
				rec.String("x")
			}
			_, args, _, err := structures.NextOp(rec.Encoded())
			if err != nil {
				t.Fatal(err)
			}
			c, err := kind.DecodeChange(&args)
			wrong := n == 0 && op != OpLibrary || n == 3
			if wrong != errors.Is(err, ErrCorrupt) || !wrong && (err != nil || c.All != (n == 0) || (c.Text != nil) != (n == 2)) {
				t.Errorf("%s with %d arguments: got %+v, %v", kind.What, n, c, err)
			}
		}
	}
	if got := TextKindOf(OpSet); got.What != "" {
		t.Errorf("an operation about no text: got %+v", got)
	}
}
