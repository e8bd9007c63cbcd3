package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// streamID is that of the streams of masters that tests play.
const streamID = "0123456789abcdef0123456789abcdef01234567"

// playedMaster is a master that a test plays, over a socket.
type playedMaster struct {
	t    testing.TB
	l    net.Listener
	nc   net.Conn
	in   *bufio.Reader
	sent int64 // offset of the stream

	log func() []string // of the follower
}

func playMaster(t testing.TB, config *tls.Config) *playedMaster {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &playedMaster{t: t, l: l, log: func() []string { return nil }}
}

// port is where it listens, in the words of REPLICAOF.
func (m *playedMaster) port() string { return strconv.Itoa(m.l.Addr().(*net.TCPAddr).Port) }

// request reads a command of the follower.
func (m *playedMaster) request() (words []string, err error) {
	line := func() (string, error) {
		text, err := m.in.ReadString('\n')
		return strings.TrimSuffix(text, "\r\n"), err
	}
	head, err := line()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(head, "*"))
	for ; n > 0 && err == nil; n-- {
		var word string
		if _, err = line(); err == nil {
			word, err = line()
		}
		words = append(words, word)
	}
	return words, err
}

// greet accepts the follower, and returns with which words it asks for the stream.
func (m *playedMaster) greet() string {
	m.t.Helper()
	nc, err := m.l.Accept()
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = nc.Close() })
	m.nc, m.in = nc, bufio.NewReader(nc)
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		m.t.Fatal(err)
	}
	for {
		words, err := m.request()
		if err != nil {
			m.t.Fatalf("the handshake: %v", err)
		}
		if words[0] == "PSYNC" {
			return strings.Join(words[1:], " ")
		}
		m.write("+OK\r\n")
	}
}

func (m *playedMaster) write(text string) {
	m.t.Helper()
	if _, err := io.WriteString(m.nc, text); err != nil {
		m.t.Fatalf("write to the follower: %v", err)
	}
}

// give is a full synchronization with records of a file.
func (m *playedMaster) give(records ...string) {
	m.t.Helper()
	if asked := m.greet(); asked != "? -1" {
		m.t.Fatalf("the follower asks for %s, want everything", asked)
	}
	file := rdbBegin + strings.Join(records, "") + rdbEnd
	m.sent = 1000
	m.write(fmt.Sprintf("+FULLRESYNC %s %d\r\n$%d\r\n%s", streamID, m.sent, len(file), file))
	m.settled()
}

// goOn accepts the follower, which is to ask for the stream from an offset on.
func (m *playedMaster) goOn(offset int64) {
	m.t.Helper()
	if asked, want := m.greet(), fmt.Sprintf("%s %d", streamID, offset+1); asked != want {
		m.t.Fatalf("the follower asks for %s, want %s", asked, want)
	}
	m.sent = offset
	m.write("+CONTINUE\r\n")
}

// stream sends calls, whose words have blanks between, and returns when they were applied.
func (m *playedMaster) stream(calls ...string) {
	m.t.Helper()
	for _, call := range calls {
		m.feed(encode(strings.Fields(call)...))
	}
	m.settled()
}

// feed sends bytes of the stream.
func (m *playedMaster) feed(text string) {
	m.t.Helper()
	m.sent += int64(len(text))
	m.write(text)
}

// settled returns when everything was applied that was sent, for which it asks.
func (m *playedMaster) settled() {
	m.t.Helper()
	want := m.sent
	m.feed(encode("REPLCONF", "GETACK", "*"))
	for {
		words, err := m.request()
		if err != nil {
			m.t.Fatalf("wait for offset %d: %v; the follower says %q", want, err, m.log())
		}
		if len(words) < 3 || words[1] != "ACK" {
			continue
		}
		if n, err := strconv.ParseInt(words[2], 10, 64); err != nil || n > m.sent {
			m.t.Fatalf("offset %s of %d was acknowledged", words[2], m.sent)
		} else if n >= want {
			return
		}
	}
}

// hangsUp returns when the follower has closed the connection.
func (m *playedMaster) hangsUp() {
	m.t.Helper()
	for {
		if _, err := m.request(); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				m.t.Fatal("the follower does not hang up")
			}
			return
		}
	}
}

// follows makes a rig follow a played master, which gives it a file.
func (r *rig) follows(m *playedMaster, c *testClient, records ...string) {
	r.t.Helper()
	m.log = r.log.all
	c.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	m.give(records...)
}

// replicationField is a field of INFO replication, "" if there is none.
func (c *testClient) replicationField(name string) string {
	c.t.Helper()
	for line := range strings.Lines(strings.Trim(c.do("INFO", "replication"), `"`)) {
		for part := range strings.SplitSeq(line, `\r\n`) {
			if value, ok := strings.CutPrefix(part, name+":"); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}
