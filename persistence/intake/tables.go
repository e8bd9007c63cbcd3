package intake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
)

// tables turns heads and pages into tables of Pebble. What comes is gathered in a run, which is sorted, written
// and given to Pebble by another goroutine while the next one fills. So two runs are in memory.
type tables struct {
	in   *Intake
	dir  string
	now  *run
	free chan *run // capacity 2: both
	full chan *run
	// written counts the tables; read once the goroutine has ended.
	written int
	failed  atomic.Pointer[error]
	ended   sync.WaitGroup
	over    bool
}

const (
	// mostRun is the size of a run in bytes: one part in runPart of a small bound on memory, but at least
	// leastRun.
	mostRun, leastRun, runPart = 32 << 20, 1 << 20, 32
	// runFloor is the room on the disk, in bytes, that an intake leaves to others.
	runFloor = 64 << 20
)

// run is keys and values, one behind the other, and where they are.
type run struct {
	bytes []byte
	refs  []ref
}

// ref is a key of a run, with what orders it: its first bytes.
type ref struct {
	order  uint64 // prefix and physical database
	hash   uint64
	at     uint32
	length uint32 // of the key
	value  uint32
}

// newTables begins, and starts the goroutine that writes.
func newTables(in *Intake) (*tables, error) {
	fsys := in.FS
	t := &tables{in: in, dir: in.Path, free: make(chan *run, 2), full: make(chan *run)}
	if err := errors.Join(fsys.RemoveAll(t.dir), fsys.MkdirAll(t.dir, 0o700)); err != nil {
		return nil, err
	}
	for range 2 {
		t.free <- &run{bytes: make([]byte, 0, in.Run)}
	}
	t.now = <-t.free
	t.ended.Go(t.writeAll) // ends when full is closed
	return t, nil
}

// head adds a head.
func (t *tables) head(phys uint32, hash uint64, key []byte, h *format.Head) error {
	r, err := t.room(format.HeadKeyFixed + len(key) + h.Size() + len(h.Payload))
	if err != nil {
		return err
	}
	at := len(r.bytes)
	b := format.AppendHeadKey(r.bytes, phys, hash, key)
	length := len(b) - at
	b = append(format.AppendHead(b, h), h.Payload...)
	r.bytes = b
	r.refs = append(r.refs, ref{uint64(format.PrefixHead)<<32 | uint64(phys), hash, uint32(at), uint32(length), uint32(len(b) - at - length)})
	return nil
}

// page adds a page under its key.
func (t *tables) page(phys uint32, hash uint64, key, page []byte) error {
	r, err := t.room(len(key) + len(page))
	if err != nil {
		return err
	}
	at := len(r.bytes)
	r.bytes = append(append(r.bytes, key...), page...)
	r.refs = append(r.refs, ref{uint64(format.PrefixPage)<<32 | uint64(phys), hash, uint32(at), uint32(len(key)), uint32(len(page))})
	return nil
}

// room returns a run that has room for n bytes.
func (t *tables) room(n int) (*run, error) {
	if err := t.error(); err != nil {
		return nil, err
	}
	r := t.now
	// The entries of a run count too: those of small keys are as large as the keys.
	if len(r.refs) > 0 && len(r.bytes)+n+len(r.refs)*refBytes/2 > cap(r.bytes) {
		t.full <- r
		t.now = <-t.free
		r = t.now
	}
	return r, nil
}

const refBytes = 32

// error is the first error of the goroutine that writes.
func (t *tables) error() error {
	if err := t.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// finish writes the rest, and returns when Pebble has it.
func (t *tables) finish() error {
	if !t.over {
		t.over = true
		if len(t.now.refs) > 0 {
			t.full <- t.now
		}
		close(t.full)
		t.ended.Wait()
	}
	return t.error()
}

// close ends the goroutine, and removes the tables that Pebble does not have.
func (t *tables) close() error {
	if !t.over {
		t.over = true
		close(t.full)
		t.ended.Wait()
	}
	return t.in.FS.RemoveAll(t.dir)
}

// writeAll is the goroutine that writes. After an error it only takes runs.
func (t *tables) writeAll() {
	for r := range t.full {
		if t.error() == nil {
			if err := t.write(r); err != nil {
				t.failed.Store(&err)
			}
		}
		if cap(r.bytes) > 2*mostRun {
			r.bytes = make([]byte, 0, mostRun) // it had a long value
		}
		r.bytes, r.refs = r.bytes[:0], r.refs[:0]
		t.free <- r
	}
}

// write sorts a run, writes it as a table, and gives that to Pebble.
func (t *tables) write(r *run) error {
	if err := t.in.Host.Room(len(r.bytes) + runFloor); err != nil {
		return err
	}
	slices.SortFunc(r.refs, func(a, b ref) int {
		if c := cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.hash, b.hash)); c != 0 {
			return c
		}
		return bytes.Compare(r.key(&a), r.key(&b))
	})
	path := t.in.FS.PathJoin(t.dir, strconv.Itoa(t.written)+".sst")
	if err := t.writeTable(path, r); err != nil {
		return err
	}
	if err := fence.SyncDir(t.in.FS, t.dir); err != nil {
		return err
	}
	t.in.Disk.RLock()
	defer t.in.Disk.RUnlock()
	t.in.Disk.Pace()
	if err := t.in.Disk.Change(func(db *pebble.DB) error { return db.Ingest(context.Background(), []string{path}) }); err != nil {
		return fmt.Errorf("take in a table: %w", err)
	}
	t.written++
	return nil
}

func (r *run) key(f *ref) []byte { return r.bytes[f.at:][:f.length] }

func (r *run) value(f *ref) []byte { return r.bytes[f.at+f.length:][:f.value] }

func (t *tables) writeTable(path string, r *run) error {
	w, err := t.in.Disk.CreateTable(t.in.FS, path, t.in.Host.Options(), 0)
	if err != nil {
		return err
	}
	for i := range r.refs {
		e := &r.refs[i]
		if i > 0 && e.hash == r.refs[i-1].hash && bytes.Equal(r.key(e), r.key(&r.refs[i-1])) {
			return errors.Join(fmt.Errorf("key %.100q: %w", clientKey(r.key(e)), ErrTwice), w.Close())
		}
		if err := w.Set(r.key(e), r.value(e)); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// clientKey is the key of a client in that of a head or a page.
func clientKey(key []byte) []byte {
	if _, _, k, _, ok := format.SplitPageKey(key); ok && key[0] == format.PrefixPage {
		return k
	}
	return key[format.HeadKeyFixed:]
}
