package waits

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Client is a connection whose calls are made one after the other. Its methods
// keep the first error, which Err returns: later calls do nothing.
type Client struct {
	addr string
	nc   net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
	err  error
	also []*Client // connections that the case keeps open
	text []byte    // what Keep kept
}

// Dial connects to a server.
func Dial(addr string) (*Client, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Client{addr: addr, nc: nc, r: bufio.NewReaderSize(nc, 256<<10), w: bufio.NewWriterSize(nc, 256<<10)}, nil
}

// Close ends the connection and those that Another opened.
func (c *Client) Close() {
	for _, o := range c.also {
		o.Close()
	}
	c.nc.Close()
}

// Err is the first error: of the connection, or a reply that is an error.
func (c *Client) Err() error { return c.err }

func (c *Client) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Another opens one more connection, which is closed with this one.
func (c *Client) Another() *Client {
	o, err := Dial(c.addr)
	if err != nil {
		c.fail(err)
		return &Client{err: err}
	}
	c.also = append(c.also, o)
	return o
}

// Array begins a call of n arguments, the name included.
func (c *Client) Array(n int) { fmt.Fprintf(c.w, "*%d\r\n", n) }

// Arg writes one argument of a call.
func (c *Client) Arg(s string) {
	var b [24]byte
	c.w.WriteByte('$')
	c.w.Write(strconv.AppendInt(b[:0], int64(len(s)), 10))
	c.w.WriteString("\r\n")
	c.w.WriteString(s)
	c.w.WriteString("\r\n")
}

// Long writes an argument of n bytes.
func (c *Client) Long(n int) {
	fmt.Fprintf(c.w, "$%d\r\n", n)
	part := bytes.Repeat([]byte("a"), min(n, 64<<10))
	for left := n; left > 0; left -= len(part) {
		part = part[:min(left, len(part))]
		c.w.Write(part)
	}
	c.w.WriteString("\r\n")
}

// Send writes a call.
func (c *Client) Send(args ...string) {
	c.Array(len(args))
	for _, a := range args {
		c.Arg(a)
	}
}

// Do makes calls, words separated by blanks, and fails if one is answered with
// an error.
func (c *Client) Do(args ...string) {
	c.Send(args...)
	c.Receive(1)
}

// Receive reads n replies. The first that is an error is kept as one.
func (c *Client) Receive(n int) {
	if c.err != nil {
		return
	}
	if err := c.w.Flush(); err != nil {
		c.fail(err)
		return
	}
	for range n {
		if err := c.skip(); err != nil {
			c.fail(err)
			return
		}
	}
}

// Keep makes a call and keeps its reply, a bulk string.
func (c *Client) Keep(args ...string) {
	c.Send(args...)
	if c.err != nil {
		return
	}
	c.fail(c.w.Flush())
	size, err := c.size('$')
	if err == nil && size < 0 {
		err = errors.New("nothing to keep")
	}
	if err != nil {
		c.err = err
		return
	}
	c.text = make([]byte, size+2)
	_, c.err = io.ReadFull(c.r, c.text)
	c.text = c.text[:size]
}

// size reads the header of a reply that is to be of a kind.
func (c *Client) size(kind byte) (int, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("got the reply %q", line)
	}
	return strconv.Atoi(string(line[1 : len(line)-2]))
}

// skip reads one reply and drops it.
func (c *Client) skip() error {
	for left := 1; left > 0; left-- {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch line[0] {
		case '-':
			err = fmt.Errorf("got the reply %.200q", line)
		case '$', '=':
			n := 0
			if n, err = strconv.Atoi(string(line[1 : len(line)-2])); err == nil && n >= 0 {
				_, err = c.r.Discard(n + 2)
			}
		case '*', '~', '>', '%':
			n := 0
			n, err = strconv.Atoi(string(line[1 : len(line)-2]))
			if line[0] == '%' {
				n *= 2
			}
			left += max(n, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the server has read what this client sent, which another
// connection shows.
func (c *Client) settle() {
	o := c.Another()
	for o.err == nil && c.err == nil {
		if o.Keep("INFO", "clients"); bytes.Contains(o.text, []byte("blocked_clients:1")) {
			return
		}
		time.Sleep(pace)
	}
	c.fail(o.err)
}
