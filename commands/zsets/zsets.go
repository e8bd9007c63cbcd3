package zsets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

func Group() commands.Group {
	rows := append(addRows(), readRows()...)
	rows = append(rows, rangeRows()...)
	rows = append(rows, removeRows()...)
	rows = append(rows, popRows()...)
	rows = append(rows, combineRows()...)
	return commands.Group{Name: "sorted-set", Commands: append(rows, walkRows()...)}
}

// view finds a sorted set to read. A key that is missing is published as a miss.
func view(c *commands.Ctx, key []byte) (s *zset.Set, ok bool, err error) {
	return commands.View[*zset.Set](c, key)
}

// edit finds a sorted set to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (s *zset.Set, ch *structures.Change, ok bool, err error) {
	return persistence.Edit[*zset.Set](c.Tx, key, nil)
}

// editOrCreate finds a sorted set to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (s *zset.Set, ch *structures.Change, err error) {
	c.NotifyNew(key)
	s, ch, _, err = persistence.Edit(c.Tx, key, func() *zset.Set { return zset.New(c.Tx.HashKeys()) })
	return s, ch, err
}

// notifyTaken publishes that members were removed, and that the key is gone if they
// were the last.
func notifyTaken(c *commands.Ctx, s *zset.Set, event string, key []byte) {
	c.Notify(commands.EventZSet, event, key)
	if s.Empty() {
		c.Notify(commands.EventGeneric, "del", key)
	}
}

// store makes key a set, replacing any existing value, and replies with the number of
// members. Of an empty set nothing is left, and the key is gone.
func store(c *commands.Ctx, key []byte, s *zset.Set, event string) error {
	n := s.Len()
	if err := c.Tx.Err(); err != nil { // s lacks members of a page that cannot be read
		return err
	}
	switch {
	case n > 0:
		if err := commands.Store(c, key, s); err != nil {
			return err
		}
		c.Notify(commands.EventZSet, event, key)
	case c.Tx.Delete(key):
		c.Notify(commands.EventGeneric, "del", key)
	}
	c.Reply.Int(int64(n))
	return nil
}

// beginMembers begins an array of n members. With scores it is flat in RESP2, and an
// array of pairs in RESP3.
func beginMembers(c *commands.Ctx, n int, scores bool) {
	if scores && c.Reply.Proto() != 3 {
		n *= 2
	}
	c.Reply.Array(n)
}

func replyMember(c *commands.Ctx, member []byte, score float64, scores bool) {
	if scores && c.Reply.Proto() == 3 {
		c.Reply.Array(2)
	}
	c.Reply.Bulk(member)
	if scores {
		c.Reply.Double(score)
	}
}
