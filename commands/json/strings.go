package json

import (
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
)

func isString(v json.Value) bool { return v.Type() == json.String }

func strAppend(c *commands.Ctx) error {
	key, text := c.Args.Key(), []byte(".")
	if c.Args.Left() > 1 {
		text = word(c)
	}
	arg := c.Args.Bytes()
	if !utf8.Valid(arg) {
		c.Args.Fail(errUTF8)
	}
	if err := c.Args.Err(); err != nil {
		return err
	}
	u, err := existing(c, key, text)
	if err != nil {
		return err
	}
	order, paths, err := u.choose(isString)
	if err != nil {
		return err
	}
	if len(order) == 0 {
		if u.path.Legacy {
			return errNoString
		}
		u.reply(order, nil)
		return nil
	}
	s, err := readString(arg)
	if err != nil {
		return err
	}
	if err := u.allowsAppend(order, len(s)); err != nil {
		return err
	}
	lengths := make([]int, len(u.list))
	for _, i := range order {
		u.d.AppendString(u.ch, paths[i], s)
		v, _ := u.d.Lookup(paths[i])
		lengths[i] = v.Len()
	}
	u.done("json.strappend")
	u.reply(order, func(i int) { c.Reply.Int(int64(lengths[i])) })
	return nil
}

// readString reads the string of an argument.
func readString(arg []byte) ([]byte, error) {
	encoded, err := json.Parse(arg)
	if err != nil {
		return nil, commands.WireError("ERR " + err.Error())
	}
	if v := json.Of(encoded); v.Type() == json.String {
		return v.Text(nil), nil
	}
	return nil, errExpectedString
}

// allowsAppend reports an error if a string becomes too long, or all of what is appended is too much.
func (u *update) allowsAppend(order []int, n int) error {
	for _, i := range order {
		if int64(u.list[i].Len())+int64(n) > u.c.Host.Limits().MaxBulk {
			return errTooLong
		}
	}
	return allows(len(order), n, 0, 0)
}

func strLen(c *commands.Ctx) error {
	return lengths(c, json.String, lengthErrors{missing: errNoKey, none: errNoPath, other: errExpectedString})
}

// lengthErrors are the errors of a command that returns lengths: for a missing key, for a legacy
// path that leads nowhere, nil for a reply of nil, and to a value of another type.
type lengthErrors struct{ missing, none, other error }

// lengths replies the lengths of what a path matches of one type.
func lengths(c *commands.Ctx, t json.Type, errs lengthErrors) error {
	return eachMatch(c, reading{missing: errs.missing, none: errs.none}, func(v json.Value) error {
		if v.Type() != t {
			return errs.other
		}
		c.Reply.Int(int64(v.Len()))
		return nil
	})
}
