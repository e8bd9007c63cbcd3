package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// node is a reply, as received or as a script expects it.
type node struct {
	kind nodeKind
	text string // of strings, statuses, errors, numbers
	list []*node
	re   *regexp.Regexp
}

type nodeKind byte

const (
	nodeStatus    nodeKind = '+'
	nodeError     nodeKind = '-'
	nodeInt       nodeKind = ':'
	nodeBulk      nodeKind = '$' // verbatim strings too
	nodeNull      nodeKind = '_'
	nodeNullArray nodeKind = '0'
	nodeArray     nodeKind = '*'
	nodeSet       nodeKind = '~'
	nodeMap       nodeKind = '%'
	nodePush      nodeKind = '>'
	nodeDouble    nodeKind = ','
	nodeBool      nodeKind = '#'
	nodeBig       nodeKind = '('

	// of scripts only
	nodeAny       nodeKind = 'a'
	nodeMatch     nodeKind = '/'
	nodeUnordered nodeKind = 'u'
	nodeNone      nodeKind = 'n' // no reply at all
	nodeClosed    nodeKind = 'c' // the connection ends
)

// readNode reads one reply.
func readNode(r *bufio.Reader) (*node, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(line, "\r\n") || len(line) < 3 {
		return nil, fmt.Errorf("bad line %q", line)
	}
	n := &node{kind: nodeKind(line[0]), text: strings.TrimRight(line[1:len(line)-2], " ")}
	switch n.kind {
	case nodeStatus, nodeError, nodeInt, nodeNull, nodeDouble, nodeBool, nodeBig:
		return n, nil
	case '=', nodeBulk:
		return n, n.readBulk(r)
	case nodeArray, nodeSet, nodeMap, nodePush:
		return n, n.readList(r)
	}
	return nil, fmt.Errorf("bad reply %q", line)
}

func (n *node) readBulk(r *bufio.Reader) error {
	size, err := strconv.Atoi(n.text)
	if err != nil {
		return err
	}
	verbatim := n.kind == '='
	n.kind = nodeBulk
	if size < 0 {
		n.kind = nodeNull
		return nil
	}
	b := make([]byte, size+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	n.text = string(b[:size])
	if verbatim {
		n.text = n.text[4:]
	}
	return nil
}

func (n *node) readList(r *bufio.Reader) error {
	size, err := strconv.Atoi(n.text)
	if err != nil {
		return err
	}
	if size < 0 {
		n.kind = nodeNullArray
		return nil
	}
	if n.kind == nodeMap {
		size *= 2
	}
	for range size {
		item, err := readNode(r)
		if err != nil {
			return err
		}
		n.list = append(n.list, item)
	}
	return nil
}

// matches reports whether a reply is the expected one.
func (n *node) matches(got *node) bool {
	switch n.kind {
	case nodeAny:
		return true
	case nodeMatch:
		return (got.kind == nodeBulk || got.kind == nodeStatus || got.kind == nodeError) && n.re.MatchString(got.text)
	case nodeNullArray:
		return got.kind == nodeNullArray || got.kind == nodeNull && got.text == ""
	case nodeNull:
		return got.kind == nodeNull
	case nodeUnordered:
		return n.matchesAnyOrder(got)
	}
	if n.kind != got.kind || len(n.list) != len(got.list) || !n.isList() && n.text != got.text {
		return false
	}
	if n.kind == nodeMap {
		return n.matchesMap(got)
	}
	for i := range n.list {
		if !n.list[i].matches(got.list[i]) {
			return false
		}
	}
	return true
}

func (n *node) isList() bool {
	switch n.kind {
	case nodeArray, nodeSet, nodeMap, nodePush:
		return true
	}
	return false
}

// matchesAnyOrder compares as multisets: arrays whose order means nothing.
func (n *node) matchesAnyOrder(got *node) bool {
	want := n.list[0]
	if want.kind != got.kind || len(want.list) != len(got.list) {
		return false
	}
	left := append([]*node(nil), got.list...)
next:
	for _, w := range want.list {
		for i, g := range left {
			if w.matches(g) {
				left = append(left[:i], left[i+1:]...)
				continue next
			}
		}
		return false
	}
	return true
}

// matchesMap compares pairs in any order: maps have none.
func (n *node) matchesMap(got *node) bool {
next:
	for i := 0; i < len(n.list); i += 2 {
		for j := 0; j < len(got.list); j += 2 {
			if n.list[i].matches(got.list[j]) && n.list[i+1].matches(got.list[j+1]) {
				continue next
			}
		}
		return false
	}
	return true
}

// String writes a reply in the notation of scripts.
func (n *node) String() string {
	switch n.kind {
	case nodeStatus:
		return n.text
	case nodeError:
		return "(error) " + n.text
	case nodeInt:
		return "(int) " + n.text
	case nodeBulk:
		return strconv.Quote(n.text)
	case nodeNull:
		return "(nil)"
	case nodeNullArray:
		return "(nil array)"
	case nodeDouble:
		return "(double) " + n.text
	case nodeBool:
		return "#" + n.text
	case nodeMap:
		return n.mapString()
	}
	var items []string
	for _, i := range n.list {
		items = append(items, i.String())
	}
	prefix := map[nodeKind]string{nodeSet: "~", nodePush: ">"}[n.kind]
	return prefix + "[" + strings.Join(items, " ") + "]"
}

func (n *node) mapString() string {
	var pairs []string
	for i := 0; i+1 < len(n.list); i += 2 {
		pairs = append(pairs, n.list[i].String()+": "+n.list[i+1].String())
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

var errOpenBracket = errors.New("a bracket is open")

// parseNotation reads a whole expected reply.
func parseNotation(s string) (*node, error) {
	p := &notation{s: strings.TrimSpace(s)}
	if bare := p.bare(); bare != nil {
		return bare, nil
	}
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.blank(); p.s != "" {
		return nil, fmt.Errorf("%q is left over", p.s)
	}
	return n, nil
}

type notation struct{ s string }

// bare recognises replies that are the whole line: statuses of several words,
// errors, regular expressions.
func (p *notation) bare() *node {
	if text, ok := strings.CutPrefix(p.s, "(error) "); ok {
		if strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/") && len(text) > 1 {
			return nil
		}
		return &node{kind: nodeError, text: text}
	}
	if p.s == "" || strings.ContainsAny(p.s[:1], `("[{~>#/+`) {
		return nil
	}
	return &node{kind: nodeStatus, text: p.s}
}

func (p *notation) blank() { p.s = strings.TrimLeft(p.s, " \t") }

func (p *notation) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.s, prefix)
	if ok {
		p.s = rest
	}
	return ok
}

// word takes what stands before a space or a bracket.
func (p *notation) word() string {
	p.blank()
	i := strings.IndexAny(p.s, " ]},:")
	if i < 0 {
		i = len(p.s)
	}
	w := p.s[:i]
	p.s = p.s[i:]
	return w
}

func (p *notation) value() (*node, error) {
	p.blank()
	switch {
	case p.s == "":
		return nil, errOpenBracket
	case p.take("(int)"):
		return &node{kind: nodeInt, text: p.word()}, nil
	case p.take("(double)"):
		return &node{kind: nodeDouble, text: p.word()}, nil
	case p.take("(nil array)"):
		return &node{kind: nodeNullArray}, nil
	case p.take("(nil)"):
		return &node{kind: nodeNull}, nil
	case p.take("(any)"):
		return &node{kind: nodeAny}, nil
	case p.take("(none)"):
		return &node{kind: nodeNone}, nil
	case p.take("(closed)"):
		return &node{kind: nodeClosed}, nil
	case p.take("(error)"):
		return p.failure()
	case p.take("(unordered)"):
		inner, err := p.value()
		if err != nil {
			return nil, err
		}
		return &node{kind: nodeUnordered, list: []*node{inner}}, nil
	case p.take("#t"):
		return &node{kind: nodeBool, text: "t"}, nil
	case p.take("#f"):
		return &node{kind: nodeBool, text: "f"}, nil
	}
	return p.compound()
}

// failure is an error inside brackets: its text in quotes, or an expression.
func (p *notation) failure() (*node, error) {
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if n.kind == nodeBulk {
		n.kind = nodeError
	}
	return n, nil
}

func (p *notation) compound() (*node, error) {
	switch {
	case p.s[0] == '"':
		q, err := strconv.QuotedPrefix(p.s)
		if err != nil {
			return nil, err
		}
		p.s = p.s[len(q):]
		text, err := strconv.Unquote(q)
		return &node{kind: nodeBulk, text: text}, err
	case p.s[0] == '/':
		return p.expression()
	case strings.HasPrefix(p.s, `+"`): // a status of several words inside brackets
		p.s = p.s[1:]
		n, err := p.compound()
		if err == nil {
			n.kind = nodeStatus
		}
		return n, err
	case p.take("["):
		return p.items(nodeArray, "]")
	case p.take("~["):
		return p.items(nodeSet, "]")
	case p.take(">["):
		return p.items(nodePush, "]")
	case p.take("{"):
		return p.items(nodeMap, "}")
	}
	w := p.word()
	if w == "" {
		return nil, fmt.Errorf("nothing to read at %q", p.s)
	}
	return &node{kind: nodeStatus, text: w}, nil
}

// expression reads /regular expression/, in which \/ is a slash.
func (p *notation) expression() (*node, error) {
	for i := 1; i < len(p.s); i++ {
		if p.s[i] == '/' && p.s[i-1] != '\\' {
			re, err := regexp.Compile("(?s)^(?:" + strings.ReplaceAll(p.s[1:i], `\/`, "/") + ")$")
			p.s = p.s[i+1:]
			return &node{kind: nodeMatch, re: re}, err
		}
	}
	return nil, errors.New("an expression has no end")
}

func (p *notation) items(kind nodeKind, end string) (*node, error) {
	n := &node{kind: kind}
	for {
		if p.blank(); p.take(end) {
			return n, nil
		}
		if p.take(",") || p.take(":") {
			continue
		}
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, item)
	}
}
