package sim

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/redcon"
)

// client is one connection, and what was called over it.
type client struct {
	id      int
	nc      net.Conn
	db      int     // selected
	due     []*call // sent, not returned
	stalled bool    // it no longer reads its replies

	mu    sync.Mutex
	buf   []byte // received and not read yet; guarded by mu
	ended bool   // the server has closed the connection; guarded by mu
}

func newClient(id int, nc net.Conn) *client {
	c := &client{id: id, nc: nc}
	// Ends when either side closes the connection.
	go c.receive()
	return c
}

func (c *client) receive() {
	b := make([]byte, 16<<10)
	for {
		n, err := c.nc.Read(b)
		c.mu.Lock()
		c.buf = append(c.buf, b[:n]...)
		c.ended = c.ended || err != nil
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// gone reports that the server has closed the connection and that all replies
// were read.
func (c *client) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// replies reads n replies, or none if fewer have arrived as a whole.
func (c *client) replies(n int) []redcon.RESP {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []redcon.RESP
	at := 0
	for range n {
		size, reply := redcon.ReadNextRESP(c.buf[at:])
		if size == 0 {
			return nil
		}
		out = append(out, reply)
		at += size
	}
	c.buf = c.buf[at:]
	return out
}

// unread is the number of bytes that the client has not read.
func (c *client) unread() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.buf)
}

// take reads the reply of a call if it has come, and keeps it.
func (c *client) take(k *call) bool {
	if k.got != "" {
		return true
	}
	if c.stalled {
		return false
	}
	replies := c.replies(k.replies())
	if replies == nil {
		return false
	}
	k.got = text(replies[len(replies)-1])
	return true
}

// text writes a reply in the notation of the model.
func text(r redcon.RESP) string {
	switch r.Type {
	case redcon.Integer:
		return string(r.Data)
	case redcon.Error:
		return "-" + string(r.Data)
	case redcon.String:
		return "+" + string(r.Data)
	case redcon.Bulk:
		if r.Data == nil {
			return absent
		}
		return bulk(string(r.Data))
	}
	if r.Count < 0 {
		return absent
	}
	var parts []string
	r.ForEach(func(e redcon.RESP) bool {
		parts = append(parts, text(e))
		return true
	})
	return list(parts)
}

// The notation of replies: +OK, -ERR ..., 7, "bytes", nil, [first second].
const absent = "nil"

func bulk(s string) string       { return `"` + s + `"` }
func number(n int) string        { return strconv.Itoa(n) }
func list(parts []string) string { return "[" + strings.Join(parts, " ") + "]" }

// encode writes a command as it is sent.
func encode(b *strings.Builder, args []string) {
	fmt.Fprintf(b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(b, "$%d\r\n%s\r\n", len(a), a)
	}
}

// short makes what is long fit a line.
func short(s string) string { return cut(s, 60) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s...(%d)", s[:n*2/3], len(s))
}
