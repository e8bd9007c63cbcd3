package json

import (
	"cmp"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

// reading says what a command that reads replies where nothing is.
type reading struct {
	missing  error        // for a missing key and a JSONPath; for a legacy path the reply is nil
	none     error        // for a legacy path that leads nowhere; nil: the reply is nil
	lenient  bool         // a missing key is nil for both
	forgives bool         // a legacy path that is none leads nowhere
	always   bool         // a missing key is an error for a legacy path too
	whole    bool         // the call reads all of a match
	steps    *json.Budget // what is taken for each match; nil: that is nothing to speak of
	quick    bool         // see readLarge
}

// eachMatch reads a key and a path, and replies with what one writes for a match: for a JSONPath in
// an array, in which errors are nil, for a legacy path for the first match.
func eachMatch(c *commands.Ctx, r reading, one func(json.Value) error) error {
	key, text := c.Args.Key(), pathOr(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	d, err := view(c, key)
	switch {
	case err != nil:
		return err
	case d == nil && (r.lenient || isLegacy(text) && !r.always):
		c.Reply.Null()
		return nil
	case d == nil:
		return r.missing
	}
	p, err := parsePath(text)
	if err != nil {
		if r.forgives && isLegacy(text) {
			c.Reply.Null()
			return nil
		}
		return err
	}
	if isLarge(c, d) {
		return readLarge(c, d, func(d *json.Document, quick bool) error {
			r := r
			r.quick = quick
			return r.matches(c, d, p, one)
		})
	}
	return r.matches(c, d, p, one)
}

// matches replies with what one writes for the matches of a path.
func (r reading) matches(c *commands.Ctx, d *json.Document, p *path.Path, one func(json.Value) error) (err error) {
	if r.steps != nil {
		*r.steps = *path.Budget(0)
	}
	if p.Legacy {
		err = firstMatch(c, d, p, r, one)
	} else {
		err = allMatches(c, d, p, newSearch(d, r.quick), r.whole, one)
	}
	if err == nil && r.steps != nil && r.steps.Spent() {
		err = errSteps
	}
	return err
}

func firstMatch(c *commands.Ctx, d *json.Document, p *path.Path, r reading, one func(json.Value) error) error {
	v, found, ok := newSearch(d, r.quick).First(p, d.Root())
	switch {
	case !ok, found && r.whole && isLong(v, r.quick):
		return errSteps
	case found:
		return one(v)
	case r.none != nil:
		return r.none
	}
	c.Reply.Null()
	return nil
}

// allMatches replies with an array of what one writes for each match. whole says that it writes all
// of it, which takes steps too.
func allMatches(c *commands.Ctx, d *json.Document, p *path.Path, search *path.Search, whole bool, one func(json.Value) error) error {
	ok := true
	c.Reply.ArrayLater(func() (n int) {
		ok = search.Each(p, d.Root(), false, func(m path.Match) bool {
			if whole && !search.Steps.Take(m.Memory()/2) {
				return false
			}
			if n++; one(m.Value) != nil {
				c.Reply.Null()
			}
			return n <= path.MaxMatches
		}) && n <= path.MaxMatches
		return n
	})
	if !ok {
		return errSteps
	}
	return nil
}

func arrLen(c *commands.Ctx) error {
	return lengths(c, json.Array, lengthErrors{missing: errNoKey, none: errNoPath, other: errNoArray})
}

func objLen(c *commands.Ctx) error {
	return eachMatch(c, reading{missing: errNoObject, forgives: true}, func(v json.Value) error {
		if v.Type() != json.Object {
			return errExpectedObject
		}
		c.Reply.Int(int64(v.Len()))
		return nil
	})
}

func objKeys(c *commands.Ctx) error {
	return eachMatch(c, reading{missing: errNoKey, forgives: true, whole: true}, func(v json.Value) error {
		if v.Type() != json.Object {
			return errNoObject
		}
		c.Reply.Array(v.Len())
		for members := v.Members(); ; {
			name, _, ok := members.Next()
			if !ok {
				return nil
			}
			c.Reply.Bulk(name)
		}
	})
}

// typeOf replies with the names of types: in RESP3 in one array more.
func typeOf(c *commands.Ctx) error {
	if c.Reply.Proto() == 3 {
		c.Reply.Array(1)
	}
	return eachMatch(c, reading{lenient: true, forgives: true}, func(v json.Value) error {
		c.Reply.BulkString(v.Type().String())
		return nil
	})
}

func respond(c *commands.Ctx) error {
	return eachMatch(c, reading{lenient: true, none: errNoPath, whole: true}, func(v json.Value) error {
		replyTree(c, v)
		return nil
	})
}

// replyTree writes a value as JSON.RESP does: arrays and objects begin with their bracket.
func replyTree(c *commands.Ctx, v json.Value) {
	switch t := v.Type(); t {
	case json.Boolean:
		if v.Bool() {
			c.Reply.Status("true")
		} else {
			c.Reply.Status("false")
		}
	case json.String:
		c.Reply.Bulk(v.Text(nil))
	case json.Array:
		c.Reply.Array(1 + v.Len())
		c.Reply.Status("[")
	case json.Object:
		c.Reply.Array(1 + 2*v.Len())
		c.Reply.Status("{")
	default:
		replyScalar(c, v)
	}
	for members := v.Members(); ; {
		name, member, ok := members.Next()
		if !ok {
			return
		}
		if name != nil {
			c.Reply.Bulk(name)
		}
		replyTree(c, member)
	}
}

// replyScalar writes null, a boolean or a number.
func replyScalar(c *commands.Ctx, v json.Value) {
	switch v.Type() {
	case json.Null:
		c.Reply.Null()
	case json.Boolean:
		c.Reply.Bool(v.Bool())
	default:
		if n, ok := v.Int(); ok {
			c.Reply.Int(n)
			return
		}
		f, _ := v.Float()
		c.Reply.Double(f)
	}
}

func debug(c *commands.Ctx) error {
	switch option(c) {
	case "HELP":
		c.Reply.Array(2)
		c.Reply.BulkString("MEMORY <key> [path] - reports memory usage")
		c.Reply.BulkString("HELP                - this message")
		return nil
	case "MEMORY":
	default:
		return cmp.Or(c.Args.Err(), error(errSubcommand))
	}
	if !c.Args.More() {
		return commands.ErrArity(c.Command)
	}
	key, text := c.Args.Key(), pathOr(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	d, err := view(c, key)
	if err != nil {
		return err
	}
	if d == nil {
		if isLegacy(text) {
			c.Reply.Int(0)
		} else {
			c.Reply.Array(0)
		}
		return nil
	}
	return debugMemory(c, d, text)
}

// debugMemory replies with the bytes that values take: of the root also what the document does.
func debugMemory(c *commands.Ctx, d *json.Document, text []byte) error {
	p, err := parsePath(text)
	if err != nil {
		return err
	}
	one := func(v json.Value) error {
		if v.Same(d.Root()) {
			c.Reply.Int(int64(d.Size()))
		} else {
			c.Reply.Int(int64(v.Memory()))
		}
		return nil
	}
	if p.Legacy {
		return firstMatch(c, d, p, reading{none: errNoPath}, one)
	}
	return allMatches(c, d, p, path.NewSearch(d.Bytes()), false, one)
}
