package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// conn is a connection that speaks RESP2.
type conn struct {
	nc net.Conn
	in *bufio.Reader
}

// patience is how long a server may take.
const patience = 10 * time.Second

func dial(addr string) (*conn, error) {
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	nc, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		return nil, err
	}
	return &conn{nc, bufio.NewReader(nc)}, nil
}

func (c *conn) close() { c.nc.Close() }

// do makes a call. An error is also the server's.
func (c *conn) do(argv ...string) (reply, error) {
	b := fmt.Appendf(nil, "*%d\r\n", len(argv))
	for _, a := range argv {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	if err := c.nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return reply{}, err
	}
	if _, err := c.nc.Write(b); err != nil {
		return reply{}, err
	}
	return readReply(c.in)
}

// reply is a text or a list, which is not nil then.
type reply struct {
	text string
	list []reply
}

func readReply(in *bufio.Reader) (reply, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return reply{}, errors.New("an empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return reply{text: rest}, nil
	case '-':
		return reply{}, errors.New(rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return reply{}, fmt.Errorf("%q: %w", line, err)
	}
	switch {
	case kind == '$' && n >= 0:
		b := make([]byte, n+2)
		_, err := io.ReadFull(in, b)
		return reply{text: string(b[:n])}, err
	case kind == '*' && n >= 0:
		r := reply{list: make([]reply, n)}
		for i := range r.list {
			if r.list[i], err = readReply(in); err != nil {
				return r, err
			}
		}
		return r, nil
	case n < 0:
		return reply{}, nil
	}
	return reply{}, fmt.Errorf("a reply of kind %q", kind)
}
