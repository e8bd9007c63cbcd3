package heads

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// Config is what Heads work on. All of it belongs to the store.
type Config struct {
	Disk     *lsm.Disk
	Keyspace *keyspace.Keyspace
	Writer   *writeback.Writer
	Values   *structures.HashKeys // of the hashes of values
}

// Heads are those of a store.
type Heads struct {
	Config
	Faults atomic.Int64 // keys that were read because somebody wanted them
}

// Decode makes a value from its encoding, without pages.
func (s *Heads) Decode(kind structures.Kind, head []byte) (structures.Value, error) {
	return format.DecodeValue(kind, head, s.Values)
}

// LoadCounts reads how many keys each shard has on disk.
func (s *Heads) LoadCounts() error {
	it, err := s.Disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixCount), UpperBound: format.AppendGroupEnd(nil, format.PrefixCount)})
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		phys, shard, n, err := format.DecodeCount(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		s.Keyspace.Shard[shard].SetCount(phys, n)
	}
	return it.Close()
}

// Fault reads a key that has no slot from the disk into its table and returns
// its slot, or -1 if the disk has no such key either. lsn is the record number of the head that it found. The lock of the shard is
// held, which keeps the copy on disk from changing under us: the writeback
// writes only what has a slot.
func (s *Heads) Fault(t *keyspace.Table, hash uint64, key []byte, touch uint64) (lsn uint64, i int, err error) {
	if t.Disk == 0 {
		return 0, -1, nil
	}
	t.Scratch = format.AppendHeadKey(t.Scratch[:0], t.Phys, hash, key)
	b, closer, err := s.Disk.DB.Get(t.Scratch)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, -1, nil
	}
	if err != nil {
		return 0, -1, fmt.Errorf("read key: %w", err)
	}
	h, err := format.DecodeHead(b)
	i = -1
	if err == nil {
		i, err = s.Admit(t, hash, key, &h, touch)
	}
	if err := errors.Join(err, closer.Close()); err != nil {
		return 0, -1, fmt.Errorf("read key %q: %w", key, err)
	}
	s.Faults.Add(1)
	return h.LSN, i, nil
}

// Admit puts the information of a head on disk into the table.
func (s *Heads) Admit(t *keyspace.Table, hash uint64, key []byte, h *format.Head, touch uint64) (int, error) {
	if h.Blessed {
		t.Bless(key, true)
	}
	if h.Short && keyspace.Inline(len(key), len(h.Payload)) {
		i := t.AddInline(hash, key, h.Payload, h.Expire, touch|keyspace.OnDisk)
		if h.Expire != 0 {
			t.SetIndexed(t.Meta(i))
		}
		return i, nil
	}
	o := &keyspace.Object{Key: append([]byte(nil), key...), Expire: h.Expire, Indexed: h.Expire != 0}
	var err error
	if h.Short {
		o.Value = text.New(structures.Clone(h.Payload))
	} else if o.Value, err = s.Decode(h.Kind, h.Payload); err != nil {
		return -1, err
	}
	flags := touch | keyspace.OnDisk
	if h.Paged {
		flags |= keyspace.Paged
		if s.Writer.Exceeds(o.Value) {
			return s.admitIndex(t, hash, o, flags)
		}
		if err := lsm.ReadPages(s.Disk.DB, t.Phys, hash, key, o.Value, 0, nil); err != nil {
			return -1, err
		}
	}
	if err := format.Complete(o.Value); err != nil {
		return -1, err
	}
	o.Value.Clean()
	if i, ok := t.AddCompact(hash, o, flags, keyspace.MaxRecent); ok {
		s.Keyspace.KeepCompact(o)
		return i, nil
	}
	i := t.AddObject(hash, o, flags)
	s.Writer.Enlarge(t, o, hash)
	return i, nil
}

// admitIndex puts a value into the table whose pages are read when they are needed, but
// those that its type needs at once.
func (s *Heads) admitIndex(t *keyspace.Table, hash uint64, o *keyspace.Object, flags uint64) (i int, err error) {
	s.Writer.Attach(t, o, hash)
	if r, ok := o.Value.(interface{ ResidentFrom() uint64 }); ok {
		err = lsm.ReadPages(s.Disk.DB, t.Phys, hash, o.Key, o.Value, r.ResidentFrom(), nil)
	}
	if err = errors.Join(err, format.Complete(o.Value)); err != nil {
		o.Unpage()
		return -1, err
	}
	o.Value.Clean()
	return t.AddObject(hash, o, flags), nil
}
