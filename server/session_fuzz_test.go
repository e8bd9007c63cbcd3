package server

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
)

// FuzzSession gives a client's bytes to a session, cut in two. No handler
// panics, and what comes out is replies, whole ones.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		encode("SET", "k", "v", "EX", "10") + encode("GET", "k"),
		encode("MULTI") + encode("LPUSH", "l", "a", "b") + encode("BLPOP", "l", "0") + encode("EXEC"),
		encode("HELLO", "3") + encode("SUBSCRIBE", "ch") + encode("PUBLISH", "ch", "m") + encode("RESET"),
		encode("HSET", "h", "f", "1") + encode("HINCRBY", "h", "f", "5") + encode("SCAN", "0"),
		encode("SETBIT", "b", "100", "1") + encode("BITFIELD", "b", "GET", "u8", "0") + encode("OBJECT", "ENCODING", "b"),
		encode("BF.ADD", "f", "x") + encode("PFADD", "p", "a") + encode("PFCOUNT", "p"),
		encode("CLIENT", "REPLY", "SKIP") + encode("CLIENT", "LIST") + encode("INFO") + encode("COMMAND", "DOCS", "GET"),
		"*0\r\n*-1\r\n\r\nPING 'a b'\r\n*1\r\n$-1\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870913\r\n",
	} {
		f.Add([]byte(seed), len(seed)/2)
	}
	r := newRig(f)
	sleep, _ := r.srv.table.Lookup([][]byte{[]byte("DEBUG"), []byte("SLEEP")})
	sleep.Run = func(*commands.Ctx) error { return nil }
	migrate, _ := r.srv.table.Lookup([][]byte{[]byte("MIGRATE")})
	migrate.Run = func(*commands.Ctx) error { return nil } // no connections to hosts that the input names
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if len(b) == 0 {
			return
		}
		s, e := r.handSession()
		defer s.Leave()
		r.srv.pause.Set(conn.PauseNone, 0)
		cut = min(max(cut, 0), len(b))
		if s.feedText(string(b[:cut])) == nil && !s.closing {
			s.feedText(string(b[cut:]))
		}
		if r.log.has("panic in ") {
			t.Fatalf("panic: %q", r.log.all())
		}
		for replies := bufio.NewReader(bytes.NewReader(e.wrote)); ; {
			if _, err := replies.Peek(1); err != nil {
				break
			}
			if s.Has(commands.ClientMonitor) {
				break // the lines of MONITOR are statuses, of any text
			}
			if _, err := readNode(replies); err != nil {
				t.Fatalf("replies %.200q: %v", e.wrote, err)
			}
		}
	})
}
