package member

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

const (
	// Incoming is the directory in that of a store where tables lie that were received and
	// do not count.
	Incoming = "incoming"
	// tableBytes is the size in bytes at which a table that is received ends.
	tableBytes = 16 << 20
)

// Import is a state of the group on its way in: a stream of [Export] is written to it, and it
// writes tables, which lie beside the store. It is for one goroutine.
type Import struct {
	Index, Term uint64 // of the entry, known when the first block is in; 0 before

	m        *Member
	dir      string
	takeover grouplog.Takeover
	meta     []byte // in the format of this store
	last     uint64 // record up to the entry
	in       []byte // what is not decoded: part of a block
	payload  []byte // of whole blocks, not decoded
	sum      uint32
	began    bool
	ended    bool
	key      []byte // the last one
	table    *sstable.Writer
	bytes    int // written to it
	paths    []string
	err      error
}

// Receive begins to take a state in. Any goroutine may call it.
func (m *Member) Receive() (*Import, error) {
	fsys := m.fs
	i := &Import{m: m, dir: fsys.PathJoin(m.incoming(), strconv.FormatUint(m.imports.Add(1), 10))}
	if err := errors.Join(fsys.MkdirAll(m.incoming(), 0o700), fsys.MkdirAll(i.dir, 0o700)); err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	return i, nil
}

func (m *Member) incoming() string { return m.fs.PathJoin(m.dir, Incoming) }

// dropIncoming removes what an earlier process has received.
func (m *Member) dropIncoming() error { return m.fs.RemoveAll(m.incoming()) }

// Write takes the next bytes of the stream. After an error, which is format.ErrCorrupt for bytes that
// are no such stream, ErrMember for one of another group, or the disk's, all others fail.
func (i *Import) Write(p []byte) (int, error) {
	if i.err == nil {
		i.in = append(i.in, p...)
		i.err = i.decode()
	}
	if i.err != nil {
		return 0, fmt.Errorf("receive: %w", i.err)
	}
	return len(p), nil
}

// decode takes the blocks that are there as a whole.
func (i *Import) decode() error {
	if !i.began {
		if len(i.in) < len(streamMagic)+1 {
			return nil
		}
		if string(i.in[:len(streamMagic)]) != streamMagic {
			return fmt.Errorf("%q begins no state of a group: %w", i.in[:len(streamMagic)], format.ErrCorrupt)
		}
		if f := i.in[len(streamMagic)]; f != streamFormat {
			return fmt.Errorf("a state of format %d: %w", f, format.ErrVersion)
		}
		i.in, i.began = i.in[len(streamMagic)+1:], true
	}
	b := i.in
	for len(b) >= blockHeader {
		n := binary.LittleEndian.Uint32(b)
		if n > streamBlock+maxStreamKey+8 && i.Index != 0 || n > maxField || i.ended {
			return fmt.Errorf("a block of %d bytes, ended %v: %w", n, i.ended, format.ErrCorrupt)
		}
		if uint64(len(b)-blockHeader) < uint64(n) {
			break
		}
		payload := b[blockHeader : blockHeader+n]
		if i.sum = format.Checksum(i.sum, payload); i.sum != binary.LittleEndian.Uint32(b[4:]) {
			return fmt.Errorf("checksum of a block of %d bytes: %w", n, format.ErrCorrupt)
		}
		i.payload = append(i.payload, payload...)
		i.ended = n == 0
		if err := i.take(); err != nil {
			return err
		}
		b = b[blockHeader+n:]
	}
	i.in = i.in[:copy(i.in, b)]
	return nil
}

// take takes what is whole of the payload.
func (i *Import) take() error {
	if i.Index == 0 {
		if err := i.begin(); err != nil {
			return err
		}
	}
	b := i.payload
	for len(b) >= 8 {
		k, v := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if k > maxStreamKey || v > maxField {
			return fmt.Errorf("a key of %d and a value of %d bytes: %w", k, v, format.ErrCorrupt)
		}
		if uint64(len(b)-8) < uint64(k)+uint64(v) {
			break
		}
		rest := b[8:]
		if err := i.set(rest[:k], rest[k:k+v]); err != nil {
			return err
		}
		b = rest[k+v:]
	}
	if len(b) < len(i.payload) { // else a long value would be copied for each of its blocks
		i.payload = i.payload[:copy(i.payload, b)]
	}
	if !i.ended {
		return nil
	}
	if len(i.payload) > 0 {
		return fmt.Errorf("%d bytes behind the last key: %w", len(i.payload), format.ErrCorrupt)
	}
	return i.endTable()
}

// begin takes what the stream begins with, which is one block.
func (i *Import) begin() error {
	b := i.payload
	if len(b) < streamFixed {
		return fmt.Errorf("a state begins with %d bytes: %w", len(b), format.ErrCorrupt)
	}
	var n [6]uint64
	for k := range n {
		n[k] = binary.LittleEndian.Uint64(b[8*k:])
	}
	b = b[streamFixed:]
	var fields [2][]byte
	for k := range fields {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
			return fmt.Errorf("a field of what a state begins with: %w", format.ErrCorrupt)
		}
		end := 4 + binary.LittleEndian.Uint32(b)
		fields[k], b = slices.Clone(b[4:end]), b[end:]
	}
	if len(b) > 0 || len(fields[0]) < 8 || n[0] == 0 || n[0] < n[3] || n[2] < n[5] {
		return fmt.Errorf("a state as of entry %d behind %d: %w", n[0], n[3], format.ErrCorrupt)
	}
	stored, err := format.DecodeMeta(fields[1])
	if err != nil {
		return err
	}
	own := i.m.host.Meta()
	if stored.Secret != own.Secret || !stored.Grouped || len(stored.Phys) != len(own.Phys) {
		return fmt.Errorf("a state with another secret or with %d databases in place of %d: %w", len(stored.Phys), len(own.Phys), ErrMember)
	}
	i.payload = nil
	stored.Pebble = false
	i.meta = stored.Append(nil)
	i.Index, i.Term, i.last = n[0], n[1], n[2]
	i.takeover = grouplog.Takeover{Cut: n[3], CutTerm: n[4], CutRecord: n[5], Rests: n[2],
		Membership: grouplog.Membership{Index: binary.LittleEndian.Uint64(fields[0]), Members: fields[0][8:]}}
	return nil
}

// Members returns the members as of the entry.
func (i *Import) Members() grouplog.Membership { return i.takeover.Membership }

// set writes a key.
func (i *Import) set(key, value []byte) error {
	if !format.HasGroup(key) || !slices.Contains(streamed[:], key[0]) || bytes.Compare(key, i.key) <= 0 {
		return fmt.Errorf("key %.20q behind %.20q: %w", key, i.key, format.ErrCorrupt)
	}
	// What follows the records of the log is in a table of its own: they are written last.
	if i.bytes >= tableBytes || key[0] > format.PrefixRecords && len(i.key) > 0 && i.key[0] < format.PrefixRecords {
		if err := i.endTable(); err != nil {
			return err
		}
	}
	i.key = append(i.key[:0], key...)
	if i.table == nil {
		if err := i.beginTable(); err != nil {
			return err
		}
	}
	if key[0] == format.PrefixMeta {
		value = i.meta
	}
	i.bytes += len(key) + len(value)
	return i.table.Set(key, value)
}

func (i *Import) beginTable() error {
	path := i.m.fs.PathJoin(i.dir, fmt.Sprintf("%06d.sst", len(i.paths)))
	table, err := i.m.disk.CreateTable(i.m.fs, path, i.m.host.Options(), 6)
	if err != nil {
		return err
	}
	i.table, i.bytes = table, 0
	i.paths = append(i.paths, path)
	return nil
}

func (i *Import) endTable() (err error) {
	if i.table != nil {
		err = i.table.Close()
		i.table = nil
	}
	return err
}

// Finish returns an error, format.ErrCorrupt, unless the stream has been written to its end.
func (i *Import) Finish() error {
	if i.err == nil && !i.ended {
		i.err = fmt.Errorf("the state ends too early: %w", format.ErrCorrupt)
	}
	return i.err
}

// Close drops what was received, unless Restore has taken it.
func (i *Import) Close() error {
	err := i.endTable()
	i.err = ErrClosed
	return errors.Join(err, i.m.fs.RemoveAll(i.dir))
}
