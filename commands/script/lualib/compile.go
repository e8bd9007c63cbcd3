package lualib

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Compile compiles a script, whose name stands before the line in errors. The result can
// be shared by any number of states, each of which makes its own function of it.
//
// An error has Lua's form, "name:line: text near 'token'", but not always Lua's text. It is
// returned for what is not Lua and for what is nested more deeply than Lua allows, before
// anything is allocated for it; and the meter's, when the source is too large for it.
func Compile(source, name string, m Meter) (*lua.FunctionProto, error) {
	if err := m.Take(len(source) * compiledSize); err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, syntaxError(err, name)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, syntaxError(err, name)
	}
	return proto, nil
}

// Function returns a function of a state, with the state's globals, which runs what was
// compiled.
func Function(L *lua.LState, proto *lua.FunctionProto) *lua.LFunction {
	return L.NewFunctionFromProto(proto)
}

// compiledSize is what a byte of source takes at most while it is compiled: a token of two
// bytes can become a node of the tree, an instruction and the line of that.
const compiledSize = 64

// methodMark stands before the names of calls of methods in what is compiled, so that
// errors do not count self among the arguments.
const methodMark = ":"

// syntaxError gives an error of the parser or compiler Lua's form.
func syntaxError(err error, name string) error {
	var p *parse.Error
	if errors.As(err, &p) {
		token := p.Token
		if p.Pos.Line == parse.EOF {
			return fmt.Errorf("%s: %s near '<eof>'", name, p.Message)
		}
		return fmt.Errorf("%s:%d: %s near '%s'", name, p.Pos.Line, p.Message, token)
	}
	var c *lua.CompileError
	if errors.As(err, &c) {
		return fmt.Errorf("%s:%d: %s", name, c.Line, c.Message)
	}
	return err
}
