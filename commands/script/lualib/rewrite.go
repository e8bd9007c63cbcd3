package lualib

import "github.com/yuin/gopher-lua/ast"

// A rewriter replaces the operator ".." by calls of the function that joins, and finds the
// line of a goto, which Lua 5.1 does not have. In a second round it replaces constants, for
// which the first one has collected the names.
type rewriter struct {
	foreign int
	names   names
	lift    *lifting // nil in the first round
	depth   int      // of blocks around the statement
}

func (r *rewriter) block(stmts []ast.Stmt) {
	r.depth++
	for _, s := range stmts {
		r.stmt(s)
	}
	r.depth--
}

func (r *rewriter) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, e := range s.Lhs {
			r.target(e)
		}
		r.list(s.Rhs)
	case *ast.LocalAssignStmt:
		r.alias(s)
		r.list(s.Exprs)
		r.names.add(s.Names...)
	case *ast.FuncCallStmt:
		r.statement(s)
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Then)
		r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit = r.expr(s.Init), r.expr(s.Limit)
		if s.Step != nil {
			s.Step = r.expr(s.Step)
		}
		r.names.add(s.Name)
		r.block(s.Stmts)
	case *ast.GenericForStmt:
		r.list(s.Exprs)
		r.names.add(s.Names...)
		r.block(s.Stmts)
	case *ast.FuncDefStmt:
		if s.Name.Func != nil {
			r.target(s.Name.Func)
		}
		r.function(s.Func)
	case *ast.ReturnStmt:
		r.list(s.Exprs)
	case *ast.GotoStmt, *ast.LabelStmt:
		r.foreign = max(s.Line(), 1)
	}
}

// target rewrites what is in an expression that is assigned to.
func (r *rewriter) target(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		r.names.use(e.Value)
		r.names.add(e.Value)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	}
}

func (r *rewriter) function(f *ast.FunctionExpr) {
	r.names.add(f.ParList.Names...)
	r.block(f.Stmts)
}

func (r *rewriter) list(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = r.expr(e)
	}
}

// expr rewrites what is in an expression and returns what stands for it.
func (r *rewriter) expr(e ast.Expr) ast.Expr {
	if v := r.lifted(e); v != nil {
		return v
	}
	switch e := e.(type) {
	case *ast.IdentExpr:
		r.names.use(e.Value)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				f.Key = r.expr(f.Key)
			}
			f.Value = r.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		if e.Func != nil {
			e.Func = r.expr(e.Func)
		}
		if e.Receiver != nil {
			e.Receiver = r.expr(e.Receiver)
		}
		r.list(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.function(e)
	}
	return e
}

// concat returns the call that joins the operands of "..", which groups to the right.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	name := &ast.IdentExpr{Value: concatName}
	call := &ast.FuncCallExpr{Func: name, AdjustRet: true}
	for _, n := range []ast.PositionHolder{name, call} {
		n.SetLine(e.Line())
		n.SetLastLine(e.LastLine())
	}
	for {
		call.Args = append(call.Args, r.operand(e.Lhs))
		next, ok := e.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			call.Args = append(call.Args, r.operand(e.Rhs))
			return call
		}
		e = next
	}
}

// operand rewrites an operand, which is one value even if it is a call.
func (r *rewriter) operand(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return r.expr(e)
}
