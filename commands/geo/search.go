package geo

import (
	"cmp"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

func searchRows() []commands.Command {
	read := commands.Key(1, commands.RO|commands.Access)
	one := []commands.KeySpec{read}
	stores, memberStores := []commands.KeySpec{read}, []commands.KeySpec{read}
	for _, word := range []string{"STORE", "STOREDIST"} {
		stores = append(stores, destination(6, word))
		memberStores = append(memberStores, destination(5, word))
	}
	const (
		cost  = "O(n+log(m)) for n members in the cells around the area, and m in the sorted set"
		unit  = " M|KM|FT|MI "
		shown = "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC]"
		store = " [STORE key|STOREDIST key]"
		what  = " <<FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI>> | " +
			"BYPOLYGON num-vertices longitude latitude [longitude latitude ...]> "
		limited = "[ASC|DESC] [COUNT count [ANY]] "
	)
	row := func(name string, arity int, flags commands.Flag, keys []commands.KeySpec, syntax, since, summary string, f form) commands.Command {
		types := commands.Types{}
		for _, name := range []string{"longitude", "latitude", "radius", "width", "height"} {
			if strings.Contains(syntax, name) {
				types[name] = commands.ArgDouble
			}
		}
		return commands.Command{Name: name, Arity: arity, Flags: flags, Keys: keys, Syntax: syntax, Types: types, Since: since, Cost: cost,
			Summary: summary, Run: func(c *commands.Ctx) error { return run(c, f) }}
	}
	return []commands.Command{
		row("GEOSEARCH", -7, commands.ReadOnly, one, "key"+what+limited+"[WITHCOORD] [WITHDIST] [WITHHASH]", "6.2.0",
			"Returns the members within a circle, a box or a polygon.", form{}),
		row("GEOSEARCHSTORE", -8, commands.Write|commands.DenyOOM,
			[]commands.KeySpec{commands.Key(1, commands.OW|commands.Update), commands.Key(2, commands.RO|commands.Access)},
			"destination source"+what+limited+"[STOREDIST]", "6.2.0",
			"Stores the members within a circle, a box or a polygon in a sorted set.", form{stores: true}),
		row("GEORADIUS", -6, commands.Write|commands.DenyOOM|commands.MovableKeys, stores,
			"key longitude latitude radius"+unit+shown+store, "3.2.0",
			"Returns the members within a circle, or stores them in a sorted set.", form{fixed: true, stores: true}),
		row("GEORADIUS_RO", -6, commands.ReadOnly, one, "key longitude latitude radius"+unit+shown, "3.2.10",
			"Returns the members within a circle.", form{fixed: true}),
		row("GEORADIUSBYMEMBER", -5, commands.Write|commands.DenyOOM|commands.MovableKeys, memberStores,
			"key member radius"+unit+shown+store, "3.2.0",
			"Returns the members within a circle around one of them, or stores them in a sorted set.",
			form{fixed: true, member: true, stores: true}),
		row("GEORADIUSBYMEMBER_RO", -5, commands.ReadOnly, one, "key member radius"+unit+shown, "3.2.10",
			"Returns the members within a circle around one of them.", form{fixed: true, member: true}),
	}
}

// destination is the key behind an option of the older forms, which stand from index
// begin on. Of several options, of either kind, the last one counts.
func destination(begin int, word string) commands.KeySpec {
	return commands.KeySpec{Flags: commands.OW | commands.Update, Begin: begin, Keyword: word, Step: 1, Find: func(argv [][]byte) []int {
		last := 0
		for i := begin; i < len(argv)-1; i++ {
			if name := argv[i]; strings.EqualFold(string(name), "STORE") || strings.EqualFold(string(name), "STOREDIST") {
				i++ // a key may be called like an option
				last = i
			}
		}
		if last == 0 || !strings.EqualFold(string(argv[last-1]), word) {
			return nil
		}
		return []int{last}
	}}
}

// form says which search a command is.
type form struct {
	fixed  bool // an older one, whose centre and radius are in fixed places
	member bool // its centre is a member
	stores bool // it stores its result, the older ones if an option says so
}

// direction is in which order of distances members are returned.
type direction int8

const (
	unsorted   direction = 0
	ascending  direction = 1
	descending direction = -1
)

// search is what a call asks for.
type search struct {
	form
	area
	set             *zset.Set // nil if there is none
	centred, shaped bool      // the options of GEOSEARCH that must be there
	ofMember        bool      // the centre is a member's

	coordinates, distances, hashes bool
	count                          int // 0: all
	any                            bool
	sorted                         direction
	to                             []byte // nil: reply with members
	toDistances                    bool
}

// run looks at the type of the key before it reads the rest, as Redis does.
func run(c *commands.Ctx, f form) error {
	q := search{form: f, area: area{unit: 1}}
	if f.stores && !f.fixed {
		q.to = c.Args.Key()
	}
	key := c.Args.Key()
	var err error
	if q.set, err = view(c, key); err != nil {
		return err
	}
	if f.fixed {
		q.readPlaces(&c.Args)
	}
	for c.Args.More() {
		if !q.readShown(&c.Args) && !q.readStore(&c.Args) && (f.fixed || !q.readArea(&c.Args)) {
			c.Args.Syntax()
		}
	}
	q.check(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	found := q.find()
	defer found.release()
	if q.to != nil {
		return q.store(c, found)
	}
	q.reply(c, found)
	return nil
}

// readPlaces reads the centre and the radius of the older commands. Without a set the
// radius around a member is passed over.
func (q *search) readPlaces(a *commands.Args) {
	switch {
	case !q.member:
		q.centre = readPoint(a)
	case q.set == nil:
		a.Skip(3)
		return
	default:
		q.readMember(a)
	}
	q.readRadius(a)
}

// readMember reads the member that the centre is.
func (q *search) readMember(a *commands.Args) {
	member := a.Bytes()
	p, ok := place(q.set, member)
	if !ok && q.set != nil {
		a.Fail(errNoMember)
	}
	q.centre, q.ofMember = p, true
}

func (q *search) readRadius(a *commands.Args) {
	q.radius = readLength(a, errRadius)
	if q.radius < 0 {
		a.Fail(errRadiusNegative)
	}
	q.unit = readUnit(a)
}

func readLength(a *commands.Args, bad error) float64 {
	v, ok := commands.ParseFloat(a.Bytes())
	if !ok {
		a.Fail(bad)
	}
	return v
}

// readArea reads an option that says where to search, and reports whether there is one.
func (q *search) readArea(a *commands.Args) bool {
	switch left := a.Left(); {
	case left > 1 && !(q.centred && !q.ofMember) && a.Is("FROMMEMBER"):
		q.centred = true
		q.readMember(a)
	case left > 2 && !q.ofMember && a.Is("FROMLONLAT"):
		q.centred = true
		q.centre = readPoint(a)
	case left > 2 && !q.box && q.corners == nil && a.Is("BYRADIUS"):
		q.shaped = true
		q.readRadius(a)
	case left > 3 && !(q.shaped && !q.box) && q.corners == nil && a.Is("BYBOX"):
		q.shaped, q.box = true, true
		q.width, q.height = readLength(a, errWidth), readLength(a, errHeight)
		if q.width < 0 || q.height < 0 {
			a.Fail(errBoxNegative)
		}
		q.unit = readUnit(a)
	case left > 1 && !q.shaped && a.Is("BYPOLYGON"):
		q.shaped = true
		q.readPolygon(a)
	default:
		return false
	}
	return true
}

// readPolygon reads the corners of a polygon, which has its centre by itself.
func (q *search) readPolygon(a *commands.Args) {
	n := a.IntOr(errCorners)
	if a.Err() == nil && (n < 3 || n > int64(a.Left()/2)) {
		a.Fail(errFewCorners)
	}
	for ; n > 0 && a.Err() == nil; n-- {
		q.corners = append(q.corners, readPoint(a))
	}
	if a.Err() == nil {
		q.centre = middle(q.corners)
	}
}

// readShown reads an option that says what to reply, and reports whether there is one.
func (q *search) readShown(a *commands.Args) bool {
	switch {
	case a.Is("WITHDIST"):
		q.distances = true
	case a.Is("WITHHASH"):
		q.hashes = true
	case a.Is("WITHCOORD"):
		q.coordinates = true
	case a.Is("ANY"):
		q.any = true
	case a.Is("ASC"):
		q.sorted = ascending
	case a.Is("DESC"):
		q.sorted = descending
	case a.Left() > 1 && a.Is("COUNT"):
		n := a.Int()
		if n <= 0 {
			a.Fail(errCount)
		}
		q.count = int(n)
	default:
		return false
	}
	return true
}

// readStore reads an option that says what to store, and reports whether there is one.
func (q *search) readStore(a *commands.Args) bool {
	switch {
	case !q.stores:
		return false
	case q.fixed && a.Left() > 1 && a.Is("STORE"):
		q.to, q.toDistances = a.Key(), false
	case q.fixed && a.Left() > 1 && a.Is("STOREDIST"):
		q.to, q.toDistances = a.Key(), true
	case !q.fixed && a.Is("STOREDIST"):
		q.toDistances = true
	default:
		return false
	}
	return true
}

// check refuses options that exclude each other, or lack one.
func (q *search) check(a *commands.Args) {
	name := a.All()[0]
	switch shown := q.distances || q.hashes || q.coordinates; {
	case q.to != nil && shown && q.fixed:
		a.Fail(errStoreRadius)
	case q.to != nil && shown:
		a.Fail(errStoreSearch)
	case q.centred && q.corners != nil:
		a.Syntax()
	case !q.fixed && !q.centred && q.corners == nil:
		a.Fail(errOneCentre(name))
	case !q.fixed && !q.shaped:
		a.Fail(errOneShape(name))
	case q.any && q.count == 0:
		a.Fail(errAnyCount)
	}
	if q.count != 0 && q.sorted == unsorted && !q.any {
		q.sorted = ascending
	}
}

func (q *search) reply(c *commands.Ctx, found *hits) {
	parts := 1
	for _, asked := range [3]bool{q.distances, q.hashes, q.coordinates} {
		if asked {
			parts++
		}
	}
	c.Reply.Array(found.len())
	for i := range found.len() {
		h := found.at(i)
		if parts > 1 {
			c.Reply.Array(parts)
		}
		c.Reply.Bulk(h.member)
		if q.distances {
			replyDistance(c, h.meters/q.unit)
		}
		if q.hashes {
			c.Reply.Int(int64(h.score))
		}
		switch {
		case q.coordinates && q.corners != nil:
			replyLongPoint(c, pointOf(h.score))
		case q.coordinates:
			replyPoint(c, pointOf(h.score))
		}
	}
}

// store makes the destination a sorted set of what was found, by scores or distances,
// replacing any existing value. If nothing was found the key is gone.
func (q *search) store(c *commands.Ctx, found *hits) error {
	entries := make([]zset.Entry, found.len())
	for i := range entries {
		h := found.at(i)
		entries[i] = zset.Entry{Member: h.member, Score: h.score}
		if q.toDistances {
			entries[i].Score = h.meters / q.unit
		}
	}
	s, err := zset.Build(c.Tx.HashKeys(), entries)
	if err = cmp.Or(err, c.Tx.Err()); err != nil {
		return err
	}
	event := "geosearchstore"
	if q.fixed {
		event = "georadiusstore"
	}
	switch {
	case len(entries) > 0:
		if err := commands.Store(c, q.to, s); err != nil {
			return err
		}
		c.Notify(commands.EventZSet, event, q.to)
	case c.Tx.Delete(q.to):
		c.Notify(commands.EventGeneric, "del", q.to)
	}
	c.Reply.Int(int64(len(entries)))
	return nil
}
