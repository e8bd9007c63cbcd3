package intake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// rig is a disk, and the host of intakes.
type rig struct {
	*testing.T
	disk lsm.Disk
	keys format.Keys
	fs   vfs.FS
	room error
	left []uint32
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, keys: format.DeriveKeys([16]byte{1}), fs: vfs.NewMem()}
	lsmtest.Open(t, r.fs, &r.disk)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) Options() *pebble.Options { return lsm.Options(r.disk.Fence(), disktest.Silent{}) }
func (r *rig) Err() error               { return nil }
func (r *rig) Room(int) error           { return r.room }
func (r *rig) End(left []uint32)        { r.left = left }

func (r *rig) Decode(structures.Kind, []byte) (structures.Value, error) {
	return nil, errors.ErrUnsupported
}

func (r *rig) begin(phys ...uint32) *Intake {
	r.Helper()
	in, err := New(Config{Host: r, Disk: &r.disk, Secrets: &r.keys, Now: func() int64 { return 1 }, FS: r.fs, Path: "db/in",
		Phys: phys, Run: 4 << 10, Most: 8 << 10})
	r.must(err)
	return in
}

func (r *rig) text(in *Intake, db int, key, value string) error {
	in.Begin(db, []byte(key))
	return in.Put(nil, []byte(value), 0)
}

// What is put is on the device, in tables of bounded size, when Finish returns; databases that got no name are told to the
// store.
func TestKeysAreOnTheDiskWhenAnIntakeIsFinished(t *testing.T) {
	r := newRig(t)
	in := r.begin(7, 8)
	order := rand.New(rand.NewPCG(1, 1)).Perm(1000)
	for _, i := range order {
		r.must(r.text(in, i%2, fmt.Sprint("key:", i), fmt.Sprint("value:", i)))
	}
	large := hash.New(in.HashKeys())
	in.Begin(0, []byte("large"))
	for i := range 1000 {
		large.Set(nil, fmt.Append(nil, "field:", i), make([]byte, 100))
		r.must(in.Grown(large))
	}
	if size := large.Size(); size > 64<<10 {
		t.Errorf("%d bytes of a value of 100,000 are in memory", size)
	}
	r.must(in.Put(large, nil, 5))
	r.must(in.Finish())
	if in.Tables() < 10 || in.Keys(0) != 501 || in.Keys(1) != 500 {
		t.Errorf("%d tables, %d and %d keys", in.Tables(), in.Keys(0), in.Keys(1))
	}
	for i := range 1000 {
		key := fmt.Append(nil, "key:", i)
		b, closer, err := r.disk.DB.Get(format.AppendHeadKey(nil, uint32(7+i%2), r.keys.Hash.Sum(key), key))
		r.must(err)
		if h, err := format.DecodeHead(b); err != nil || string(h.Payload) != fmt.Sprint("value:", i) {
			t.Fatalf("%s: %q, %v", key, h.Payload, err)
		}
		r.must(closer.Close())
	}
	sum := int64(0)
	for _, n := range in.Name(0) {
		sum += n
	}
	r.must(in.Close())
	if sum != 501 || len(r.left) != 1 || r.left[0] != 8 {
		t.Errorf("%d keys have a name, databases %v are left", sum, r.left)
	}
	if names, err := r.fs.List("db/in"); err == nil && len(names) > 0 {
		t.Errorf("%v are left of the tables", names)
	}
}

// A key that is put twice is an error, whether in one table or in two; so is a disk without room. After an error nothing more
// is taken.
func TestIntakesThatCannotGoOn(t *testing.T) {
	full := errors.New("no room")
	for name, c := range map[string]struct {
		between int // keys
		room    error
		want    error
	}{"twice in a table": {0, nil, ErrTwice}, "twice in two": {300, nil, ErrTwice}, "a full disk": {300, full, full}} {
		r := newRig(t)
		r.room = c.room
		in := r.begin(7)
		_ = r.text(in, 0, "again", "1")
		for i := range c.between {
			_ = r.text(in, 0, fmt.Sprint("key:", i), "v")
		}
		if c.room == nil {
			_ = r.text(in, 0, "again", "2")
		}
		if err := in.Finish(); !errors.Is(err, c.want) || !errors.Is(in.Err(), c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, err, in.Err(), c.want)
		}
		if err := r.text(in, 0, "more", "v"); err == nil {
			t.Errorf("%s: another key is taken", name)
		}
		r.must(in.Close())
		if len(r.left) != 1 {
			t.Errorf("%s: databases %v are left", name, r.left)
		}
	}
}
