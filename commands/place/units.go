package place

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/placement"
)

// readUnits reads units up to the end of the call. The word DOMAIN after a
// capacity is always the option: a unit of that name must come first, or after
// a unit with a domain. A unit whose name looks like another option must come first.
func readUnits(a *commands.Args) []placement.Unit {
	units := make([]placement.Unit, 0, a.Left()/2)
	names := commands.Names{Options: []string{"DOMAIN"}, Others: []string{"STRATEGY", "SEED", "STRETCH", "POINTS", "COPIES", "SLOTS", "SPREAD", "SCATTER", "BOUND"}}
	names.First(a.Peek())
	for first := true; first || a.More(); first = false {
		if !first {
			names.Refuse(a)
		}
		u := placement.Unit{Name: a.String(), Capacity: readCapacity(a)}
		if a.Is("DOMAIN") {
			if u.Domain = a.String(); u.Domain == "" {
				a.Fail(errName)
			}
		}
		units = append(units, u)
	}
	return units
}

func readCapacity(a *commands.Args) float64 {
	b := a.Bytes()
	v, ok := commands.ParseFloat(b)
	if !ok || !(v >= placement.MinDecimal && v <= placement.MaxDecimal) {
		a.Fail(errCapacity) // a missing argument has failed before
	}
	return v
}

// readUnitNames reads names up to the end of the call.
func readUnitNames(a *commands.Args) []string {
	names := make([]string, 0, a.Left())
	for first := true; first || a.More(); first = false {
		names = append(names, a.String())
	}
	return names
}

func set(c *commands.Ctx) error {
	key, units := c.Args.Key(), readUnits(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	added, err := m.Set(ch, units)
	if err != nil {
		return wireError(err)
	}
	c.Notify(commands.EventModule, "place.set", key)
	c.Reply.Int(int64(added))
	return nil
}

func del(c *commands.Ctx) error {
	key, names := c.Args.Key(), readUnitNames(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := m.Remove(ch, names); err != nil {
		return wireError(err)
	}
	c.Notify(commands.EventModule, "place.del", key)
	c.Reply.Int(int64(len(names)))
	return nil
}

func listUnits(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, err := view(c, key)
	if err != nil {
		return err
	}
	s := m.State().Map
	units, loads := s.Units(), s.Loads()
	c.Reply.Array(len(units))
	for i := range units {
		u := &units[i]
		c.Reply.Array(4 + 2*min(len(loads), 1))
		c.Reply.BulkString(u.Name)
		c.Reply.Double(u.Capacity)
		c.Reply.BulkString(u.Domain)
		c.Reply.Double(u.Share)
		if len(loads) > 0 {
			c.Reply.Int(int64(loads[i].Objects))
			c.Reply.Int(int64(loads[i].Most))
		}
	}
	return nil
}
