package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/slots"
)

// Keys on their way to another group travel in frames, one after the other. A frame is keys:
//
//	length (uvarint) | key | 0 (1)                                                            a key that is gone
//	length (uvarint) | key | kind (1) | expiry in unix ms, 0 for none (8) | length (4) | what Tx.Dump has made (uvarint)
//
// Later ones replace what came before of the same key.

const (
	// frameBytes is about how large a frame is, unless a value is larger.
	frameBytes = 1 << 20
	// maxMovedValue is the largest value that is moved: it is one change of the group that gets it.
	maxMovedValue = 512 << 20
	// takenAtOnce is how many keys are taken in while their shards are locked, and takenBytes about how many bytes.
	takenAtOnce = 64
	takenBytes  = 256 << 10
)

var errFrame = errors.New("keys from another group do not decode")

// copier copies keys into frames. It is for one goroutine.
type copier struct {
	srv   *Server
	tx    *persistence.Tx
	send  func(frame []byte) error
	frame []byte
	keys  int64 // that were copied
	bytes int64 // that were sent
}

// copy appends a key as it is now, and sends a frame when it is full.
func (c *copier) copy(ctx context.Context, key []byte) error {
	var set persistence.Shards
	set.Add(c.tx.Expect(key))
	for !c.tx.Lock(&set, c.srv.clock.Now().UnixMilli()) {
		c.srv.waitABit()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	err := c.appendKey(key)
	c.tx.Unlock()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && len(c.frame) >= frameBytes {
		err = c.flush()
	}
	return err
}

// appendKey appends a key, which is locked.
func (c *copier) appendKey(key []byte) error {
	if !c.tx.Writable() {
		return persistence.ErrNotLeader
	}
	c.tx.Select(0)
	c.frame = append(binary.AppendUvarint(c.frame, uint64(len(key))), key...)
	c.keys++
	expire, ok := c.tx.ExpireAt(key)
	if !ok {
		c.frame = append(c.frame, 0)
		return c.tx.Err()
	}
	at := len(c.frame)
	c.frame = binary.LittleEndian.AppendUint64(append(c.frame, 0), uint64(expire))
	c.frame = append(c.frame, 0, 0, 0, 0)
	from := len(c.frame)
	kind, frame, _ := c.tx.Dump(c.frame, key)
	c.frame, frame[at] = frame, byte(kind)
	size := len(frame) - from
	if err := c.tx.Err(); err != nil {
		return err
	}
	if size > maxMovedValue {
		return fmt.Errorf("the value of a key of slot %d has %d bytes, and ones of up to %d can be moved", commands.KeySlot(key), size, maxMovedValue)
	}
	binary.LittleEndian.PutUint32(frame[from-4:], uint32(size))
	return nil
}

// flush sends what has been copied.
func (c *copier) flush() error {
	if len(c.frame) == 0 {
		return nil
	}
	c.bytes += int64(len(c.frame))
	err := c.send(c.frame)
	if c.frame = c.frame[:0]; cap(c.frame) > 4*frameBytes {
		c.frame = nil
	}
	return err
}

// movedKey is a key of a frame.
type movedKey struct {
	key     []byte
	kind    structures.Kind // KindNone for one that is gone
	expire  int64
	payload []byte
}

// cutKey splits the first key off a frame.
func cutKey(b []byte) (k movedKey, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > maxKey || uint64(len(b)-size) < n+1 {
		return k, nil, errFrame
	}
	b = b[size:]
	k.key, k.kind, b = b[:n], structures.Kind(b[n]), b[n+1:]
	if k.kind == structures.KindNone {
		return k, b, nil
	}
	if len(b) < 12 {
		return k, nil, errFrame
	}
	k.expire = int64(binary.LittleEndian.Uint64(b))
	n = uint64(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; uint64(len(b)) < n || n > maxMovedValue || k.expire < 0 {
		return k, nil, errFrame
	}
	k.payload = b[:n]
	return k, b[n:], nil
}

// takeKeys takes a frame of another group in while expected says so, and returns when that is committed.
func (srv *Server) takeKeys(frame []byte, expected func() bool) error {
	if srv.crowded() {
		return commands.ErrOOM
	}
	tx := srv.store.NewTx()
	newest := uint64(0)
	for len(frame) > 0 {
		var some []movedKey
		for size := 0; len(frame) > 0 && len(some) < takenAtOnce && size < takenBytes; size += len(some[len(some)-1].payload) {
			k, rest, err := cutKey(frame)
			if err != nil {
				return err
			}
			some, frame = append(some, k), rest
		}
		position, err := srv.takeSome(tx, some, expected)
		if err != nil {
			return err
		}
		newest = max(newest, position)
	}
	return srv.journal.WaitDurable(newest)
}

// takeSome takes some keys in, and returns the position of that.
func (srv *Server) takeSome(tx *persistence.Tx, some []movedKey, expected func() bool) (position uint64, err error) {
	var set persistence.Shards
	for i := range some {
		set.Add(tx.Expect(some[i].key))
	}
	for !tx.Lock(&set, srv.clock.Now().UnixMilli()) {
		if srv.waitABit(); srv.done.Err() != nil {
			return 0, srv.done.Err()
		}
	}
	defer tx.Unlock()
	if !tx.Writable() || !expected() {
		return 0, persistence.ErrNotLeader
	}
	tx.Select(0)
	for i := range some {
		k := &some[i]
		if _, gone := srv.mayChange(k.key); !gone {
			err = errFrame // the slot is this group's
			break
		}
		if k.kind == structures.KindNone {
			tx.Delete(k.key)
			continue
		}
		if err = tx.Restore(k.key, k.kind, persistence.Expiry(k.expire), k.payload); err != nil {
			break
		}
	}
	err = errors.Join(err, tx.Err())
	return tx.Commit(), err
}

// removeKeys removes all keys of some slots while allowed says so under their locks, and returns when that is committed.
// Clients that watch such a key or keep it are told, and no event is published.
func (srv *Server) removeKeys(ctx context.Context, of *slots.Set, allowed func() bool) error {
	s := &session{host: host{srv}, tx: srv.store.NewTx()}
	s.ctx.Client, s.ctx.Host, s.ctx.Table, s.ctx.Tx = &s.Client, s, srv.table, s.tx
	for shard := range uint64(persistence.ShardCount) {
		for from, first := shard<<56, true; first || from != 0; first = false {
			s.turn.start(srv.clock.Now())
			s.ctx.Now = s.turn.millis()
			s.shards = persistence.Shards{}
			s.shards.Add(shard << 56)
			for s.locked = s.tx.Lock(&s.shards, s.ctx.Now); !s.locked; s.locked = s.tx.Lock(&s.shards, s.ctx.Now) {
				if srv.waitABit(); ctx.Err() != nil {
					return ctx.Err()
				}
			}
			var err error
			from, err = s.removeSome(from, of, allowed)
			s.release()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
		}
	}
	if lsn := s.dur.awaited(); lsn > 0 {
		return srv.journal.WaitDurable(lsn)
	}
	return nil
}

// removeSome removes keys of the shard that is locked, from a hash on, and returns where to go on.
func (s *session) removeSome(from uint64, of *slots.Set, allowed func() bool) (next uint64, err error) {
	if !s.tx.Writable() || !allowed() {
		return 0, persistence.ErrNotLeader
	}
	s.tx.Select(0)
	s.tx.OnChange = s.changed
	var keys [][]byte
	next = s.tx.ScanShard(from, slotStep, func(key []byte) {
		if of.Has(commands.KeySlot(key)) {
			keys = append(keys, append([]byte(nil), key...))
		}
	})
	for _, key := range keys {
		s.tx.Delete(key)
	}
	err = s.tx.Err()
	s.commit()
	return next, err
}
