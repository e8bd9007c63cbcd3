package json

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
)

// del removes what a path matches. A document that it leaves as an empty array or object goes with
// its key.
func del(c *commands.Ctx) error {
	key, text := c.Args.Key(), pathOr(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	u, err := edit(c, key)
	if err != nil {
		return err
	}
	if u.d == nil {
		c.Reply.Int(0)
		return nil
	}
	if err := u.find(text); err != nil {
		return err
	}
	list := u.outermost(u.list)
	places := make([][]json.Step, len(list))
	for i, m := range list {
		places[i] = m.Path()
	}
	for _, p := range places {
		if !u.d.PinRemoval(p) {
			break
		}
	}
	if err := c.Tx.Err(); err != nil {
		return err
	}
	if len(places) > 0 {
		u.remove(places)
	}
	c.Reply.Int(int64(len(places)))
	return nil
}

// remove removes what is at places, from the end of the document on.
func (u *update) remove(places [][]json.Step) {
	for _, p := range places {
		if len(p) > 0 {
			u.d.Remove(u.ch, p)
		}
	}
	root := u.d.Root()
	if t := root.Type(); len(places[0]) == 0 || (t == json.Array || t == json.Object) && root.Len() == 0 {
		u.c.Tx.Delete(u.key)
		u.c.Notify(commands.EventModule, "json.del", u.key)
		return
	}
	u.done("json.del")
}

// clearValues empties arrays and objects, and makes numbers 0. What is so already does not count,
// nor what is within something that is emptied.
func clearValues(c *commands.Ctx) error {
	if c.Args.Left() > 2 {
		return commands.ErrArity(c.Command)
	}
	key, text := c.Args.Key(), pathOr(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	u, err := existing(c, key, text)
	if err != nil {
		return err
	}
	full := u.list[:0]
	for _, m := range u.list {
		if cleared(m.Value) != nil {
			full = append(full, m)
		}
	}
	list := u.outermost(full)
	places, values := make([][]json.Step, len(list)), make([][]byte, len(list))
	for i, m := range list {
		places[i], values[i] = m.Path(), cleared(m.Value)
	}
	if _, err := u.pin(places); err != nil {
		return err
	}
	for i, p := range places {
		u.d.Put(u.ch, p, values[i])
	}
	if len(places) > 0 {
		u.done("json.clear")
	}
	c.Reply.Int(int64(len(places)))
	return nil
}

// cleared is what JSON.CLEAR makes of a value, nil if it leaves it.
func cleared(v json.Value) []byte {
	switch t := v.Type(); t {
	case json.Array, json.Object:
		if v.Len() > 0 {
			b := json.NewBuilder(nil)
			b.Begin(t == json.Object)
			b.End()
			return b.Bytes()
		}
	case json.Integer, json.Double:
		if f, _ := v.Float(); f != 0 {
			return json.AppendInt(nil, 0)
		}
	}
	return nil
}
