package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// Group returns the commands of the family.
func Group() commands.Group {
	rows := append(readRows(), writeRows()...)
	rows = append(rows, randomRows()...)
	return commands.Group{Name: "set", Commands: append(rows, algebraRows()...)}
}

// view finds a set to read; ok is false if the key does not exist, which is
// published as a miss.
func view(c *commands.Ctx, key []byte) (s *set.Set, ok bool, err error) {
	return commands.View[*set.Set](c, key)
}

// edit finds a set to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, ok bool, err error) {
	return persistence.Edit[*set.Set](c.Tx, key, nil)
}

// editOrCreate finds a set to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, err error) {
	c.NotifyNew(key)
	s, ch, _, err = persistence.Edit(c.Tx, key, func() *set.Set { return set.New(c.Tx.HashKeys()) })
	return s, ch, err
}

// notifyRemoved publishes that members went, and that the key did with the last.
func notifyRemoved(c *commands.Ctx, event string, s *set.Set, key []byte) {
	c.Notify(commands.EventSet, event, key)
	if s.Empty() {
		c.Notify(commands.EventGeneric, "del", key)
	}
}

// replyMembers writes all members of a set.
func replyMembers(c *commands.Ctx, s *set.Set) {
	c.Reply.Set(s.Len())
	s.Each(func(member []byte) bool {
		c.Reply.Bulk(member)
		return true
	})
}
