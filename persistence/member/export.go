package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// A member that lacks entries which the others have cut off their logs, or that is new, is
// given the state of the group as of an entry: the keys of the group as a snapshot of Pebble
// shows them, and of the log what a replay needs. It travels as a stream:
//
//	"VIGS" | format, 1 (1)
//	blocks: length of the payload (4) | crc32c of all payload up to its end (4) | payload, up to streamBlock and a key
//	the end: 0 (4) | crc32c of all payload (4)
//
// The payload is
//
//	index (8) | term (8) | last record (8) up to the entry whose state it is
//	index (8) | term (8) | last record (8) up to the entry behind which the log begins
//	length (4) | members, as the log keeps them, as of index (8) in front
//	length (4) | meta, in format 2, which every version reads
//	length of key (4) | length of value (4) | key | value, ... in the order of keys
//
// No block, and no part of one, counts before its sum was compared.
const (
	streamMagic  = "VIGS"
	streamFormat = 1
	blockHeader  = 4 + 4
	streamBlock  = 256 << 10
	streamFixed  = 6 * 8
	// maxField bounds what a receiver takes memory for: the value of the largest record.
	maxField = 640 << 20
	// maxStreamKey bounds keys: the longest one of a client, and what keys of pages add.
	maxStreamKey = 1<<20 + 64
)

// streamed are the prefixes of the keys that a stream has, in their order. Records of the log
// ('r') are each member's own.
var streamed = [...]byte{format.PrefixCount, format.PrefixConfiguration, format.PrefixExpiry, format.PrefixJournal, format.PrefixMark, format.PrefixLibrary, format.PrefixMeta,
	format.PrefixHead, format.PrefixPage, format.PrefixStage, format.PrefixMove, format.PrefixStaged, format.PrefixUser}

// Export is the state of the group as of an entry, to be read as a stream. It is for one
// goroutine, but Close may be called by any.
type Export struct {
	Index, Term uint64 // of the entry
	Members     grouplog.Membership
	Block       int // bytes from which on a block takes no more

	m     *Member
	mu    sync.Mutex // guards below
	snap  *pebble.Snapshot
	held  *grouplog.Held
	meta  []byte
	it    *pebble.Iterator // in stage, but for entries
	log   *grouplog.Reader // of the entries
	stage int              // of streamed
	begin uint64           // entry behind which the log begins
	out   []byte           // what is to be read, from at
	at    int
	from  int // where the payload of the block in out begins
	sum   uint32
	done  bool
	value []byte // the rest of a value that did not fit into a block
}

// Export returns the state as of the last entry that was applied. The goroutine that calls
// Commit calls it. Nothing else waits; what Pebble removes meanwhile stays on disk until Close.
func (m *Member) Export() (*Export, error) {
	if err := m.disk.Err(); err != nil {
		return nil, err
	}
	e := &Export{m: m, Index: m.Applied(), Members: m.log.Membership(), stage: -1, Block: streamBlock}
	var err error
	if e.held, err = m.log.Hold(e.Index, func() *pebble.Snapshot {
		e.snap = m.disk.DB.NewSnapshot()
		return e.snap
	}); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if err := e.start(); err != nil {
		return nil, fmt.Errorf("export: %w", errors.Join(err, e.Close()))
	}
	m.exports.Store(e, nil)
	return e, nil
}

// start writes what a stream begins with.
func (e *Export) start() error {
	raw, closer, err := e.snap.Get(format.AppendMetaKey(nil))
	if err != nil {
		return fmt.Errorf("read meta: %w", err)
	}
	stored, err := format.DecodeMeta(raw)
	if err = errors.Join(err, closer.Close()); err != nil {
		return err
	}
	stored.Pebble = true
	e.meta, e.begin = stored.Append(nil), stored.Trimmed.Index
	var last uint64
	if e.Term, last, err = e.held.Last(e.Index); err != nil {
		return err
	}
	begun, _, err := e.held.Last(e.begin)
	if err != nil {
		return err
	}
	b := make([]byte, 0, streamFixed)
	for _, n := range []uint64{e.Index, e.Term, last, e.begin, begun, stored.Trimmed.LSN} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	members := append(binary.LittleEndian.AppendUint64(nil, e.Members.Index), e.Members.Members...)
	for _, field := range [][]byte{members, e.meta} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(field))), field...)
	}
	e.out = append([]byte(streamMagic), streamFormat)
	e.block(b)
	return nil
}

// block appends a block to what is to be read.
func (e *Export) block(payload []byte) {
	e.beginBlock()
	e.out = append(e.out, payload...)
	e.endBlock()
}

// beginBlock leaves room for the header of a block, whose payload follows.
func (e *Export) beginBlock() {
	e.from = len(e.out) + blockHeader
	e.out = append(e.out, make([]byte, blockHeader)...)
}

// endBlock writes the header, and reports whether there is a payload.
func (e *Export) endBlock() bool {
	payload := e.out[e.from:]
	e.sum = format.Checksum(e.sum, payload)
	header := e.out[e.from-blockHeader:]
	binary.LittleEndian.PutUint32(header, uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[4:], e.sum)
	return len(payload) > 0
}

// Read reads the stream. It is io.EOF behind its end, and ErrClosed after Close.
func (e *Export) Read(p []byte) (n int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.snap == nil {
		return 0, ErrClosed
	}
	if e.at == len(e.out) {
		if e.done {
			return 0, io.EOF
		}
		e.out, e.at = e.out[:0], 0
		e.beginBlock()
		if err := e.payload(); err != nil {
			return 0, fmt.Errorf("export: %w", err)
		}
		e.done = !e.endBlock()
	}
	n = copy(p, e.out[e.at:])
	e.at += n
	return n, nil
}

// payload appends that of a block, nothing behind the last key.
func (e *Export) payload() error {
	for room := e.Block; room > 0; room = e.Block - (len(e.out) - e.from) {
		if len(e.value) > 0 {
			n := min(room, len(e.value))
			e.out, e.value = append(e.out, e.value[:n]...), e.value[n:]
			continue
		}
		key, value, err := e.next()
		if err != nil || key == nil {
			return err
		}
		e.out = binary.LittleEndian.AppendUint32(e.out, uint32(len(key)))
		e.out = append(binary.LittleEndian.AppendUint32(e.out, uint32(len(value))), key...)
		e.value = value // valid until the iterator moves
	}
	return nil
}

// next moves to the next key, which is nil behind the last one.
func (e *Export) next() (key, value []byte, err error) {
	for key == nil && err == nil {
		switch {
		case e.stage >= 0 && streamed[e.stage] == format.PrefixJournal:
			key, value, err = e.nextEntry()
		case e.it != nil:
			key, value, err = e.nextKey()
		}
		if key != nil || err != nil || e.stage+1 == len(streamed) {
			break
		}
		e.stage++
		if streamed[e.stage] == format.PrefixJournal {
			e.log = e.held.Read(e.begin+1, e.Index+1)
			continue
		}
		e.it, err = e.snap.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, streamed[e.stage]), UpperBound: format.AppendGroupEnd(nil, streamed[e.stage])})
	}
	return key, value, err
}

// nextKey moves the iterator, which is closed behind its last key.
func (e *Export) nextKey() (key, value []byte, err error) {
	more := false
	if e.it.Valid() {
		more = e.it.Next()
	} else {
		more = e.it.First()
	}
	if !more {
		err := errors.Join(e.it.Error(), e.it.Close())
		e.it = nil
		return nil, nil, err
	}
	if value, err = e.it.ValueAndErr(); streamed[e.stage] == format.PrefixMeta {
		value = e.meta
	}
	return e.it.Key(), value, err
}

// nextEntry moves to the next entry, under the key that it has in Pebble of a store that begins with it.
func (e *Export) nextEntry() (key, value []byte, err error) {
	more, err := e.log.Next()
	if !more || err != nil {
		return nil, nil, err
	}
	value, err = e.log.Value()
	return format.AppendJournalKey(nil, e.log.Index()), value, err
}

// Close ends the export, wherever it is.
func (e *Export) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.snap == nil {
		return nil
	}
	e.m.exports.Delete(e)
	var err error
	if e.it != nil {
		err = e.it.Close()
	}
	if e.log != nil {
		err = errors.Join(err, e.log.Close())
	}
	e.held.Release()
	err = errors.Join(err, e.snap.Close())
	e.snap, e.it, e.log, e.value = nil, nil, nil, nil
	return err
}

// closeExports ends what is being read when the store is closed, or gets another state.
func (m *Member) closeExports() {
	m.exports.Range(func(e, _ any) bool {
		_ = e.(*Export).Close()
		return true
	})
}
