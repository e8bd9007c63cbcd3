package keys

import (
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
	payload, ok, err := dumpPayload(c, key)
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

// dumpPayload is the payload of what a key holds. ok: the key exists.
func dumpPayload(c *commands.Ctx, key []byte) (payload []byte, ok bool, err error) {
	kind := lookKind(c, key)
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
	_, encoded, ok := c.Tx.Dump(nil, key)
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

func restore(c *commands.Ctx) error {
	key, ttl, payload := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	o := readRestoreOptions(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	exists := c.Tx.Kind(key) != structures.KindNone
	if exists && !o.replace {
		return commands.ErrBusyKey
	}
	expiry, err := restoreExpiry(c, ttl, o.absolute)
	if err != nil {
		return err
	}
	v, err := decodePayload(c, payload)
	if err != nil {
		return err
	}
	if expiry != persistence.NoExpiry && int64(expiry) <= c.Now {
		return restoreExpired(c, key, exists)
	}
	storeDecoded(c.Tx, key, v, expiry)
	if limits := c.Host.Limits(); limits.LFU && o.frequency >= 0 {
		c.Tx.SetFrequency(key, int(o.frequency))
	} else if !limits.LFU && o.idle >= 0 {
		c.Tx.SetIdle(key, min(o.idle, maxIdle))
	}
	c.Notify(commands.EventNew, "new", key) // also if it replaces a key
	c.Notify(commands.EventGeneric, "restore", key)
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

// decodePayload takes a payload apart, whole, before anything is changed.
func decodePayload(c *commands.Ctx, payload []byte) (rdb.Decoded, error) {
	limits := c.Host.Limits()
	v, err := rdb.Decode(payload, rdb.Options{
		MaxString: uint64(limits.MaxBulk), MaxBloom: uint64(max(limits.ModuleMemoryLimit, 0)), HashKeys: c.Tx.HashKeys()})
	var unknown *rdb.UnknownError
	switch {
	case errors.Is(err, rdb.ErrFrame):
		return v, errPayloadFrame
	case errors.As(err, &unknown):
		return v, errPayloadUnknown(unknown.Error())
	case err == nil && types.Of(v.Kind) == nil:
		return v, errPayloadUnknown(fmt.Sprintf("kind %d of a newer vigil is not known", v.Kind))
	case err == nil && v.Value == nil && v.Kind != structures.KindString:
		v.Value, err = c.Tx.Decode(v.Kind, v.Bytes)
	}
	if err != nil {
		return v, errPayload
	}
	return v, nil
}

// storeDecoded stores a value under key, replacing any existing value.
func storeDecoded(tx *persistence.Tx, key []byte, v rdb.Decoded, expiry persistence.Expiry) {
	if v.Kind == structures.KindString {
		tx.SetString(key, v.Bytes, expiry)
		return
	}
	persistence.Replace(tx, key, v.Value, expiry)
}
