package keys

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
	"github.com/vigildb/vigil/structures/types"
)

func dumpRows() []commands.Command {
	return []commands.Command{
		{Name: "DUMP", Arity: 2, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)},
			Syntax: "key", Since: "2.6.0", Cost: "O(n) for n bytes",
			Summary: "Returns the value of a key in the serialized form that RESTORE takes, here and in Redis.", Run: dump},
		{Name: "RESTORE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.Dangerous, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Update)},
			Syntax: "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
			Since:  "2.6.0", Cost: "O(n) for n bytes",
			Summary: "Creates a key from the output of DUMP, made here or by Redis.", Run: restore},
	}
}

func dump(c *commands.Ctx) error {
	key := c.Args.Key()
	kind := lookKind(c, key)
	if t := types.Of(kind); t != nil && t.Dump != nil {
		if fork, _ := forkAny(c, key, kind); fork != nil {
			c.Later(func() {
				payload, _ := t.Dump(nil, fork) // fails only if something cannot be read
				c.Reply.Bulk(payload)
			})
			return nil
		}
	}
	payload, ok, err := dumpPayload(c, key, kind)
	switch {
	case err != nil:
		return err
	case !ok:
		c.Reply.Null()
	default:
		c.Reply.Bulk(payload)
	}
	return nil
}

// forkAny is [commands.Fork] of what a key of that kind holds; nil if that is not worthwhile.
func forkAny(c *commands.Ctx, key []byte, kind structures.Kind) (fork structures.Value, bytes int) {
	if kind == structures.KindNone || kind == structures.KindString {
		return nil, 0
	}
	v, _ := c.Tx.Value(key)
	f, ok := v.(structures.Forkable)
	if !ok {
		return nil, 0
	}
	forks, bytes := commands.Fork(c, f)
	if bytes == 0 {
		return nil, 0
	}
	return forks[0], bytes
}

// dumpPayload is the payload of what a key holds, which is of that kind. ok: the key exists.
func dumpPayload(c *commands.Ctx, key []byte, kind structures.Kind) (payload []byte, ok bool, err error) {
	switch kind {
	case structures.KindNone:
		return nil, false, nil
	case structures.KindString:
		s, _, err := c.Tx.String(key)
		return rdb.AppendString(nil, s), true, err
	}
	v, err := c.Tx.Value(key) // which counts as a use
	if err != nil {
		return nil, true, err
	}
	if t := types.Of(kind); t != nil && t.Dump != nil {
		payload, err = t.Dump(nil, v)
		return payload, true, err
	}
	_, encoded, ok := c.Tx.Transfers().Dump(nil, key)
	return rdb.AppendOwn(nil, kind, encoded), ok, nil
}

// restoreOptions are the arguments of RESTORE besides key and payload.
type restoreOptions struct {
	replace, absolute bool
	idle, frequency   int64 // seconds, and a counter; -1: not given
}

// maxIdle is half of the seconds that Redis's access clock can distinguish.
const maxIdle = 1<<23 - 1

// readRestoreOptions reads up to the end of the call. IDLETIME and FREQ exclude
// each other.
func readRestoreOptions(c *commands.Ctx) restoreOptions {
	o := restoreOptions{idle: -1, frequency: -1}
	for c.Args.More() {
		switch {
		case c.Args.Is("REPLACE"):
			o.replace = true
		case c.Args.Is("ABSTTL"):
			o.absolute = true
		case c.Args.Left() >= 2 && o.frequency < 0 && c.Args.Is("IDLETIME"):
			if o.idle = c.Args.Int(); o.idle < 0 {
				c.Args.Fail(errRestoreIdle)
			}
		case c.Args.Left() >= 2 && o.idle < 0 && c.Args.Is("FREQ"):
			if o.frequency = c.Args.Int(); o.frequency < 0 || o.frequency > 255 {
				c.Args.Fail(errRestoreFrequency)
			}
		default:
			c.Args.Syntax()
		}
	}
	return o
}

func restore(c *commands.Ctx) error { return c.Apart(beginRestore) }

// longPayload is the length from which on a payload is taken apart without locks: some ms.
const longPayload = 1 << 20

func beginRestore(c *commands.Ctx) (*commands.Job, error) {
	key, ttl, payload := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	o := readRestoreOptions(c)
	if err := c.Args.Done(); err != nil {
		return nil, err
	}
	if c.Tx.Kind(key) != structures.KindNone && !o.replace {
		return nil, commands.ErrBusyKey
	}
	expiry, err := restoreExpiry(c, ttl, o.absolute)
	if err != nil {
		return nil, err
	}
	r := restoring{key: key, payload: payload, options: o, expiry: expiry, limits: c.Host.Limits(), tx: c.Tx}
	j := &commands.Job{Work: r.decode, End: r.store}
	if len(payload) >= longPayload && !c.InMulti && c.Take != nil && c.Take(payload) {
		r.key = bytes.Clone(key)
		j.Bytes = 3 * len(payload) // the payload, the value, and its record
	}
	return j, nil
}

// restoring is a call of RESTORE.
type restoring struct {
	key, payload []byte
	options      restoreOptions
	expiry       persistence.Expiry
	limits       *commands.Limits
	tx           *persistence.Tx

	decoded rdb.Decoded
	value   *persistence.Prepared // nil for a string
}

// decode takes the payload apart, whole, before anything is changed. It needs no locks.
func (r *restoring) decode() (err error) {
	switch r.decoded, err = decodePayload(r.limits, r.tx, r.payload); {
	case err != nil:
	case r.decoded.Kind == structures.KindString:
		r.decoded.Bytes = structures.Clone(r.decoded.Bytes)
	default:
		r.value = persistence.Prepare(r.decoded.Value)
	}
	return err
}

func (r *restoring) store(c *commands.Ctx) error {
	exists := c.Tx.Kind(r.key) != structures.KindNone
	var err error
	switch {
	case exists && !r.options.replace: // since decode began
		return commands.ErrBusyKey
	case r.expiry != persistence.NoExpiry && int64(r.expiry) <= c.Now:
		return restoreExpired(c, r.key, exists)
	case r.value == nil:
		c.Tx.GiveString(r.key, r.decoded.Bytes, r.expiry)
	default:
		err = persistence.ReplacePrepared(c.Tx, r.key, r.value, r.expiry)
	}
	if err != nil {
		return err
	}
	if r.limits.LFU && r.options.frequency >= 0 {
		c.Tx.Usage().SetFrequency(r.key, int(r.options.frequency))
	} else if !r.limits.LFU && r.options.idle >= 0 {
		c.Tx.Usage().SetIdle(r.key, min(r.options.idle, maxIdle))
	}
	c.Notify(commands.EventNew, "new", r.key) // also if it replaces a key
	c.Notify(commands.EventGeneric, "restore", r.key)
	c.Reply.OK()
	return nil
}

// restoreExpiry is the time in ttl milliseconds from now or, if absolute, from
// 1970; 0 is none.
func restoreExpiry(c *commands.Ctx, ttl []byte, absolute bool) (persistence.Expiry, error) {
	ms, ok := commands.ParseInt(ttl)
	switch {
	case !ok:
		return 0, commands.ErrNotInteger
	case ms < 0:
		return 0, errRestoreTTL
	case ms == 0 || absolute:
		return persistence.Expiry(ms), nil
	case ms > math.MaxInt64-c.Now:
		return 0, commands.ErrInvalidExpire(c.Command)
	}
	return persistence.Expiry(c.Now + ms), nil
}

// restoreExpired is what happens to a key that would go at once: it is not
// made, and what it replaces is gone.
func restoreExpired(c *commands.Ctx, key []byte, exists bool) error {
	if exists {
		c.Tx.Delete(key)
		c.Notify(commands.EventGeneric, "del", key)
	}
	c.Reply.OK()
	return nil
}

// decodePayload takes a payload apart.
func decodePayload(limits *commands.Limits, tx *persistence.Tx, payload []byte) (rdb.Decoded, error) {
	v, err := rdb.Decode(payload, rdb.Options{
		MaxString: uint64(limits.MaxBulk), MaxBloom: limits.ModuleMemory(), HashKeys: tx.HashKeys()})
	var unknown *rdb.UnknownError
	switch {
	case errors.Is(err, rdb.ErrFrame):
		return v, errPayloadFrame
	case errors.As(err, &unknown):
		return v, errPayloadUnknown(unknown.Error())
	case err == nil && types.Of(v.Kind) == nil:
		return v, errPayloadUnknown(fmt.Sprintf("kind %d of a newer vigil is not known", v.Kind))
	case err == nil && v.Value == nil && v.Kind != structures.KindString:
		v.Value, err = tx.Transfers().Decode(v.Kind, v.Bytes)
	}
	if err != nil {
		return v, errPayload
	}
	return v, nil
}
