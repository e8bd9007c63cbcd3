package json

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

func numIncrBy(c *commands.Ctx) error { return calculate(c, json.Add, "json.numincrby") }
func numMultBy(c *commands.Ctx) error { return calculate(c, json.Multiply, "json.nummultby") }
func numPowBy(c *commands.Ctx) error  { return calculate(c, json.Power, "json.numpowby") }

func isNumber(v json.Value) bool { return v.Type().IsNumber() }

// calculate changes the numbers that a path matches. All results are known before the first change,
// and are what is recorded.
func calculate(c *commands.Ctx, op json.Operator, event string) error {
	key, text, arg := c.Args.Key(), word(c), c.Args.Bytes()
	if !utf8.Valid(arg) {
		c.Args.Fail(errUTF8)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	u, err := existing(c, key, text)
	if err != nil {
		return err
	}
	order, paths, err := u.choose(isNumber)
	if err != nil {
		return err
	}
	if len(order) == 0 {
		if u.path.Legacy && c.Reply.Proto() != 3 {
			return errNoNumber
		}
		u.replyNumbers(order, nil)
		return nil
	}
	n, err := readNumber(arg)
	if err != nil {
		return err
	}
	results, err := u.calculateAll(order, op, n)
	if err != nil {
		return err
	}
	for _, i := range order {
		u.d.Put(u.ch, paths[i], results[i])
	}
	u.done(event)
	u.replyNumbers(order, results)
	return nil
}

// readNumber reads the number of an argument.
func readNumber(arg []byte) (json.Value, error) {
	encoded, err := json.Parse(arg)
	if err != nil {
		return json.Value{}, commands.WireError("ERR " + err.Error())
	}
	if n := json.Of(encoded); n.Type().IsNumber() {
		return n, nil
	}
	return json.Value{}, errNumber
}

// calculateAll returns the results for the matches in order, by their indexes. A number that is
// matched again is changed again.
func (u *update) calculateAll(order []int, op json.Operator, n json.Value) (results [][]byte, err error) {
	results = make([][]byte, len(u.list))
	var twins map[int]int
	if !u.path.Ordered() {
		twins = u.twins(slices.Clone(order))
	}
	for _, i := range order {
		old := u.list[i].Value
		if before, ok := twins[i]; ok {
			old = json.Of(results[before])
		}
		results[i], err = json.Combine(nil, op, old, n)
		switch {
		case errors.Is(err, json.ErrOverflow):
			return nil, errOverflow
		case err != nil:
			return nil, errNotFinite
		}
	}
	return results, nil
}

// twins has, for each match of a value that was matched before, the one before.
func (u *update) twins(order []int) map[int]int {
	var twins map[int]int
	slices.SortStableFunc(order, func(a, b int) int { return path.Compare(&u.list[a], &u.list[b]) })
	for k := 1; k < len(order); k++ {
		if path.Compare(&u.list[order[k-1]], &u.list[order[k]]) == 0 {
			if twins == nil {
				twins = map[int]int{}
			}
			twins[order[k]] = order[k-1]
		}
	}
	return twins
}

// replyNumbers writes the results: as a text in RESP2, typed in RESP3.
func (u *update) replyNumbers(order []int, results [][]byte) {
	c := u.c
	if c.Reply.Proto() == 3 {
		c.Reply.Array(len(u.list))
		for i, fits := range u.fits {
			if fits {
				replyScalar(c, json.Of(results[i]))
			} else {
				c.Reply.Null()
			}
		}
		return
	}
	if u.path.Legacy {
		c.Reply.Bulk(json.AppendText(nil, json.Of(results[order[len(order)-1]])))
		return
	}
	text := []byte{'['}
	for i, fits := range u.fits {
		if i > 0 {
			text = append(text, ',')
		}
		if fits {
			text = json.AppendText(text, json.Of(results[i]))
		} else {
			text = append(text, "null"...)
		}
	}
	c.Reply.Bulk(append(text, ']'))
}

// toggle inverts booleans. One that is matched again is inverted again.
func toggle(c *commands.Ctx) error {
	key, text := c.Args.Key(), word(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	u, err := existing(c, key, text)
	if err != nil {
		return err
	}
	order, paths, err := u.choose(func(v json.Value) bool { return v.Type() == json.Boolean })
	switch {
	case err != nil:
		return err
	case len(order) == 0 && u.path.Legacy:
		return errNoBoolean
	}
	results := make([]bool, len(u.list))
	for _, i := range order {
		v, _ := u.d.Lookup(paths[i])
		results[i] = !v.Bool()
		u.d.Put(u.ch, paths[i], json.AppendBool(nil, results[i]))
	}
	if len(order) > 0 {
		u.done("json.toggle")
	}
	u.reply(order, func(i int) {
		switch {
		case !u.path.Legacy:
			c.Reply.IntBool(results[i])
		case results[i]:
			c.Reply.BulkString("true")
		default:
			c.Reply.BulkString("false")
		}
	})
	return nil
}
