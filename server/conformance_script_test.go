package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/resp"
)

// A script is a transcript of what clients send and get. Its lines:
//
//	# a comment
//	# redis: skip (reason)               no real server gets the next call,
//	# redis: skip before 7.2 (reason)    no Redis older than 7.2,
//	# redis: skip from 8.0 (reason)      no Redis as new as 8.0,
//	# valkey: skip (reason)              no Valkey
//	# redis: version 7.4                 up to `flush`, no older Redis gets anything,
//	# valkey: version 9.0                nor an older Valkey; none at all without this line
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

	skips []skip  // on a send and its reply: the real servers that are not asked
	since release // the oldest servers that know what follows
}

// skip is why some real servers do not get a call.
type skip struct {
	server       string // "redis" or "valkey"
	before, from string // the versions that do not get it; all if both are empty
	reason       string
}

// release names versions of both servers. Without one of Redis everything is known to
// all servers; without one of Valkey what is new in Redis is unknown to Valkey.
type release struct{ redis, valkey string }

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
	p := &scriptParser{lines: strings.Split(text, "\n"), sent: map[int][]skip{}}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, fmt.Errorf("%d: %w", p.at, err)
		}
	}
	return p.steps, nil
}

type scriptParser struct {
	lines []string
	at    int
	steps []step
	skips []skip
	sent  map[int][]skip // of each client's last call, for its replies
	since release
}

func (p *scriptParser) next() error {
	line := strings.TrimRight(p.lines[p.at], " \t\r")
	p.at++
	word, rest, _ := strings.Cut(line, " ")
	s := step{line: p.at, text: line, since: p.since}
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
		s.kind, p.since = stepFlush, release{}
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

// marks are the orders to real servers that a comment can contain.
var marks = regexp.MustCompile(`^(redis|valkey): *(?:version ([0-9.]+)|skip(?: (before|from) ([0-9.]+))? \((.+)\))$`)

func (p *scriptParser) comment(text string) error {
	if !strings.HasPrefix(text, "redis:") && !strings.HasPrefix(text, "valkey:") {
		return nil
	}
	m := marks.FindStringSubmatch(text)
	switch {
	case m == nil:
		return fmt.Errorf("unknown order %q", text)
	case m[2] != "" && m[1] == "valkey":
		p.since.valkey = m[2]
	case m[2] != "":
		p.since.redis = m[2]
	case m[3] == "before":
		p.skips = append(p.skips, skip{server: m[1], before: m[4], reason: m[5]})
	default:
		p.skips = append(p.skips, skip{server: m[1], from: m[4], reason: m[5]})
	}
	return nil
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
		s.skips = p.sent[s.client]
		return p.expect(s, rest)
	}
	s.kind, s.skips = stepSend, p.skips
	var ok bool
	if s.argv, ok = resp.SplitWords([]byte(rest), nil); !ok || len(s.argv) == 0 {
		return fmt.Errorf("cannot split %q", rest)
	}
	p.steps = append(p.steps, s)
	p.sent[s.client], p.skips = s.skips, nil
	if word != ">" {
		return nil
	}
	if p.at >= len(p.lines) {
		return fmt.Errorf("%q has no reply", s.text)
	}
	reply := step{line: p.at + 1, client: 1, skips: s.skips, since: p.since, text: p.lines[p.at]}
	rest = p.lines[p.at]
	p.at++
	return p.expect(reply, rest)
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
