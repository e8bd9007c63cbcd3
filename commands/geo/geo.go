package geo

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/zset"
)

func Group() commands.Group {
	return commands.Group{Name: "geo", Commands: append(placeRows(), searchRows()...)}
}

func placeRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	degrees := commands.Types{"longitude": commands.ArgDouble, "latitude": commands.ArgDouble}
	return []commands.Command{
		{Name: "GEOADD", Arity: -5, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [NX|XX] [CH] longitude latitude member [longitude latitude member ...]", Types: degrees, Since: "3.2.0",
			Cost:    "O(n*log(m)) for n members, and m in the sorted set",
			Summary: "Adds members with coordinates to a sorted set, or moves them.", Run: geoadd},
		{Name: "GEOPOS", Arity: -2, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [member [member ...]]", Since: "3.2.0", Cost: "O(n) for n members",
			Summary: "Returns the coordinates of members.", Run: geopos},
		{Name: "GEODIST", Arity: -4, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key member1 member2 [M|KM|FT|MI]", Since: "3.2.0", Cost: "O(1)",
			Summary: "Returns the distance between two members.", Run: geodist},
		{Name: "GEOHASH", Arity: -2, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [member [member ...]]", Since: "3.2.0", Cost: "O(n) for n members",
			Summary: "Returns the coordinates of members as geohash strings.", Run: geohash},
	}
}

// view finds a sorted set to read, nil if there is none. A key that is missing is
// published as a miss.
func view(c *commands.Ctx, key []byte) (*zset.Set, error) {
	s, _, err := commands.View[*zset.Set](c, key)
	return s, err
}

// place returns the coordinates of a member; ok is false if it is not in the set, which
// may be nil.
func place(s *zset.Set, member []byte) (p point, ok bool) {
	if s == nil {
		return point{}, false
	}
	score, ok := s.Score(member)
	return pointOf(score), ok
}

// readPoint reads a longitude and a latitude.
func readPoint(a *commands.Args) point {
	p := point{lon: a.Float(), lat: a.Float()}
	if a.Err() == nil && !p.valid() {
		a.Fail(errCoordinates(p))
	}
	return p
}

func readUnit(a *commands.Args) float64 {
	switch a.Word() {
	case "M":
		return 1
	case "KM":
		return 1000
	case "FT":
		return 0.3048
	case "MI":
		return 1609.34
	}
	a.Fail(errUnit)
	return 1
}

func geoadd(c *commands.Ctx) error {
	key := c.Args.Key()
	var rule zset.Rule
	changes := false
options:
	for {
		switch {
		case c.Args.Is("NX"):
			rule |= zset.OnlyNew
		case c.Args.Is("XX"):
			rule |= zset.OnlyExisting
		case c.Args.Is("CH"):
			changes = true
		default:
			break options
		}
	}
	if c.Args.Left() == 0 || c.Args.Left()%3 != 0 || rule == zset.OnlyNew|zset.OnlyExisting {
		return commands.ErrSyntax
	}
	entries := make([]zset.Entry, 0, c.Args.Left()/3)
	for c.Args.More() {
		p := readPoint(&c.Args)
		entries = append(entries, zset.Entry{Score: scoreOf(p), Member: c.Args.Bytes()})
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	n, err := addPlaces(c, key, entries, rule, changes)
	if err == nil {
		c.Reply.Int(int64(n))
	}
	return err
}

// addPlaces adds entries and counts those that are new, and if asked to those that have
// moved.
func addPlaces(c *commands.Ctx, key []byte, entries []zset.Entry, rule zset.Rule, changes bool) (n int, err error) {
	create := func() *zset.Set { return zset.New(c.Tx.HashKeys()) }
	if rule&zset.OnlyExisting != 0 {
		create = nil
	} else {
		c.NotifyNew(key)
	}
	s, ch, ok, err := persistence.Edit(c.Tx, key, create)
	if !ok || err != nil {
		return 0, err
	}
	if !s.ReadyAdd(len(entries), func(i int) (float64, []byte) { return entries[i].Score, entries[i].Member }) {
		return 0, c.Tx.Err()
	}
	changed := false
	for _, e := range entries {
		switch _, outcome := s.Add(ch, e.Member, e.Score, rule); outcome {
		case zset.Added:
			n++
			changed = true
		case zset.Updated:
			changed = true
			if changes {
				n++
			}
		}
	}
	if changed {
		c.Notify(commands.EventZSet, "zadd", key)
	}
	return n, nil
}

func geopos(c *commands.Ctx) error {
	return eachMember(c, (*commands.Reply).NullArray, func(p point) { replyPoint(c, p) })
}

func replyPoint(c *commands.Ctx, p point) {
	c.Reply.Array(2)
	c.Reply.Double(p.lon)
	c.Reply.Double(p.lat)
}

// eachMember writes something of each member that the call names, and null in place of
// one that is missing.
func eachMember(c *commands.Ctx, null func(*commands.Reply), write func(p point)) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(members))
	for _, member := range members {
		if p, ok := place(s, member); ok {
			write(p)
		} else {
			null(&c.Reply)
		}
	}
	return nil
}

func geodist(c *commands.Ctx) error {
	key, a, b := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	unit := 1.0
	if c.Args.Left() == 1 {
		unit = readUnit(&c.Args)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	from, ok := place(s, a)
	to, also := place(s, b)
	if !ok || !also {
		c.Reply.Null()
		return nil
	}
	replyDistance(c, distance(from, to)/unit)
	return nil
}

// replyDistance writes a distance with four digits behind the point, as a string in
// either protocol.
func replyDistance(c *commands.Ctx, v float64) {
	var room [32]byte
	c.Reply.Bulk(strconv.AppendFloat(room[:0], v, 'f', 4, 64))
}

// alphabet is that of geohash strings, for 5 bits each.
const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// geohash writes strings of 11 characters, the last of which has no bits left and is 0.
// They count latitudes up to the poles, so that the bits differ from those of a score.
func geohash(c *commands.Ctx) error {
	const poles, characters = 90, 2 * levelBits / 5
	return eachMember(c, (*commands.Reply).Null, func(p point) {
		bits := cellOf(p, levelBits, poles).bits()
		var text [characters + 1]byte
		for i := range characters {
			text[i] = alphabet[bits>>(2*levelBits-5*(i+1))&31]
		}
		text[characters] = alphabet[0]
		c.Reply.Bulk(text[:])
	})
}
