package resharding

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/slots"
)

const (
	// takenAtOnce is how many keys are taken in while their shards are locked, and takenBytes about how many bytes.
	takenAtOnce = 64
	takenBytes  = 256 << 10
	// lockPause is how long to wait before locks are tried again that a script has.
	lockPause = 50 * time.Millisecond
)

// Keys are the keys of the server, by their slots.
type Keys struct{ o *Options }

// Lock locks shards, however long a script has them. It fails when ctx or the server ends.
func (k *Keys) Lock(ctx context.Context, tx *persistence.Tx, set *persistence.Shards) error {
	for !tx.Lock(set, k.o.Clock.Now().UnixMilli()) {
		if err := k.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pause waits a bit. It fails when ctx or the server ends.
func (k *Keys) pause(ctx context.Context) error {
	limited, cancel := clock.Within(ctx, k.o.Clock, lockPause)
	defer cancel()
	select {
	case <-limited.Done():
	case <-k.o.Done.Done():
	}
	return cmp.Or(ctx.Err(), k.o.Done.Err())
}

// scan calls see with all keys of a database, or of all ([cluster.EveryDB]), under the locks of their shards, and more between, until
// that returns false. What it has seen are records up to a position, if this server leads.
func (k *Keys) scan(ctx context.Context, db int, see func(key DBKey), more func() bool) (newest uint64, leads bool, err error) {
	tx, goesOn := k.o.Store.NewTx(), true
	for shard := range persistence.ShardCount {
		for w := k.Walk(shard, db); goesOn && !w.Over(); goesOn = more() {
			if err := k.Lock(ctx, tx, w.Shards()); err != nil {
				return 0, false, err
			}
			w.Step(tx, see)
			err := tx.Err()
			newest, leads = max(newest, tx.Seen()), leads || tx.Writable()
			tx.Unlock()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return 0, false, err
			}
		}
	}
	return newest, leads, nil
}

// Scan calls visit with the keys of some slots in a database, or in all ([cluster.EveryDB]), in no order, until it returns false. It looks
// at all keys, with the locks of few of them at a time: one that is there from the first call to the last is visited, one that comes or
// goes meanwhile may be. visit must not keep the key. At a leader, await waits until what was seen is committed.
func (k *Keys) Scan(ctx context.Context, db int, of *slots.Set, visit func(key []byte) bool) (await func() error, err error) {
	more := true
	newest, leads, err := k.scan(ctx, db, func(key DBKey) {
		if more && of.Has(commands.KeySlot(key.Name)) {
			more = visit(key.Name)
		}
	}, func() bool { return more })
	return func() error { return k.await(newest, leads) }, err
}

// await waits until what was seen is committed, at a leader.
func (k *Keys) await(newest uint64, leads bool) error {
	if !leads {
		return nil
	}
	err := k.o.Durable(newest)
	if errors.Is(err, persistence.ErrNotLeader) {
		return commands.ErrClusterDown
	}
	return err
}

// each is Scan, in all databases, for a visit that takes its time: it is given some keys at a time, without locks.
func (k *Keys) each(ctx context.Context, of *slots.Set, visit func(keys []DBKey) error) error {
	var keys []DBKey
	var failed error
	newest, leads, err := k.scan(ctx, cluster.EveryDB, func(key DBKey) {
		if of.Has(commands.KeySlot(key.Name)) {
			keys = append(keys, DBKey{key.DB, bytes.Clone(key.Name)})
		}
	}, func() bool {
		failed = visit(keys)
		keys = keys[:0]
		return failed == nil
	})
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	return k.await(newest, leads)
}

// drain waits until no call is under way that began before the slots that are fenced now were. scripts says that scripts count,
// which may use keys of any slot.
func (k *Keys) drain(ctx context.Context, scripts bool) error {
	for scripts && !k.o.Calls.ScriptsEnded() {
		if err := k.pause(ctx); err != nil {
			return err
		}
	}
	tx := k.o.Store.NewTx()
	for shard := range uint64(persistence.ShardCount) {
		var set persistence.Shards
		set.Add(shard << 56)
		if err := k.Lock(ctx, tx, &set); err != nil {
			return err
		}
		tx.Unlock()
	}
	return ctx.Err()
}

// Take takes a frame of another group in while expected says so under the locks of its keys, and returns when that is committed.
func (k *Keys) Take(frame []byte, expected func() bool) error {
	if k.o.Calls.Crowded() {
		return commands.ErrOOM
	}
	tx := k.o.Store.NewTx()
	newest := uint64(0)
	for from := (frameReader{b: frame}); from.more(); {
		var some []movedKey
		for size := 0; from.more() && len(some) < takenAtOnce && size < takenBytes; size += len(some[len(some)-1].payload) {
			key, err := from.next()
			if err != nil {
				return err
			}
			some = append(some, key)
		}
		position, err := k.takeSome(tx, some, expected)
		if err != nil {
			return err
		}
		newest = max(newest, position)
	}
	return k.o.Durable(newest)
}

// takeSome takes some keys in, and returns the position of that.
func (k *Keys) takeSome(tx *persistence.Tx, some []movedKey, expected func() bool) (position uint64, err error) {
	var set persistence.Shards
	for i := range some {
		set.Add(tx.Expect(some[i].key))
	}
	if err := k.Lock(k.o.Done, tx, &set); err != nil {
		return 0, err
	}
	defer tx.Unlock()
	if !tx.Writable() || !expected() {
		return 0, persistence.ErrNotLeader
	}
	databases := k.o.Databases()
	for i := range some {
		key := &some[i]
		if !k.o.Calls.Foreign(key.key) {
			err = ErrFrame
			break
		}
		if key.db >= databases {
			err = TooFewError{commands.KeySlot(key.key), key.db, databases}
			break
		}
		tx.Select(key.db)
		if key.kind == structures.KindNone {
			tx.Delete(key.key)
			continue
		}
		if err = tx.Transfers().Restore(key.key, key.kind, persistence.Expiry(key.expire), key.payload); err != nil {
			break
		}
	}
	err = errors.Join(err, tx.Err())
	return tx.Commit(), err
}

// copier copies keys into frames, and sends these. It is for one goroutine.
type copier struct {
	k         *Keys
	tx        *persistence.Tx
	databases int // of the group that gets the keys
	send      func(frame []byte) error
	frame     []byte
	db        int   // of the last key in the frame
	keys      int64 // that were copied
	bytes     int64 // that were sent
}

// copy appends a key as it is now, and sends a frame when it is full.
func (c *copier) copy(ctx context.Context, key DBKey) error {
	if key.DB >= c.databases {
		return TooFewError{commands.KeySlot(key.Name), key.DB, c.databases}
	}
	var set persistence.Shards
	set.Add(c.tx.Expect(key.Name))
	if err := c.k.Lock(ctx, c.tx, &set); err != nil {
		return err
	}
	err := error(persistence.ErrNotLeader)
	if c.tx.Writable() {
		c.tx.Select(key.DB)
		c.keys++
		if key.DB != c.db {
			c.frame, c.db = AppendDatabase(c.frame, key.DB), key.DB
		}
		c.frame, err = AppendKey(c.frame, c.tx, key.Name)
	}
	c.tx.Unlock()
	if err = cmp.Or(err, ctx.Err()); err == nil && len(c.frame) >= frameBytes {
		err = c.flush()
	}
	return err
}

// flush sends what has been copied.
func (c *copier) flush() error {
	if len(c.frame) == 0 {
		return nil
	}
	c.bytes += int64(len(c.frame))
	err := c.send(c.frame)
	if c.frame, c.db = c.frame[:0], 0; cap(c.frame) > 4*frameBytes {
		c.frame = nil
	}
	return err
}
