package sets

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

// Group returns the commands of the family.
func Group() commands.Group {
	rows := append(readRows(), writeRows()...)
	rows = append(rows, randomRows()...)
	rows = append(rows, expiryRows()...)
	return commands.Group{Name: "set", Commands: append(rows, algebraRows()...)}
}

// view finds a set to read; ok is false if the key does not exist, which is
// published as a miss.
func view(c *commands.Ctx, key []byte) (s *set.Set, ok bool, err error) {
	s, ok, err = commands.View[*set.Set](c, key)
	if ok && due(c, s) {
		if c.Tx.KeepsExpired() {
			s = s.Live(c.Now)
			return s, !s.Empty(), err
		}
		s, _, ok, err = edit(c, key)
	}
	return s, ok, err
}

// Expired members are removed by the next command that opens their set, as fields of hashes are.

// due reports that members of the set can have expired.
func due(c *commands.Ctx, s *set.Set) bool {
	soon, some := s.NextExpiry()
	return some && soon <= c.Now
}

// expire removes the expired members. A set that is left empty is removed when its key is looked up
// next, or at the end of the call.
func expire(c *commands.Ctx, key []byte, s *set.Set, ch *structures.Change) {
	n := s.ExpireFields(ch, c.Now, math.MaxInt, nil)
	if n == 0 {
		return
	}
	c.Tx.CountExpiredFields(n)
	notifyRemoved(c, "sexpired", s, key)
}

// edit finds a set to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, ok bool, err error) {
	s, ch, ok, err = persistence.Edit[*set.Set](c.Tx, key, nil)
	if ok && due(c, s) {
		expire(c, key, s, ch)
		ok = !s.Empty()
	}
	return s, ch, ok, err
}

// editOrCreate finds a set to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (s *set.Set, ch *structures.Change, err error) {
	create := func() *set.Set { return set.New(c.Tx.HashKeys()) }
	c.NotifyNew(key)
	s, ch, _, err = persistence.Edit(c.Tx, key, create)
	if err == nil && due(c, s) {
		expire(c, key, s, ch)
		if s.Empty() { // gone with its last member: this is a new set
			c.NotifyNew(key)
			s, ch, _, err = persistence.Edit(c.Tx, key, create)
		}
	}
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
