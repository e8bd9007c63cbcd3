package wal

import (
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// Loss is what is known about the records after a damage.
type Loss struct {
	bytes   int64  // of the logs
	records int    // that could still be read
	last    uint64 // highest number of these
	keys    map[lostKey]struct{}
}

type lostKey struct {
	phys uint32
	key  string
}

// NewLoss returns an empty Loss, to which chunks and bytes of a log are added.
func NewLoss() *Loss { return &Loss{keys: map[lostKey]struct{}{}} }

// AddBytes adds to the bytes that are lost.
func (n *Loss) AddBytes(bytes int64) { n.bytes += bytes }

// lossBehind reads what it can behind a damage: a block that cannot be read
// hides what is in it.
func (l *Layout) lossBehind(d *Damage) *Loss {
	lost := NewLoss()
	for i := range l.Logs {
		e := &l.Logs[i]
		if e.Name < d.File {
			continue
		}
		from := int64(0)
		if e.Name == d.File {
			from = d.Offset
		}
		lost.log(l, e, from)
	}
	return lost
}

// log adds the contents of a log from the block after an offset.
func (n *Loss) log(l *Layout, e *Log, from int64) {
	f, err := l.fs.Open(l.fs.PathJoin(l.dir, e.Name))
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	n.bytes += max(0, min(info.Size(), max(e.End, l.mark.Synced(File{markLog, e.num})))-from)
	block := (from + BlockBytes - 1) / BlockBytes * BlockBytes
	for block < info.Size() {
		// A reader that starts at a block looks for the first record that begins
		// in it. Behind the place where it stops another one starts.
		rest := io.NewSectionReader(f, block, info.Size()-block)
		read := n.readable(numbered(record.NewReader, rest, e.num))
		block += (read/BlockBytes + 1) * BlockBytes
	}
}

// readable counts records up to the first that cannot be read, and returns where
// that begins.
func (n *Loss) readable(r *record.Reader) (end int64) {
	for {
		end = r.Offset()
		rec, err := r.Next()
		if err != nil {
			return end
		}
		b, err := io.ReadAll(rec)
		if err != nil {
			return end
		}
		n.batch(b)
	}
}

// batch counts the journal's records in a batch.
func (n *Loss) batch(b []byte) {
	for r := batchrepr.Read(b); ; {
		_, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return
		}
		if len(key) > 0 && key[0] == format.PrefixJournal && !format.IsPiece(key) {
			n.chunk(value)
		}
	}
}

// chunk counts the records of a chunk and the keys that they are about.
func (n *Loss) chunk(b []byte) {
	first, flags, records, err := format.OpenChunk(b)
	if err == nil && flags&format.ChunkPieces != 0 {
		n.records++
		n.last = max(n.last, first)
		return // what it is about is in the pieces
	}
	if err == nil {
		n.Records(first, records)
	}
}

// Records counts the records of a chunk, and the keys that they are about.
func (n *Loss) Records(first uint64, records []byte) {
	for lsn := first; len(records) > 0; lsn++ {
		var rec []byte
		var err error
		if rec, records, err = format.NextRecord(records); err != nil {
			return
		}
		n.records++
		n.last = max(n.last, lsn)
		for len(rec) > 0 {
			var op byte
			var args structures.Args
			if op, args, rec, err = structures.NextOp(rec); err != nil {
				break
			}
			if op == format.OpKey {
				n.keys[lostKey{uint32(args.Uint()), string(args.Bytes())}] = struct{}{}
			}
		}
	}
}

// Report says what is known to be lost when the last record that is left has
// number last.
func (n *Loss) Report(last uint64) string {
	if n.last <= last {
		return fmt.Sprintf("lost: what %d bytes of the log held behind record %d; no later record can be read in them",
			n.bytes, last)
	}
	return fmt.Sprintf("lost: records %d to %d at least, in %d bytes of the log; %d of them can be read, about %d keys",
		last+1, n.last, n.bytes, n.records, len(n.keys))
}
