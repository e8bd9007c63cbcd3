package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/set"
)

func memberExRows() []commands.Command {
	return []commands.Command{
		{Name: "SADDEX", Arity: -5, Flags: commands.Write | commands.DenyOOM | commands.Fast,
			Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [MNX | MXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] " +
				"MEMBERS nummembers member [member ...]",
			Since: "8.12.0", Cost: "O(n) for n members",
			Summary: "Adds members to a set with an expiry, on request only if all of them are there or none is.", Run: saddex},
	}
}

// memberSetting is the arguments of SADDEX after the key.
type memberSetting struct {
	when    commands.PartsWhen // MNX and MXX
	expiry  commands.PartExpiry
	members [][]byte
}

func readMemberSetting(c *commands.Ctx) memberSetting {
	a := &c.Args
	s := memberSetting{expiry: commands.PartExpiry{Bare: "KEEPTTL"}}
	read := placed(1, errNumMembersWrong, commands.ErrArity(c.Command))
	s.members = read.Read(a, func(word string) bool {
		switch word {
		case "MNX":
			s.when.Only(a, commands.PartsNew, errMemberCondition)
		case "MXX":
			s.when.Only(a, commands.PartsOld, errMemberCondition)
		default:
			return s.expiry.Option(c, word)
		}
		return true
	})
	return s
}

// saddex does not make a set for members whose time has come, nor one in which they had to be.
func saddex(c *commands.Ctx) error {
	key := c.Args.Key()
	m := readMemberSetting(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	past := m.expiry.Set && m.expiry.Millis <= c.Now
	s, ch, ok, err := edit(c, key)
	switch {
	case err != nil:
		return err
	case !ok && m.when == commands.PartsOld:
		c.Reply.Int(0)
		return nil
	case !ok && past:
		c.Reply.Int(1)
		return nil
	case !ok:
		if s, ch, err = editOrCreate(c, key); err != nil {
			return err
		}
	}
	if m.expiry.Set && !past {
		if err := set.MayExpire(ch); err != nil {
			return err
		}
	}
	if !s.ReadyAdd(m.members...) || !s.ReadyExpire(m.members...) {
		return c.Tx.Err()
	}
	if !m.when.Allows(m.members, 1, s.Has) {
		c.Reply.Int(0)
		return nil
	}
	if past {
		m.remove(c, key, s, ch)
	} else {
		m.add(c, key, s, ch)
	}
	c.Reply.Int(1)
	return nil
}

// add adds the members and gives them the expiry, or takes it away if it is not to be kept.
func (m *memberSetting) add(c *commands.Ctx, key []byte, s *set.Set, ch *structures.Change) {
	for _, member := range m.members {
		switch added := s.Add(ch, member); {
		case m.expiry.Set:
			s.ExpireAt(ch, member, m.expiry.Millis)
		case !added && !m.expiry.Plain:
			s.Persist(ch, member)
		}
	}
	c.Notify(commands.EventSet, "sadd", key)
	if m.expiry.Set {
		c.Notify(commands.EventSet, "sexpire", key)
	}
}

// remove removes the members, which are to go at once.
func (m *memberSetting) remove(c *commands.Ctx, key []byte, s *set.Set, ch *structures.Change) {
	n := 0
	for _, member := range m.members {
		if s.Remove(ch, member) {
			n++
		}
	}
	if n > 0 {
		notifyRemoved(c, "srem", s, key)
	}
}
