package hashes

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

func fieldExpiryRows() []commands.Command {
	rows := commands.PartRows{Letter: "H", Part: "field", Of: "hash", Since: "7.4.0", Expire: hexpire, TTL: fieldTTL, Persist: hpersist}
	return rows.Commands()
}

// fieldWords are what the commands call fields.
var fieldWords = commands.PartWords{Keyword: "FIELDS", Missing: errFieldsMissing, Match: errNumFieldsMatch}

// readFields reads FIELDS, the number of fields and the fields.
func readFields(a *commands.Args, bad error) [][]byte { return a.Parts(&fieldWords, bad) }

// placed reads fields that stand anywhere among the options of a call, with the errors of Redis 8.0 for calls that
// no version understands. width is 2 if values follow the fields, and bad the error for what is no number of them.
func placed(width int, bad error) commands.PartReader {
	return commands.PartReader{Words: &fieldWords, Width: width, Bad: bad, None: errNumFieldsMatch, Few: errNumFieldsMatch,
		Missing: errFieldsMissing, Many: errFieldsMissing,
		Unknown: func(_ []byte, named bool) error {
			if named {
				return errNumFieldsMatch
			}
			return errFieldsMissing
		}}
}

// hexpire looks at the type of the key before it reads its arguments, as Redis
// does.
func hexpire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	x := expirer(c, h, ch, c.PartDeadline(u, base))
	read := placed(1, errNumFieldsZero)
	when, fields := read.ToExpire(&c.Args)
	x.When = when
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	c.ReplyParts(fields, ok, x.Expire)
	notifyExpirer(c, &x, h, key)
	return nil
}

// expirer gives fields of a hash the same expiry.
func expirer(c *commands.Ctx, h *hash.Hash, ch *structures.Change, ms int64) commands.PartExpirer {
	return commands.PartExpirer{Value: h, Change: ch, Delete: func(field []byte) { h.Delete(ch, field) }, Now: c.Now, Millis: ms, Parts: c.PartNames()}
}

func notifyExpirer(c *commands.Ctx, x *commands.PartExpirer, h *hash.Hash, key []byte) {
	if x.Deleted > 0 {
		c.NotifyParts(commands.EventHash, "hdel", key, &x.Parts)
	} else if x.Updated > 0 {
		c.NotifyParts(commands.EventHash, "hexpire", key, &x.Parts)
	}
	if x.Deleted > 0 {
		notifyEmptied(c, h, key)
	}
}

func fieldTTL(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	h, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.ReplyParts(fields, ok, func(name []byte) int64 { return commands.PartTTL(h, name, u, base) })
	return nil
}

func hpersist(c *commands.Ctx) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	changed, names := false, c.PartNames()
	c.ReplyParts(fields, ok, func(name []byte) int64 {
		n := commands.PersistPart(h, ch, name)
		if n == commands.PartChanged {
			changed = true
			names.Add(name)
		}
		return n
	})
	if changed {
		c.NotifyParts(commands.EventHash, "hpersist", key, &names)
	}
	return nil
}
