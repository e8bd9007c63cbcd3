package set

import "github.com/vigildb/vigil/structures"

// Tell appends commands that do to a set at key, which is as this one was before, what recorded operations have just done to this
// one. It returns false if there are none for that: then c is to be cut, and the whole set told anew.
func (s *Set) Tell(c *structures.Commands, key, ops []byte) bool {
	var args structures.Args
	for len(ops) > 0 {
		op, rest, err := args.Next(ops)
		if err != nil || op < opAdd || op > opPersist {
			return false
		}
		if ops = rest; op == opExpireAt || op == opPersist { // a replica is told when the member goes
			continue
		}
		name := "SADD"
		if op == opRemove {
			name = "SREM"
		}
		c.Command(name, 2+args.Left())
		c.Bytes(key)
		for args.Left() > 0 {
			c.Bytes(args.Bytes())
		}
	}
	return true
}
