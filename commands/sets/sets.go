package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// Group returns the commands of the family.
func Group() commands.Group {
	rows := append(readRows(), writeRows()...)
	rows = append(rows, randomRows()...)
	rows = append(rows, expiryRows()...)
	rows = append(rows, memberExRows()...)
	return commands.Group{Name: "set", Commands: append(rows, algebraRows()...)}
}

// Expired members are removed by the next command that opens their set, as fields of hashes are.

// view finds a set to read; ok is false if the key does not exist, which is
// published as a miss.
func view(c *commands.Ctx, key []byte) (s *set.Set, ok bool, err error) {
	s, ok, err = commands.View[*set.Set](c, key)
	if ok && c.PartsDue(s) {
		if c.Tx.KeepsExpired() {
			s = s.Live(c.Now)
			return s, !s.Empty(), err
		}
		s, _, ok, err = edit(c, key)
	}
	return s, ok, err
}

// edit finds a set to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, ok bool, err error) {
	return commands.EditTimed(c, key, nil, expired)
}

// editOrCreate finds a set to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, err error) {
	s, ch, _, err = commands.EditTimed(c, key, func() *set.Set { return set.New(c.Tx.HashKeys()) }, expired)
	return s, ch, err
}

// expired publishes that members have expired.
func expired(c *commands.Ctx, s *set.Set, key []byte, _ *commands.PartNames) {
	notifyRemoved(c, "sexpired", s, key)
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
