package streams

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// readReferences reads KEEPREF, DELREF or ACKED, if one is next.
func readReferences(a *commands.Args, r *stream.References) bool {
	switch {
	case a.Is("KEEPREF"):
		*r = stream.KeepReferences
	case a.Is("DELREF"):
		*r = stream.DropReferences
	case a.Is("ACKED"):
		*r = stream.OnlyAcked
	default:
		return false
	}
	return true
}

// removal is the arguments of XDELEX and XACKDEL behind the key and the group.
type removal struct {
	refs stream.References
	ids  []stream.ID
}

func readRemoval(a *commands.Args) (r removal, err error) {
	given := false
	for a.More() {
		switch {
		case !given && readReferences(a, &r.refs):
			given = true
		case r.ids == nil && a.Left() >= 2 && a.Is("IDS"):
			n := a.IntIn(1, math.MaxInt64, errNumIDs)
			if n > int64(a.Left()) {
				a.Fail(errNumIDsMatch)
			}
			for _, b := range a.Take(int(n)) {
				id, ok := parseID(b, 0)
				if !ok {
					a.Fail(errID)
				}
				r.ids = append(r.ids, id)
			}
		default:
			a.Syntax()
		}
	}
	if r.ids == nil {
		a.Syntax()
	}
	return r, a.Done()
}

// What XDELEX and XACKDEL return for an entry.
const (
	notFound  = -1
	deleted   = 1
	stillUsed = 2 // it was to be deleted only if no group refers to it, but one does
)

// remove removes an entry as r says. It returns false if a group refers to the entry
// and it is left for that.
func (r *removal) remove(s *stream.Stream, ch *structures.Change, id stream.ID) (removed, ok bool) {
	switch r.refs {
	case stream.OnlyAcked:
		if s.Has(id) && s.Referenced(id) {
			return false, false
		}
	case stream.DropReferences:
		s.Forget(ch, []stream.ID{id})
	}
	return s.Delete(ch, []stream.ID{id}) > 0, true
}

func xdelex(c *commands.Ctx) error {
	key := c.Args.Key()
	r, err := readRemoval(&c.Args)
	if err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if ok && !s.Ready(r.ids...) {
		return c.Tx.Err()
	}
	return r.run(c, key, func(id stream.ID) (int64, bool) {
		if !ok {
			return notFound, false
		}
		removed, may := r.remove(s, ch, id)
		switch {
		case !may:
			return stillUsed, false
		case !removed:
			return notFound, false
		}
		return deleted, true
	})
}

func xackdel(c *commands.Ctx) error {
	key, group := c.Args.Key(), c.Args.Bytes()
	r, err := readRemoval(&c.Args)
	if err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	var g *stream.Group
	if ok {
		g = s.Group(group)
	}
	if g != nil && !s.Ready(r.ids...) {
		return c.Tx.Err()
	}
	return r.run(c, key, func(id stream.ID) (int64, bool) {
		if g == nil || g.Ack(ch, []stream.ID{id}) == 0 {
			return notFound, false
		}
		removed, may := r.remove(s, ch, id)
		if !may {
			return stillUsed, false
		}
		return deleted, removed
	})
}

// run replies what each does with each entry; removed is true if it was taken from
// the stream.
func (r *removal) run(c *commands.Ctx, key []byte, each func(id stream.ID) (code int64, removed bool)) error {
	any := false
	c.Reply.Array(len(r.ids))
	for _, id := range r.ids {
		code, removed := each(id)
		c.Reply.Int(code)
		any = any || removed
	}
	if any {
		c.Notify(commands.EventStream, "xdel", key)
	}
	return nil
}
