package lualib

import (
	"errors"
	"fmt"
	"io"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Compile compiles a script, whose name stands before the line in errors. The result can
// be shared by any number of states: Function makes a function of it for each.
//
// An error has Lua's form, "name:line: text near 'token'", but not always Lua's text. It is
// returned for what is not Lua and for what is nested more deeply than Lua allows, before
// anything is allocated for it; and the meter's, when the source is too large for it.
//
// Function has to be given the values of the constants.
func Compile(source, name string, m Meter, constants ...Constant) (*lua.FunctionProto, error) {
	if err := m.Take(len(source) * compiledSize); err != nil {
		return nil, err
	}
	if line := tooDeep(source); line > 0 {
		return nil, fmt.Errorf("%s:%d: chunk has too many syntax levels", name, line)
	}
	chunk, err := parse.Parse(meteredReader{strings.NewReader(source), m}, name)
	if over := m.Step(1); over != nil {
		return nil, over
	}
	if err != nil {
		return nil, syntaxError(err, name)
	}
	r := rewriter{}
	r.block(chunk)
	if r.foreign > 0 {
		return nil, fmt.Errorf("%s:%d: syntax error near 'goto'", name, r.foreign)
	}
	if len(constants) > 0 && !r.names.opaque {
		r.lift = &lifting{constants: constants, aliases: map[string]string{}}
		r.block(chunk)
	}
	proto, err := lua.Compile(inside(chunk, strings.Contains(source, "..."), constants), name)
	if err != nil {
		return nil, syntaxError(err, name)
	}
	// gopher-lua would make the table arg of Lua 5.0 for each run of the script, 2 KB.
	proto.FunctionPrototypes[0].IsVarArg &^= lua.VarArgNeedsArg
	markCalls(proto)
	return proto, nil
}

// A meteredReader ends when the meter fails, because the parser ignores other errors.
type meteredReader struct {
	io.Reader
	m Meter
}

func (r meteredReader) Read(b []byte) (int, error) {
	if r.m.Step(len(b)) != nil {
		return 0, io.EOF
	}
	return r.Reader.Read(b)
}

// inside returns a chunk that takes the function that joins, and constants, and returns the
// script as a function, where these are variables of the function around it. varargs says
// that the script may use its arguments.
func inside(chunk []ast.Stmt, varargs bool, constants []Constant) []ast.Stmt {
	last := 1
	if len(chunk) > 0 {
		last = chunk[len(chunk)-1].LastLine()
	}
	variables := []string{concatName}
	for _, c := range constants {
		variables = append(variables, c.variable())
	}
	take := &ast.LocalAssignStmt{Names: variables, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	script := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: varargs}, Stmts: chunk}
	give := &ast.ReturnStmt{Exprs: []ast.Expr{script}}
	for _, n := range []ast.PositionHolder{take, take.Exprs[0], script, give} {
		n.SetLine(1)
		n.SetLastLine(last)
	}
	return []ast.Stmt{take, give}
}

// Function returns a function of a state that Open has prepared, with the state's globals,
// which runs what was compiled with these constants.
func Function(L *lua.LState, proto *lua.FunctionProto, constants ...lua.LValue) *lua.LFunction {
	L.Push(L.NewFunctionFromProto(proto))
	L.Push(L.G.Registry.RawGetString(concatName))
	for _, v := range constants {
		L.Push(v)
	}
	L.Call(1+len(constants), 1)
	f := L.Get(-1).(*lua.LFunction)
	L.Pop(1)
	return f
}

// compiledSize is what a byte of source takes at most while it is compiled: a token of two
// bytes can become a node of the tree, an instruction and the line of that.
const compiledSize = 64

// A mark stands before the name of each call in what is compiled: calls that Go makes have
// none, errors do not count self among the arguments of methods, and a function that is
// called in place of the one that returns its results cannot yield.
const (
	callMark   = '='
	methodMark = ':'
	tailMark   = '!'
)

// markCalls marks the names of the calls of a function and of those inside it.
func markCalls(proto *lua.FunctionProto) {
	for i := range proto.DbgCalls {
		c := &proto.DbgCalls[i]
		code := &proto.Code[c.Pc]
		mark := callMark
		switch {
		case isMethod(proto.Code, c.Pc):
			mark = methodMark
		case int(*code>>opcodeShift) != lua.OP_TAILCALL:
		case c.Name == "yield": // a call as others: what it returns is returned after it
			*code = *code&(1<<opcodeShift-1) | uint32(lua.OP_CALL)<<opcodeShift
		default:
			mark = tailMark
		}
		c.Name = string(mark) + c.Name
	}
	for _, inner := range proto.FunctionPrototypes {
		markCalls(inner)
	}
}

// Where gopher-lua has the operation and the first register in an instruction.
const (
	opcodeShift   = 26
	registerShift = 18
)

// isMethod says whether the function that the instruction at pc calls was looked up with
// the instruction for methods: its register was set last by that.
func isMethod(code []uint32, pc int) bool {
	a := code[pc] >> registerShift & 0xff
	for pc--; pc >= 0; pc-- {
		if code[pc]>>registerShift&0xff != a {
			continue
		}
		switch op := int(code[pc] >> opcodeShift); op {
		case lua.OP_JMP, lua.OP_EQ, lua.OP_LT, lua.OP_LE, lua.OP_TEST, lua.OP_NOP:
			continue // A is no register here
		default:
			return op == lua.OP_SELF
		}
	}
	return false
}

// syntaxError gives an error of the parser or compiler Lua's form.
func syntaxError(err error, name string) error {
	var p *parse.Error
	if errors.As(err, &p) {
		if p.Pos.Line == parse.EOF {
			return fmt.Errorf("%s: %s near '<eof>'", name, p.Message)
		}
		return fmt.Errorf("%s:%d: %s near '%s'", name, p.Pos.Line, p.Message, p.Token)
	}
	var c *lua.CompileError
	if errors.As(err, &c) {
		return fmt.Errorf("%s:%d: %s", name, c.Line, c.Message)
	}
	return err
}
