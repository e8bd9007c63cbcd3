package json

import (
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

// format is the form of values in a reply.
type format byte

const (
	asText   format = iota
	expanded        // as maps, arrays, numbers...
	scalars         // numbers, booleans and null as such, all else as text
)

// rootPaths is what is read if a call names no path.
var rootPaths = [][]byte{[]byte(".")}

// maxWord is the length up to which an argument of JSON.GET may be an option.
const maxWord = 8

// getOptions are the arguments of JSON.GET behind the key.
type getOptions struct {
	layout json.Layout
	format format
	paths  [][]byte
}

func readGetOptions(c *commands.Ctx) (o getOptions) {
	text := func() string {
		if !c.Args.More() {
			c.Args.Fail(commands.ErrArity(c.Command))
		}
		return string(word(c))
	}
	for c.Args.More() {
		if len(c.Args.Peek()) > maxWord {
			o.paths = append(o.paths, word(c))
			continue
		}
		arg := c.Args.Peek()
		switch c.Args.Word() {
		case "INDENT":
			o.layout.Indent = text()
		case "NEWLINE":
			o.layout.Newline = text()
		case "SPACE":
			o.layout.Space = text()
		case "NOESCAPE":
		case "FORMAT":
			if c.Reply.Proto() != 3 && len(o.paths) == 0 {
				c.Args.Fail(errProtocol)
			}
			o.format = readFormat(c, text(), "STRING")
		default:
			if !utf8.Valid(arg) {
				c.Args.Fail(errUTF8)
			}
			o.paths = append(o.paths, arg)
		}
	}
	if c.Reply.Proto() != 3 {
		o.format = asText
	}
	return o
}

// maxLayout bounds the text of a small document with INDENT, NEWLINE or SPACE: these may be most of it, and it is written while the
// key is locked.
const maxLayout = 64 << 20

// readFormat reads the word behind FORMAT. plain is the name of text.
func readFormat(c *commands.Ctx, word, plain string) format {
	switch word {
	case plain:
	case "EXPAND":
		return expanded
	case "EXPAND1":
		return scalars
	default:
		c.Args.Fail(errReplyFormat)
	}
	return asText
}

func get(c *commands.Ctx) error {
	key := c.Args.Key()
	o := readGetOptions(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	d, err := view(c, key)
	if err != nil {
		return err
	}
	if d == nil {
		c.Reply.Null()
		return nil
	}
	if len(o.paths) == 0 {
		o.paths = rootPaths
	}
	if isLarge(c, d) {
		later := o
		later.paths = commands.CopyArgs(o.paths)
		return readLarge(c, d, func(d *json.Document, quick bool) error { return later.reply(c, d, quick) })
	}
	return o.reply(c, d, false)
}

// reply replies with what the paths match in a document: see readLarge.
func (o getOptions) reply(c *commands.Ctx, d *json.Document, quick bool) (err error) {
	if o.format != asText {
		return getTyped(c, d, &o, quick)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	s.print.Text, s.print.Layout = s.print.Text[:0], o.layout
	if o.layout != (json.Layout{}) {
		s.print.Limit = int(min(c.Host.Limits().MaxBulk, maxLayout+4*int64(d.Size())))
	}
	g := getter{print: &s.print, d: d, quick: quick}
	if len(o.paths) == 1 {
		err = g.one(o.paths[0])
	} else {
		g.search = newSearch(d, quick)
		err = g.many(o.paths)
	}
	if err == nil && s.print.Over {
		err = errTooLong
	}
	if err == nil {
		c.Reply.Bulk(s.print.Text)
	}
	return err
}

// getter prints what paths match.
type getter struct {
	print  *json.Printer
	search *path.Search
	d      *json.Document
	quick  bool
}

// one prints what the only path matches.
func (g *getter) one(text []byte) error {
	p, err := parsePath(text)
	if err != nil {
		return err
	}
	place, ok := p.Place()
	if pages, _ := g.d.Evicted(); ok && pages == 0 { // others are read where they are
		return g.place(p, place)
	}
	g.search = newSearch(g.d, g.quick)
	return g.matches(p, !p.Legacy, 0)
}

// place prints what is at a place.
func (g *getter) place(p *path.Path, place []json.Step) error {
	v, found := g.d.Lookup(place)
	switch {
	case found && isLong(v, g.quick):
		return errSteps
	case p.Legacy && !found:
		return errNoPath
	case p.Legacy:
		g.print.Expect(v)
		g.print.Print(v, 0)
		return nil
	}
	g.print.Text = append(g.print.Text, '[')
	if found {
		g.print.Line(1)
		g.print.Expect(v)
		g.print.Print(v, 1)
		g.print.Line(0)
	}
	g.print.Text = append(g.print.Text, ']')
	return nil
}

// many prints an object with a member for each path that can be parsed, and not twice for one.
func (g *getter) many(texts [][]byte) error {
	type named struct {
		text []byte
		path *path.Path
	}
	var paths []named
	arrays := false
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		p, err := path.Parse(text)
		if err != nil {
			continue
		}
		paths = append(paths, named{text, p})
		arrays = arrays || !p.Legacy
	}
	g.print.Text = append(g.print.Text, '{')
	for i, p := range paths {
		if i > 0 {
			g.print.Text = append(g.print.Text, ',')
		}
		g.print.Line(1)
		g.print.Name(p.text)
		if err := g.matches(p.path, arrays, 1); err != nil {
			return err
		}
	}
	if len(paths) > 0 {
		g.print.Line(0)
	}
	g.print.Text = append(g.print.Text, '}')
	return nil
}

// matches prints an array of the matches of a path, or its first match alone.
func (g *getter) matches(p *path.Path, array bool, depth int) error {
	if !array {
		v, found, ok := g.search.First(p, g.d.Root())
		switch {
		case !ok:
			return errSteps
		case !found:
			return errNoPath
		case !g.search.Steps.Take(v.Memory() / 2): // other paths may be of the same value
			return errSteps
		}
		g.print.Expect(v)
		g.print.Print(v, depth)
		return nil
	}
	n := 0
	g.print.Text = append(g.print.Text, '[')
	ok := g.search.Each(p, g.d.Root(), false, func(m path.Match) bool {
		if isLong(m.Value, g.quick) {
			return g.search.Steps.Take(m.Memory() / 2) // which it has not
		}
		if n > 0 {
			g.print.Text = append(g.print.Text, ',')
		}
		n++
		g.print.Line(depth + 1)
		g.print.Expect(m.Value)
		g.print.Print(m.Value, depth+1)
		return !g.print.Over && n <= path.MaxMatches && g.search.Steps.Take(m.Memory()/2)
	})
	if !ok || n > path.MaxMatches {
		return errSteps
	}
	if n > 0 {
		g.print.Line(depth)
	}
	g.print.Text = append(g.print.Text, ']')
	return nil
}

// getTyped replies with an array for each path, legacy or not, of the values that it matches.
func getTyped(c *commands.Ctx, d *json.Document, o *getOptions, quick bool) error {
	c.Reply.Array(len(o.paths))
	search := newSearch(d, quick)
	for _, text := range o.paths {
		p, err := path.Parse(text)
		if err != nil {
			c.Reply.Array(0)
			continue
		}
		if err := allMatches(c, d, p, search, true, func(v json.Value) error {
			replyTyped(c, v, o.format)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// replyTyped writes a value in a form that is not text.
func replyTyped(c *commands.Ctx, v json.Value, f format) {
	t := v.Type()
	switch {
	case f == asText, f == scalars && t >= json.String:
		c.Reply.Bulk(json.AppendText(nil, v))
		return
	case t == json.String:
		c.Reply.Bulk(v.Text(nil))
		return
	case t == json.Array:
		c.Reply.Array(v.Len())
	case t == json.Object:
		c.Reply.Map(v.Len())
	default:
		replyScalar(c, v)
		return
	}
	for members := v.Members(); ; {
		name, member, ok := members.Next()
		if !ok {
			return
		}
		if name != nil {
			c.Reply.Bulk(name)
		}
		replyTyped(c, member, f)
	}
}

// mget replies with nil for a key that has no document, and for a path that leads nowhere or is
// none.
func mget(c *commands.Ctx) error {
	keys := c.Args.AllBut(1)
	text := word(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	p, bad := path.Parse(text)
	s := scratches.Get().(*scratch)
	defer s.release()
	search := newSearches()
	c.Reply.Array(len(keys))
	for _, key := range keys {
		d, err := view(c, key)
		if err != nil && err != errKeyType {
			return err
		}
		if d == nil || bad != nil {
			c.Reply.Null()
			continue
		}
		s.print.Text = s.print.Text[:0]
		g := getter{print: &s.print, search: search.of(d), d: d}
		switch err := g.matches(p, !p.Legacy, 0); err {
		case nil:
			c.Reply.Bulk(s.print.Text)
		case errNoPath:
			c.Reply.Null()
		default:
			return err
		}
	}
	return nil
}
