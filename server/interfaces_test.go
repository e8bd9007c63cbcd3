package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// maxMethods is the most methods and embedded interfaces that an interface lists.
const maxMethods = 5

// parsePackages parses the files of the floors server and commands, tests left out.
func parsePackages(t *testing.T, visit func(pkg, path string, file *ast.File)) {
	t.Helper()
	for _, p := range listPackages(t) {
		if floor := floorOf(p.ImportPath); floor != "server" && floor != "commands" {
			continue
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			visit(strings.TrimPrefix(p.ImportPath, module), path, file)
		}
	}
}

func TestInterfacesOfServerAndCommandsAreSmall(t *testing.T) {
	seen := 0
	parsePackages(t, func(_, path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				seen++
				if got := len(i.Methods.List); got > maxMethods {
					t.Errorf("%s: an interface lists %d methods, more than %d", path, got, maxMethods)
				}
			}
			return true
		})
	})
	if seen == 0 {
		t.Error("no interface was found")
	}
}

// TestTheCompilerChecksWhatFamiliesAskOfTheServer finds the type assertions by which
// handlers reach the server: c.Host.(Broker) in family pubsub needs pubsub.Broker
// among the declarations in host.go, so that a method that is missing is an error of
// the compiler and not a panic of the handler.
func TestTheCompilerChecksWhatFamiliesAskOfTheServer(t *testing.T) {
	declared, asked := map[string]bool{}, map[string]bool{}
	parsePackages(t, func(pkg, path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec: // var _ pubsub.Broker = ...
				sel, ok := n.Type.(*ast.SelectorExpr)
				if ok && pkg == "server" && filepath.Base(path) == "host.go" && n.Names[0].Name == "_" {
					declared[sel.X.(*ast.Ident).Name+"."+sel.Sel.Name] = true
				}
			case *ast.TypeAssertExpr: // c.Host.(Broker)
				host, ok := n.X.(*ast.SelectorExpr)
				if name, plain := n.Type.(*ast.Ident); ok && plain && host.Sel.Name == "Host" {
					asked[strings.TrimPrefix(pkg, "commands/")+"."+name.Name] = true
				}
			}
			return true
		})
	})
	for name := range asked {
		if !declared[name] {
			t.Errorf("handlers ask for %s, which host.go does not declare", name)
		}
	}
	for name := range declared {
		if !asked[name] && name != "commands.Host" {
			t.Errorf("host.go declares %s, which no handler asks for", name)
		}
	}
	if len(asked) == 0 {
		t.Error("no handler asks for anything")
	}
}
