package lualib

import "github.com/yuin/gopher-lua/ast"

// A Constant is something that a script names and cannot change: a global, or a field of a
// read-only table. What is compiled has it as a variable of the function around the script,
// as it has the function that joins, in place of looking it up each time.
type Constant struct {
	Global string
	Field  string // of the table Global; "": Global itself
	// Statement is for calls of the function that are statements: nothing uses what they
	// return, and another function can do the same without making it.
	Statement bool
}

// variable is the name of the variable for it, one that no script can write.
func (c Constant) variable() string {
	name := c.Global + "." + c.Field
	if c.Statement {
		name += ";"
	}
	return "(" + name + ")"
}

// lifting replaces the names of constants in a script. A name is left alone if the script
// declares one like it or assigns to one anywhere, so that nothing has to be known of
// scopes; and all are if the script can get at the table of its globals.
type lifting struct {
	constants []Constant
	// aliases are local variables of the script itself that hold a constant function and
	// nothing else, with the variable for statements.
	aliases map[string]string
}

// names are what a script does to names.
type names struct {
	set    map[string]int // how often each is declared or assigned
	opaque bool           // the script uses something by which it gets at its globals
}

func (n *names) add(list ...string) {
	if n.set == nil {
		n.set = map[string]int{}
	}
	for _, name := range list {
		n.set[name]++
	}
}

// use notes that a script uses a name.
func (n *names) use(name string) {
	switch name {
	case "_G", "getfenv", "setfenv", "load", "loadstring":
		n.opaque = true
	}
}

// find returns the variable of a constant, "" if there is none.
func (l *lifting) find(n *names, global, field string, statement bool) string {
	for _, c := range l.constants {
		if c.Global == global && c.Field == field && c.Statement == statement && n.set[global] == 0 {
			return c.variable()
		}
	}
	return ""
}

// path returns the names of a global, or of the field of one.
func path(e ast.Expr) (global, field string, ok bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value, "", true
	case *ast.AttrGetExpr:
		table, isName := e.Object.(*ast.IdentExpr)
		key, isText := e.Key.(*ast.StringExpr)
		if isName && isText && key.Value != "" {
			return table.Value, key.Value, true
		}
	}
	return "", "", false
}

// lifted returns the variable that stands for an expression, or nil.
func (r *rewriter) lifted(e ast.Expr) ast.Expr {
	if r.lift == nil {
		return nil
	}
	global, field, ok := path(e)
	if !ok {
		return nil
	}
	if name := r.lift.find(&r.names, global, field, false); name != "" {
		return named(name, e)
	}
	return nil
}

// statement lets a call that is a statement call the function for that.
func (r *rewriter) statement(s *ast.FuncCallStmt) {
	call, ok := s.Expr.(*ast.FuncCallExpr)
	if r.lift == nil || !ok || call.Func == nil {
		return
	}
	global, field, ok := path(call.Func)
	if !ok {
		return
	}
	name := r.lift.aliases[global]
	if field != "" || name == "" {
		name = r.lift.find(&r.names, global, field, true)
	}
	if name != "" {
		call.Func = named(name, call.Func)
	}
}

// alias notes the local variables of the script itself that are to hold constants. It is
// called before these are replaced.
func (r *rewriter) alias(s *ast.LocalAssignStmt) {
	if r.lift == nil || r.depth > 1 || len(s.Exprs) != len(s.Names) {
		return
	}
	for i, e := range s.Exprs {
		global, field, ok := path(e)
		if !ok || r.names.set[s.Names[i]] != 1 {
			continue
		}
		if name := r.lift.find(&r.names, global, field, true); name != "" {
			r.lift.aliases[s.Names[i]] = name
		}
	}
}

// named is a variable in the place of an expression.
func named(name string, at ast.Expr) *ast.IdentExpr {
	v := &ast.IdentExpr{Value: name}
	v.SetLine(at.Line())
	v.SetLastLine(at.LastLine())
	return v
}
