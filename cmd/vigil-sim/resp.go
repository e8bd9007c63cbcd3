package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// conn is a client of a server: some commands are sent, then their replies are
// read. The password is in REDISCLI_AUTH, as redis-cli takes it.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

const (
	dialTimeout  = 5 * time.Second
	replyTimeout = time.Minute
	longestReply = 512 << 20
)

func dial(address string) (*conn, error) {
	c, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return nil, err
	}
	s := &conn{c, bufio.NewReaderSize(c, 1<<18), bufio.NewWriterSize(c, 1<<18)}
	if password := os.Getenv("REDISCLI_AUTH"); password != "" {
		s.send("AUTH", password)
		if _, err := s.reply(); err != nil {
			return nil, fmt.Errorf("%w (and %v)", err, c.Close())
		}
	}
	return s, nil
}

// send queues a command; an error shows when a reply is read.
func (c *conn) send(args ...string) {
	fmt.Fprintf(c.out, "*%d\r\n", len(args))
	for _, a := range args {
		c.out.WriteByte('$')
		c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(len(a)), 10))
		c.out.WriteString("\r\n")
		c.out.WriteString(a)
		c.out.WriteString("\r\n")
	}
}

// serverError is what a server says of a command.
type serverError string

func (e serverError) Error() string { return string(e) }

// reply flushes and reads one reply: a string, an int64, nil or a []any.
func (c *conn) reply() (any, error) {
	if err := c.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
		return nil, err
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	return c.value(0)
}

func (c *conn) value(depth int) (any, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || depth > 8 {
		return nil, fmt.Errorf("not a reply: %.60q", line)
	}
	text := string(line[1 : len(line)-2])
	switch line[0] {
	case '+':
		return text, nil
	case '-':
		return nil, serverError(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > longestReply {
		return nil, fmt.Errorf("not a reply: %.60q", line)
	}
	switch {
	case line[0] == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case line[0] == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.in, b)
		return string(b[:n]), err
	case line[0] == '*':
		list := make([]any, 0, min(n, 1<<16))
		for range n {
			v, err := c.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, fmt.Errorf("not a reply: %.60q", line)
}
