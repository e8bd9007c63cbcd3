package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// A passage is a text in one line that was in several: a comment, a paragraph, a literal.
type passage struct {
	text  strings.Builder
	marks []mark
}

// mark says which line begins at an offset of a passage.
type mark struct{ offset, line int }

// add appends a line of the file, a blank before it.
func (p *passage) add(line int, text string) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return
	}
	if p.text.Len() > 0 {
		p.text.WriteByte(' ')
	}
	p.marks = append(p.marks, mark{offset: p.text.Len(), line: line})
	p.text.WriteString(text)
}

// line returns the line of an offset.
func (p *passage) line(offset int) int {
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].offset > offset })
	return p.marks[max(i-1, 0)].line
}

// goPassages returns the comments of a Go file and, unless it is a test, its literals that are sentences:
// errors, lines of the log, summaries. Code within comments, which is indented, is left out.
func goPassages(name string, src []byte) ([]*passage, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	var all []*passage
	for _, group := range file.Comments {
		p := new(passage)
		for _, c := range group.List {
			line := files.Position(c.Pos()).Line
			for text := range strings.Lines(c.Text) {
				text = strings.TrimPrefix(strings.TrimSuffix(text, "*/"), "/*")
				text = strings.TrimPrefix(strings.TrimRight(text, "\r\n"), "//")
				switch {
				case strings.HasPrefix(text, "\t"), strings.HasPrefix(text, "     "):
				case strings.TrimSpace(text) == "":
					all, p = append(all, p), new(passage)
				default:
					p.add(line, text)
				}
				line++
			}
		}
		all = append(all, p)
	}
	if !strings.HasSuffix(name, "_test.go") {
		all = append(all, literals(files, file)...)
	}
	return all, nil
}

// literals returns the strings of a file that are sentences: at least four words in a row.
func literals(files *token.FileSet, file *ast.File) (all []*passage) {
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || strings.HasPrefix(lit.Value, "`") {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err == nil && sentence.MatchString(text) {
			p := new(passage)
			p.add(files.Position(lit.Pos()).Line, text)
			all = append(all, p)
		}
		return true
	})
	return all
}

var sentence = regexp.MustCompile(`(?:[\w'-]+[,:;]? ){3}[\w'-]+`)

// markdownPassages returns the paragraphs, items and cells of a page, without its code.
func markdownPassages(src []byte) (all []*passage) {
	p, fenced, line := new(passage), false, 0
	for text := range strings.Lines(string(src)) {
		line++
		trimmed := strings.TrimSpace(text)
		fence := strings.HasPrefix(trimmed, "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || trimmed == "" || block.MatchString(text) {
			all, p = append(all, p), new(passage)
		}
		if fence || fenced || strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "\t") {
			continue
		}
		p.add(line, code.ReplaceAllString(text, "`code`"))
	}
	return append(all, p)
}

var (
	code  = regexp.MustCompile("`[^`]+`")                           // within a line
	block = regexp.MustCompile(`^\s*(?:[-*] |\d+\. |\||#|    |\t)`) // begins a new passage
)

// newestSection returns a changelog up to the end of its first version, so that lines keep their numbers.
func newestSection(src []byte) []byte {
	versions := regexp.MustCompile(`(?m)^## `).FindAllIndex(src, 2)
	if len(versions) < 2 {
		return src
	}
	return src[:versions[1][0]]
}
