package json

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

// condition says what must be at a path for JSON.SET to change it.
type condition byte

const (
	anyway condition = iota
	ifAbsent
	ifPresent
)

// setOptions are the words of JSON.SET behind the value.
type setOptions struct {
	when   condition
	floats json.Float
}

func readSetOptions(c *commands.Ctx) (o setOptions) {
	for c.Args.More() {
		switch option(c) {
		case "NX":
			o.condition(c, ifAbsent)
		case "XX":
			o.condition(c, ifPresent)
		case "FORMAT":
			readSetFormat(c)
		case "FPHA":
			if !c.Args.More() {
				c.Args.Fail(commands.ErrArity(c.Command))
			}
			var ok bool
			if o.floats, ok = json.ParseFloat(option(c)); !ok {
				c.Args.Fail(errFloats)
			}
		default:
			c.Args.Syntax()
		}
	}
	return o
}

func (o *setOptions) condition(c *commands.Ctx, when condition) {
	if o.when != anyway {
		c.Args.Syntax()
	}
	o.when = when
}

// readSetFormat reads a word that changes nothing: in capitals, other than the words around it.
func readSetFormat(c *commands.Ctx) {
	if !c.Args.More() {
		c.Args.Fail(commands.ErrArity(c.Command))
	}
	if format := string(word(c)); format != "JSON" && format != "STRING" {
		c.Args.Fail(errFormat)
	}
}

func set(c *commands.Ctx) error {
	key, text, value := c.Args.Key(), word(c), c.Args.Bytes()
	o := readSetOptions(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	return change(c, key, value, o.floats, "json.set", func(u *update, v placed) (bool, error) { return u.set(text, v, o.when) })
}

// change reads a value and puts it into a document with put, which reports false if there is no place for it.
func change(c *commands.Ctx, key, value []byte, floats json.Float, event string, put func(u *update, v placed) (done bool, err error)) error {
	s := scratches.Get().(*scratch)
	defer s.release()
	s.value = s.value[:0]
	u, err := edit(c, key)
	if err != nil {
		return err
	}
	encoded, depth, err := s.parse(value, floats)
	if err != nil {
		return err
	}
	done, err := put(u, placed{encoded, depth})
	if err != nil {
		return err
	}
	if !done {
		c.Reply.Null()
		return nil
	}
	u.done(event)
	c.Reply.OK()
	return nil
}

// placed is a value that is to be put into a document.
type placed struct {
	value []byte
	depth int // containers that lie in one another
}

// set puts a value at a path. It reports false if there is no place for it.
func (u *update) set(text []byte, v placed, when condition) (done bool, err error) {
	if u.d == nil {
		return u.create(text, v, when)
	}
	p, err := u.plan(text, v, when)
	if err != nil || p == nil {
		return false, err
	}
	u.carryOut(p, v)
	return true, nil
}

// create makes a document.
func (u *update) create(text []byte, v placed, when condition) (done bool, err error) {
	if when == ifPresent {
		return false, nil
	}
	if !isRoot(text) {
		return false, errNotRoot
	}
	d := json.New(u.c.Tx.HashKeys())
	d.SetRoot(nil, v.value)
	if err := commands.Store(u.c, u.key, d); err != nil {
		return false, err
	}
	return true, u.again()
}

// again finds the document once more, which was just made.
func (u *update) again() error {
	made, err := edit(u.c, u.key)
	if err == nil {
		u.d, u.ch, u.from = made.d, made.ch, made.from
	}
	return err
}

// isRoot reports whether a path is a good one of the root.
func isRoot(text []byte) bool {
	p, err := path.Parse(text)
	return err == nil && p.IsRoot()
}

// plan finds the places at which a value is to be put: those that match, from the end of the
// document on, or one for a new member of an object. None: nothing is to be done.
func (u *update) plan(text []byte, v placed, when condition) (places [][]json.Step, err error) {
	if err := u.find(text); err != nil {
		return nil, err
	}
	if len(u.list) > 0 && when != ifAbsent {
		list := u.outermost(u.list)
		deepest := 0
		places = make([][]json.Step, len(list))
		for i, m := range list {
			places[i] = m.Path()
			deepest = max(deepest, m.Depth())
		}
		if err := allows(len(list), len(v.value), v.depth, deepest); err != nil {
			return nil, err
		}
		return u.pin(places)
	}
	if when == ifPresent || u.path.IsRoot() {
		return nil, nil
	}
	return u.planNew(v)
}

// planNew is plan for a place where nothing is, as NX asks for it.
func (u *update) planNew(v placed) (places [][]json.Step, err error) {
	if _, ok := u.path.Static(); !ok {
		return nil, errStatic
	}
	name, ok := u.path.LastName()
	if !ok {
		if len(u.list) > 0 {
			return nil, nil
		}
		return nil, errIndex
	}
	if len(u.list) > 0 {
		return nil, nil
	}
	parent := *u
	parent.path = u.path.Parent()
	if err := parent.match(); err != nil {
		return nil, err
	}
	if len(parent.list) == 0 || parent.list[0].Type() != json.Object {
		return nil, u.c.Tx.Err()
	}
	m := &parent.list[0]
	if err := allows(1, len(v.value), v.depth, m.Depth()+1); err != nil {
		return nil, err
	}
	if !u.d.Pin(m.Path()) {
		return nil, u.c.Tx.Err()
	}
	return [][]json.Step{append(m.Path(), json.Named(name))}, nil
}

// pin brings in the pages of places.
func (u *update) pin(places [][]json.Step) ([][]json.Step, error) {
	for _, p := range places {
		if !u.d.Pin(p) {
			break
		}
	}
	return places, u.c.Tx.Err()
}

// carryOut puts a value at places.
func (u *update) carryOut(places [][]json.Step, v placed) {
	for _, p := range places {
		u.d.Put(u.ch, p, v.value)
	}
}

// mset finds all places before it puts the first value, so that an error changes nothing. Each path
// is that of the document as it was before the call.
func mset(c *commands.Ctx) error {
	args := c.Args.Rest()
	if len(args)%3 != 0 {
		return commands.ErrArity(c.Command)
	}
	for i := 1; i < len(args); i += 3 {
		c.Args.Reset([][]byte{args[i]}, 0)
		if word(c); c.Args.Err() != nil {
			return c.Args.Err()
		}
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	s.value = s.value[:0]
	triplets := make([]triplet, len(args)/3)
	search := newSearches()
	for i := range triplets {
		t := &triplets[i]
		if err := t.read(c, s, args[3*i:3*i+3]); err != nil {
			return err
		}
		if t.u.d != nil {
			t.u.search = search.of(t.u.d)
		}
	}
	copied := 0
	for i := range triplets {
		t := &triplets[i]
		if err := t.plan(args[3*i+1]); err != nil {
			return err
		}
		if n := len(t.places); n > 1 {
			if copied += (n - 1) * len(t.v.value); copied > maxCopies {
				return errCopies
			}
		}
	}
	for i := range triplets {
		if err := triplets[i].carryOut(); err != nil {
			return err
		}
	}
	c.Reply.OK()
	return nil
}

// triplet is a key, a path and a value of JSON.MSET.
type triplet struct {
	u      *update
	v      placed
	create bool
	places [][]json.Step
}

func (t *triplet) read(c *commands.Ctx, s *scratch, args [][]byte) (err error) {
	if t.u, err = edit(c, args[0]); err != nil {
		return err
	}
	t.v.value, t.v.depth, err = s.parse(args[2], json.NoFloat)
	return err
}

func (t *triplet) plan(text []byte) (err error) {
	if t.u.d == nil {
		if t.create = isRoot(text); !t.create {
			return errNotRoot
		}
		return nil
	}
	t.places, err = t.u.plan(text, t.v, anyway)
	return err
}

func (t *triplet) carryOut() error {
	u := t.u
	switch {
	case t.create:
		if err := u.again(); err != nil { // an earlier triplet may have made it
			return err
		}
		if u.d == nil {
			if _, err := u.create([]byte("$"), t.v, anyway); err != nil {
				return err
			}
		} else {
			u.d.SetRoot(u.ch, t.v.value)
		}
	case len(t.places) == 0:
		return nil
	default:
		u.from = u.ch.Len()
		u.carryOut(t.places, t.v)
	}
	u.done("json.mset")
	return nil
}
