package json

import (
	"slices"
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

func isArray(v json.Value) bool { return v.Type() == json.Array }

// elements are values that go into arrays, one after the other.
type elements struct {
	encoded []byte
	n       int
	depth   int // containers that lie in one another
}

func (s *scratch) elements(args [][]byte) (e elements, err error) {
	s.value = s.value[:0]
	for _, arg := range args {
		_, depth, err := s.parse(arg, json.NoFloat)
		if err != nil {
			return e, err
		}
		e.depth = max(e.depth, depth)
	}
	e.encoded, e.n = s.value, len(args)
	return e, nil
}

// growing reads the elements that are to be put into the arrays that a path of a document matches, and finds these.
func (s *scratch) growing(c *commands.Ctx, key, text []byte, args [][]byte) (u *update, e elements, order []int, paths [][]json.Step, err error) {
	if e, err = s.elements(args); err == nil {
		u, err = existing(c, key, text)
	}
	if err == nil {
		order, paths, err = u.arrays(e)
	}
	return u, e, order, paths, err
}

// arrays finds the arrays that a path matches, in which elements are to be put.
func (u *update) arrays(e elements) (order []int, paths [][]json.Step, err error) {
	if order, paths, err = u.choose(isArray); err != nil {
		return nil, nil, err
	}
	deepest := -1
	for _, i := range order {
		deepest = max(deepest, len(paths[i]))
	}
	if len(order) == 0 {
		if u.path.Legacy {
			return nil, nil, errNoArray
		}
		return nil, paths, nil
	}
	return order, paths, allows(len(order), len(e.encoded), e.depth, deepest+1)
}

func arrAppend(c *commands.Ctx) error {
	key, text, args := c.Args.Key(), word(c), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	u, e, order, paths, err := s.growing(c, key, text, args)
	if err != nil {
		return err
	}
	lengths := make([]int, len(u.list))
	for _, i := range order {
		v, _ := u.d.Lookup(paths[i])
		lengths[i] = v.Len() + e.n
		u.d.Splice(u.ch, paths[i], v.Len(), 0, e.encoded)
	}
	if len(order) > 0 {
		u.done("json.arrappend")
	}
	u.reply(order, func(i int) { c.Reply.Int(int64(lengths[i])) })
	return nil
}

func arrInsert(c *commands.Ctx) error {
	key, text, at, args := c.Args.Key(), word(c), c.Args.IntOr(errInteger), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	u, e, order, paths, err := s.growing(c, key, text, args)
	if err != nil {
		return err
	}
	lengths := make([]int, len(u.list))
	for _, i := range order {
		if n := u.list[i].Len(); at < -int64(n) || at > int64(n) {
			return errBounds
		} else if at < 0 {
			lengths[i] = int(at) + n
		} else {
			lengths[i] = int(at)
		}
		u.d.Pin(paths[i], lengths[i]-1, lengths[i])
	}
	if err := c.Tx.Err(); err != nil {
		return err
	}
	indexes := slices.Clone(lengths)
	u.deepestFirst(order)
	for _, i := range order {
		u.d.Splice(u.ch, paths[i], indexes[i], 0, e.encoded)
		v, _ := u.d.Lookup(paths[i])
		lengths[i] = v.Len()
	}
	if len(order) > 0 {
		u.done("json.arrinsert")
	}
	u.reply(order, func(i int) { c.Reply.Int(int64(lengths[i])) })
	return nil
}

// popOptions are the arguments of JSON.ARRPOP behind the key.
type popOptions struct {
	format format
	text   []byte
	index  int64
}

func readPopOptions(c *commands.Ctx) popOptions {
	o := popOptions{index: -1}
	if c.Args.Left() > 1 && c.Args.Is("FORMAT") {
		if c.Reply.Proto() != 3 {
			c.Args.Fail(errProtocol)
		}
		o.format = readFormat(c, string(word(c)), "STRINGS")
	}
	o.text = pathOr(c)
	if c.Args.More() {
		if i, ok := commands.ParseInt(c.Args.Bytes()); ok {
			o.index = i
		}
	}
	if o.format != asText && isLegacy(o.text) {
		c.Args.Fail(errLegacyFormat)
	}
	return o
}

func arrPop(c *commands.Ctx) error {
	key := c.Args.Key()
	o := readPopOptions(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	u, err := existing(c, key, o.text)
	if err != nil {
		return err
	}
	order, paths, err := u.arrays(elements{})
	if err != nil {
		return err
	}
	for _, i := range order {
		at := clamp(o.index, u.list[i].Len())
		u.d.Pin(paths[i], at-1, at, at+1)
	}
	if err := c.Tx.Err(); err != nil {
		return err
	}
	u.deepestFirst(order)
	popped := make([][]byte, len(u.list))
	for _, i := range order {
		popped[i] = u.pop(paths[i], o.index)
	}
	if u.changed() || len(order) > 0 && u.path.Legacy {
		u.done("json.arrpop")
	}
	u.reply(order, func(i int) {
		if popped[i] == nil {
			c.Reply.Null()
		} else {
			replyTyped(c, json.Of(popped[i]), o.format)
		}
	})
	return nil
}

// clamp is the index of the element of an array of n that an index from either end means.
func clamp(i int64, n int) int {
	if i < 0 {
		return int(max(i+int64(n), 0))
	}
	return int(min(i, int64(max(n-1, 0))))
}

// pop removes an element, nil if there is none.
func (u *update) pop(p []json.Step, index int64) []byte {
	v, _ := u.d.Lookup(p)
	at := clamp(index, v.Len())
	element, ok := v.Element(at)
	if !ok {
		return nil
	}
	popped := element.Encoded(nil)
	u.d.Splice(u.ch, p, at, 1, nil)
	return popped
}

func arrTrim(c *commands.Ctx) error {
	key, text, start, stop := c.Args.Key(), word(c), c.Args.IntOr(errInteger), c.Args.IntOr(errInteger)
	if err := c.Args.Done(); err != nil {
		return err
	}
	u, err := existing(c, key, text)
	if err != nil {
		return err
	}
	order, paths, err := u.arrays(elements{})
	if err != nil {
		return err
	}
	for _, i := range order {
		from, to := trimmed(start, stop, u.list[i].Len())
		u.d.Pin(paths[i], from-1, from, to-1, to)
	}
	if err := c.Tx.Err(); err != nil {
		return err
	}
	u.deepestFirst(order)
	lengths := make([]int, len(u.list))
	for _, i := range order {
		v, _ := u.d.Lookup(paths[i])
		n := v.Len()
		from, to := trimmed(start, stop, n)
		u.d.Splice(u.ch, paths[i], to, n-to, nil) // also if nothing is cut: it counts as a change
		if from > 0 {
			u.d.Splice(u.ch, paths[i], 0, from, nil)
		}
		lengths[i] = to - from
	}
	if len(order) > 0 {
		u.done("json.arrtrim")
	}
	u.reply(order, func(i int) { c.Reply.Int(int64(lengths[i])) })
	return nil
}

// trimmed returns where the elements of an array of n begin and end that a range leaves.
func trimmed(start, stop int64, n int) (from, to int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if stop < 0 {
		stop = max(stop+size, -1)
	}
	stop = min(stop, size-1)
	if start > stop || start >= size {
		return 0, 0
	}
	return int(start), int(stop) + 1
}

// arrIndex replies where a value is in arrays, -1 if it is not there.
func arrIndex(c *commands.Ctx) error {
	if c.Args.Left() > 5 {
		return commands.ErrArity(c.Command)
	}
	key, text, arg := c.Args.Key(), word(c), c.Args.Bytes()
	var start, stop int64
	if c.Args.More() {
		start = c.Args.IntOr(errInteger)
	}
	if c.Args.More() {
		stop = c.Args.IntOr(errInteger)
	}
	if !utf8.Valid(arg) {
		c.Args.Fail(errUTF8)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	encoded, err := json.Parse(arg)
	if err != nil {
		return commands.WireError("ERR " + err.Error())
	}
	c.Args.Reset([][]byte{key, text}, 0)
	steps := new(json.Budget)
	return eachMatch(c, reading{missing: errNoPath, none: errNoPath, always: true, whole: true, steps: steps}, func(v json.Value) error {
		if v.Type() != json.Array {
			return errExpectedArray
		}
		steps.Add(path.StepsOfByte * v.Memory())
		c.Reply.Int(int64(indexOf(v, json.Of(encoded), start, stop, steps)))
		return nil
	})
}

// indexOf finds an element from start to before stop; a stop of 0 is the end.
func indexOf(v, wanted json.Value, start, stop int64, steps *json.Budget) int {
	n := int64(v.Len())
	if start < 0 {
		start = max(start+n, 0)
	}
	start = min(start, max(n-1, 0))
	switch {
	case stop == 0 || stop > n:
		stop = n
	case stop < 0:
		stop += n
	}
	members := v.Members()
	for i := int64(0); i < stop && steps.Take(1); i++ {
		_, member, ok := members.Next()
		if !ok {
			break
		}
		if i >= start && member.Equal(wanted, steps) {
			return int(i)
		}
	}
	return -1
}
