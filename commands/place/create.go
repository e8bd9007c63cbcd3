package place

import (
	"errors"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/placemap"
)

func Group() commands.Group {
	read := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "place", Commands: []commands.Command{
		{Name: "PLACE.CREATE", Arity: -2, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Insert)},
			Types:  commands.Types{"bound": commands.ArgDouble},
			Syntax: "key [STRATEGY strategy] [SEED seed] [STRETCH factor] [POINTS points] [COPIES copies] [SLOTS slots] [SPREAD most] [SCATTER units] [BOUND bound]",
			Since:  "0.1.0", Cost: "O(1)", Summary: "Creates a placement map, which decides on which of its units an object lives.", Run: create},
		{Name: "PLACE.SET", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key unit capacity [DOMAIN domain] [unit capacity ...]", Types: commands.Types{"capacity": commands.ArgDouble}, Since: "0.1.0",
			Cost:    "O(n) for n units, or the size of the strategy's table if it is rebuilt",
			Summary: "Adds units to a placement map, or changes the capacities and domains of units.", Run: set},
		{Name: "PLACE.DEL", Arity: -3, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)}, Syntax: "key unit [unit ...]",
			Since: "0.1.0", Cost: "The same as PLACE.SET.", Summary: "Removes units from a placement map.", Run: del},
		{Name: "PLACE.LOCATE", Arity: -3, Flags: commands.ReadOnly | commands.Blocking, Keys: read, Syntax: "key object [object ...] [COPIES copies]",
			Since: "0.1.0", Cost: "O(1) for each copy of an object, O(n) for n units with strategy rendezvous",
			Summary: "Returns the units on which objects live.", Run: locate},
		{Name: "PLACE.ASSIGN", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key object [object ...]", Since: "0.2.0", Cost: "O(1) for each object",
			Summary: "Assigns objects to units of a placement map with BOUND, no unit above its bound, and returns the units.", Run: assign},
		{Name: "PLACE.RELEASE", Arity: -3, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key object [object ...]", Since: "0.2.0", Cost: "O(1) for each object",
			Summary: "Ends the assignment of objects to units of a placement map with BOUND.", Run: release},
		{Name: "PLACE.UNITS", Arity: 2, Flags: commands.ReadOnly, Keys: read, Syntax: "key", Since: "0.1.0", Cost: "O(n) for n units",
			Summary: "Lists the units of a placement map with their capacities, domains and expected shares of the objects.", Run: listUnits},
		{Name: "PLACE.INFO", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "0.1.0", Cost: "O(1)",
			Summary: "Returns the parameters of a placement map.", Run: info},
		{Name: "PLACE.PREVIEW", Arity: -4, Flags: commands.ReadOnly | commands.Blocking, Keys: read,
			Syntax: "key <SET unit capacity [DOMAIN domain] [unit capacity ...] | DEL unit [unit ...]>", Types: commands.Types{"capacity": commands.ArgDouble}, Since: "0.1.0",
			Cost:    "O(n) for n units and each unit that changes, without blocking other commands",
			Summary: "Returns the share of objects that a change of a placement map would move, and between which units.", Run: preview},
		{Name: "PLACE.EXPORT", Arity: 2, Flags: commands.ReadOnly, Keys: read, Syntax: "key", Since: "0.1.0", Cost: "O(n) for n units",
			Summary: "Returns a serialized placement map, for use in a client or for PLACE.IMPORT.", Run: exportMap},
		{Name: "PLACE.IMPORT", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Insert)}, Syntax: "key data [REPLACE]",
			Since: "0.1.0", Cost: "The same as PLACE.SET.", Summary: "Creates a placement map from the output of PLACE.EXPORT.", Run: importMap},
	}}
}

// view finds a map for reading; a missing one is an error.
func view(c *commands.Ctx, key []byte) (*placemap.Map, error) {
	return commands.ViewExisting[*placemap.Map](c, key, commands.ErrNoKey)
}

// edit finds a map for changing; a missing one is an error.
func edit(c *commands.Ctx, key []byte) (*placemap.Map, *structures.Change, error) {
	return commands.EditExisting[*placemap.Map](c, key, commands.ErrNoKey)
}

func create(c *commands.Ctx) error {
	key := c.Args.Key()
	o := readOptions(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := commands.CheckAbsent[*placemap.Map](c, key, commands.ErrBusyKey); err != nil {
		return err
	}
	m, err := placemap.New(o)
	if errors.Is(err, placement.ErrOption) {
		return optionError(o)
	}
	if err != nil {
		return wireError(err)
	}
	return store(c, key, m, "place.create", persistence.NoExpiry)
}

// store stores a map under a key and replies OK.
func store(c *commands.Ctx, key []byte, m *placemap.Map, event string, e persistence.Expiry) error {
	c.NotifyNew(key)
	if err := persistence.Replace(c.Tx, key, m, e); err != nil {
		return err
	}
	c.Notify(commands.EventModule, event, key)
	c.Reply.OK()
	return nil
}

// readOptions reads the options of PLACE.CREATE. Without SEED the seed is
// drawn: no two maps are to place alike.
func readOptions(c *commands.Ctx) placement.Options {
	a, o, seeded := &c.Args, placement.Options{}, false
	var once commands.Once
	for a.More() {
		switch once.Word(a) {
		case "STRATEGY":
			o.Strategy = readStrategy(a)
		case "SEED":
			var ok bool
			if o.Seed, ok = commands.ParseUint(a.Bytes()); !ok {
				a.Fail(commands.ErrNotInteger)
			}
			seeded = true
		case "STRETCH":
			o.Stretch = a.Float()
			if !(o.Stretch >= 1.0/(1<<16) && o.Stretch <= placement.MaxStretch) {
				a.Fail(errStretch)
			}
		case "POINTS":
			o.Points = int(a.IntIn(1, placement.MaxPoints, errPoints))
		case "COPIES":
			o.Copies = readCopies(a)
		case "SLOTS":
			o.Slots = int(a.IntIn(1, placement.MaxSlots, errSlots))
		case "SPREAD":
			o.Spread = int(a.IntIn(1, placement.MaxSpread, errSpread))
		case "SCATTER":
			o.Scatter = int(a.IntIn(1, placement.MaxScatter, errScatter))
		case "BOUND":
			if o.Bound = a.Float(); !(o.Bound >= placement.MinBound && o.Bound <= placement.MaxBound) {
				a.Fail(errBound)
			}
		default:
			a.Syntax()
		}
	}
	if !seeded {
		o.Seed = c.RandomSeed()
	}
	return o
}

// readStrategy reads a name in any case.
func readStrategy(a *commands.Args) string {
	name := a.String()
	for _, s := range placement.Strategies() {
		if strings.EqualFold(s.Name, name) {
			return s.Name
		}
	}
	a.Fail(errStrategy(name))
	return ""
}

func readCopies(a *commands.Args) int { return int(a.IntIn(1, placement.MaxCopies, errCopyCount)) }

func info(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	v, err := view(c, key)
	if err != nil {
		return err
	}
	s := v.State()
	o := s.Map.Options()
	c.Reply.Map(16)
	c.Reply.BulkString("strategy")
	c.Reply.BulkString(o.Strategy)
	c.Reply.BulkString("seed") // a string, as it may pass what an integer holds
	c.Reply.BulkString(strconv.FormatUint(o.Seed, 10))
	c.Reply.BulkString("stretch")
	c.Reply.Double(o.Stretch)
	for _, field := range []struct {
		name  string
		value int
	}{
		{"points", o.Points}, {"slots", o.Slots}, {"copies", o.Copies}, {"units", s.Map.Len()}, {"domains", s.Domains},
		{"version", int(v.Version())}, {"hash", placement.HashVersion}, {"bytes", v.Size()},
		{"spread", o.Spread}, {"scatter", o.Scatter}, {"sets", s.Map.Sets()}, {"objects", s.Map.Assigned()},
	} {
		c.Reply.BulkString(field.name)
		c.Reply.Int(int64(field.value))
	}
	c.Reply.BulkString("bound")
	c.Reply.Double(o.Bound)
	return nil
}

func exportMap(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Bulk(m.Export(nil))
	return nil
}

// importMap replaces with REPLACE only, as RESTORE does, and only a map. The
// key keeps its expiry, because it is still the same map.
func importMap(c *commands.Ctx) error {
	key, data := c.Args.Key(), c.Args.Bytes()
	replace := c.Args.More() && c.Args.Is("REPLACE")
	if err := c.Args.Done(); err != nil {
		return err
	}
	old, err := view(c, key)
	switch {
	case err == nil && !replace:
		return commands.ErrBusyKey
	case err == commands.ErrNoKey:
		old = nil
	case err != nil:
		return err
	}
	m, err := placemap.Import(data, old)
	if err != nil {
		return wireError(err)
	}
	return store(c, key, m, "place.import", persistence.KeepExpiry)
}
