package replica

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const idA, idB = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// store is data for tests: a file is text up to a semicolon, and commands are kept as text.
type store struct {
	mu    sync.Mutex
	file  string   // guarded by mu
	calls []string // guarded by mu
	at    Position // guarded by mu
	noted int      // guarded by mu
	begun int      // snapshots; guarded by mu
	ended int      // guarded by mu
}

func (s *store) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *store) Apply(calls []Call, offset int64, db int, pass func(*CommandError) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, c := range calls {
		words := []string{fmt.Sprint(c.DB)}
		for _, a := range c.Args {
			words = append(words, string(a))
		}
		name := string(c.Args[0])
		if name == "BROKEN" {
			return errors.New("the disk is full")
		}
		if failed := (&CommandError{Args: c.Args, Unknown: name == "UNKNOWN", Text: "ERR no"}); name == "UNKNOWN" || name == "FAILS" {
			if !pass(failed) {
				return failed
			}
			continue
		}
		texts = append(texts, strings.Join(words, " "))
	}
	s.calls = append(s.calls, strings.Join(texts, "; "))
	s.at.Offset, s.at.DB = offset, db
	return nil
}

func (s *store) Note(offset int64, db int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.Offset, s.at.DB = offset, db
	s.noted++
	return nil
}

func (s *store) Rename(id string, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.ID = id
	return nil
}

// received is a file of a store.
type received struct {
	s    *store
	text string
	in   *bufio.Reader
}

func (s *store) Read(_ context.Context, file io.Reader, _ int64) (Snapshot, error) {
	in := bufio.NewReader(file)
	text, err := in.ReadString(';')
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	return &received{s, text, in}, nil
}

func (r *received) Rest() io.Reader { return r.in }

func (r *received) Keep(at Position) error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.file, r.s.at, r.s.calls = r.text, at, nil
	return nil
}

func (r *received) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.ended++
	return nil
}

// has is what a store has, as text.
func (s *store) has() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file + strings.Join(s.calls, " | ")
}

// rig is a follower in a bubble, whose masters the test plays.
type rig struct {
	t       *testing.T
	f       *Follower
	data    *store
	set     Settings
	masters chan net.Conn // that were dialled; capacity 1: there is one connection at a time

	mu  sync.Mutex
	log []string // guarded by mu
}

func newRig(t *testing.T, change func(*Settings)) *rig {
	t.Helper()
	r := &rig{t: t, data: &store{file: "old;"}, masters: make(chan net.Conn, 1)}
	r.set = Settings{Timeout: 60 * time.Second, AnnouncePort: 7, MaxArgument: 1 << 20, MaxCommand: 1 << 20, Databases: 16}
	if change != nil {
		change(&r.set)
	}
	return r
}

func (r *rig) start() {
	r.f = Start(Options{Host: "master", Port: 6379, Settings: func() Settings { return r.set },
		Dial: func(ctx context.Context, _ string, _ int) (net.Conn, error) {
			mine, theirs := net.Pipe()
			select {
			case r.masters <- theirs:
				return mine, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Logf: func(_ bool, format string, args ...any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.log = append(r.log, fmt.Sprintf(format, args...))
		}}, r.data)
	r.t.Cleanup(r.f.Stop)
}

// said is the whole log.
func (r *rig) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "\n")
}

// master is one that the test plays.
type master struct {
	t  *testing.T
	nc net.Conn
	in *bufio.Reader
}

// connected waits for the next connection.
func (r *rig) connected() *master {
	nc := <-r.masters
	r.t.Cleanup(func() { _ = nc.Close() })
	return &master{r.t, nc, bufio.NewReader(nc)}
}

// request reads a command.
func (m *master) request() string {
	m.t.Helper()
	line := func() string {
		text, err := m.in.ReadString('\n')
		if err != nil {
			return "error " + err.Error()
		}
		return strings.TrimSuffix(text, "\r\n")
	}
	head := line()
	n, err := strconv.Atoi(strings.TrimPrefix(head, "*"))
	if err != nil {
		return head
	}
	var words []string
	for range n {
		line()
		words = append(words, line())
	}
	return strings.Join(words, " ")
}

// want reads a command that is known.
func (m *master) want(command string) {
	m.t.Helper()
	if got := m.request(); got != command {
		m.t.Fatalf("the follower sent %q, want %q", got, command)
	}
}

// send sends bytes as they are; that the follower hangs up meanwhile is no error.
func (m *master) send(text string) { _, _ = io.WriteString(m.nc, text) }

// hello is the handshake up to PSYNC.
func (m *master) hello() {
	m.t.Helper()
	for _, x := range [][2]string{{"PING", "+PONG"}, {"REPLCONF listening-port 7", "+OK"}, {"REPLCONF capa eof capa psync2", "+OK"},
		{"REPLCONF version 9.0.0", "-ERR Unrecognized REPLCONF option: version"}} {
		m.want(x[0])
		m.send(x[1] + "\r\n")
	}
}

// give is a full synchronization with a file.
func (m *master) give(file string, offset int) {
	m.t.Helper()
	m.hello()
	m.want("PSYNC ? -1")
	m.send(fmt.Sprintf("+FULLRESYNC %s %d\r\n$%d\r\n%s", idA, offset, len(file), file))
}

// command is a command in the form of the stream.
func command(words ...string) string {
	b := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		b += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// bubble runs a test in a bubble.
func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }
