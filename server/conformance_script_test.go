package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/resp"
)

// A script is a transcript of what clients send and get. Its lines:
//
//	# a comment
//	# redis: skip (reason)   the next call is not made of a real Redis
//	# redis: version 7.4     nor what follows up to `flush`, of an older one
//	> SET k v                client 1 sends, and gets the reply of the next line
//	OK
//	2> BLPOP q 5             client 2 sends; its reply comes when 2< says so
//	2< ["q" "x"]             client 2 gets a reply
//	advance 10s              moves the clock
//	restart                  closes and reopens the store; fresh clients
//	flush                    FLUSHALL and fresh clients
//	proto 3                  fresh clients, which speak RESP3 from now on

type stepKind int

const (
	stepSend stepKind = iota
	stepExpect
	stepAdvance
	stepRestart
	stepFlush
	stepProto
)

// step is one line, or an expected reply of several.
type step struct {
	kind   stepKind
	line   int
	client int
	text   string // as written
	argv   [][]byte
	want   *node
	wait   time.Duration
	proto  int

	skip    string // on a send and its reply: why real Redis is not asked
	version string // the oldest Redis that knows what follows
}

// loadScripts reads all scripts, by the names of family and file: "lists/waiting".
func loadScripts(t *testing.T) map[string][]step {
	t.Helper()
	files, err := filepath.Glob("../commands/*/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	scripts := map[string][]step{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		family := filepath.Base(filepath.Dir(filepath.Dir(file)))
		name := family + "/" + strings.TrimSuffix(filepath.Base(file), ".txt")
		if scripts[name], err = parseScript(string(text)); err != nil {
			t.Fatalf("%s:%v", file, err)
		}
	}
	return scripts
}

func parseScript(text string) ([]step, error) {
	p := &scriptParser{lines: strings.Split(text, "\n")}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, fmt.Errorf("%d: %w", p.at, err)
		}
	}
	return p.steps, nil
}

type scriptParser struct {
	lines         []string
	at            int
	steps         []step
	skip, version string
}

func (p *scriptParser) next() error {
	line := strings.TrimRight(p.lines[p.at], " \t\r")
	p.at++
	word, rest, _ := strings.Cut(line, " ")
	s := step{line: p.at, text: line, version: p.version}
	var err error
	switch {
	case line == "":
		return nil
	case line[0] == '#':
		return p.comment(strings.TrimSpace(line[1:]))
	case word == "advance":
		s.kind = stepAdvance
		s.wait, err = time.ParseDuration(rest)
	case line == "restart":
		s.kind = stepRestart
	case line == "flush":
		s.kind, p.version = stepFlush, ""
	case word == "proto":
		s.kind = stepProto
		s.proto, err = strconv.Atoi(rest)
	case strings.HasSuffix(word, ">") || strings.HasSuffix(word, "<"):
		return p.exchange(s, word, rest)
	default:
		return fmt.Errorf("unexpected line %q", line)
	}
	p.steps = append(p.steps, s)
	return err
}

func (p *scriptParser) comment(text string) error {
	order, ok := strings.CutPrefix(text, "redis:")
	if !ok {
		return nil
	}
	order = strings.TrimSpace(order)
	if reason, ok := strings.CutPrefix(order, "skip"); ok {
		p.skip = strings.Trim(reason, " ()")
		if p.skip == "" {
			return fmt.Errorf("skip without a reason")
		}
		return nil
	}
	if v, ok := strings.CutPrefix(order, "version "); ok {
		p.version = v
		return nil
	}
	return fmt.Errorf("unknown order %q", order)
}

// exchange reads a line that is sent, with the reply behind it if it is client
// 1's, or a line that is received.
func (p *scriptParser) exchange(s step, word, rest string) error {
	s.client = 1
	if number := word[:len(word)-1]; number != "" {
		var err error
		if s.client, err = strconv.Atoi(number); err != nil {
			return err
		}
	}
	if word[len(word)-1] == '<' {
		return p.expect(s, rest)
	}
	s.kind, s.skip = stepSend, p.skip
	var ok bool
	if s.argv, ok = resp.SplitWords([]byte(rest), nil); !ok || len(s.argv) == 0 {
		return fmt.Errorf("cannot split %q", rest)
	}
	p.steps = append(p.steps, s)
	if word != ">" {
		p.skip = ""
		return nil
	}
	if p.at >= len(p.lines) {
		return fmt.Errorf("%q has no reply", s.text)
	}
	reply := step{line: p.at + 1, client: 1, skip: p.skip, version: p.version, text: p.lines[p.at]}
	rest = p.lines[p.at]
	p.at++
	err := p.expect(reply, rest)
	p.skip = ""
	return err
}

// expect reads a reply, which goes on in the next lines while brackets are open.
func (p *scriptParser) expect(s step, text string) error {
	s.kind = stepExpect
	for {
		want, err := parseNotation(text)
		if err == nil {
			s.want = want
			p.steps = append(p.steps, s)
			return nil
		}
		if err != errOpenBracket || p.at >= len(p.lines) {
			return fmt.Errorf("reply %q: %w", text, err)
		}
		text += " " + strings.TrimSpace(p.lines[p.at])
		p.at++
	}
}
