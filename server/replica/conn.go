package replica

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostLine is the length in bytes of the longest line of a master that is read.
const mostLine = 4 << 10

var errLine = errors.New("the master sent a line that does not end")

// conn is a connection to a master.
type conn struct {
	f   *Follower
	nc  net.Conn
	set Settings
	in  *bufio.Reader
	// commands is what the stream is read from: in, or what had been read of it with the file.
	commands io.Reader

	old bool // the master knows SYNC only

	acks  sync.WaitGroup
	ended chan struct{} // closed when the connection is

	write sync.Mutex // one request at a time
}

func newConn(f *Follower, nc net.Conn, set Settings) *conn {
	c := &conn{f: f, nc: nc, set: set, ended: make(chan struct{})}
	c.in = bufio.NewReaderSize(patient{c}, 64<<10)
	c.commands = c.in
	return c
}

// hangUp makes all reads and writes fail.
func (c *conn) hangUp() { _ = c.nc.Close() }

func (c *conn) close() {
	close(c.ended)
	c.hangUp()
	c.acks.Wait()
}

// patient reads from the connection, for as long as each read brings something in time.
type patient struct{ c *conn }

func (p patient) Read(b []byte) (int, error) {
	c := p.c
	if err := c.nc.SetReadDeadline(time.Now().Add(c.set.Timeout)); err != nil {
		return 0, err
	}
	n, err := c.nc.Read(b)
	if n > 0 {
		c.f.heard.Store(time.Now().UnixNano())
		return n, nil
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the master was silent for %d s", c.set.Timeout/time.Second)
	case err == io.EOF:
		err = errors.New("the master has closed the connection")
	}
	return 0, err
}

// send sends a request.
func (c *conn) send(words ...string) error {
	b := strconv.AppendInt([]byte("*"), int64(len(words)), 10)
	for _, w := range words {
		b = append(strconv.AppendInt(append(b, "\r\n$"...), int64(len(w)), 10), "\r\n"...)
		b = append(b, w...)
	}
	b = append(b, "\r\n"...)
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.set.Timeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	return err
}

// line reads a line that is not empty: empty ones say only that the master is alive.
func (c *conn) line() (string, error) {
	for {
		b, err := c.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(b) > mostLine {
			return "", errLine
		}
		if err != nil {
			return "", err
		}
		if text := strings.TrimRight(string(b), "\r\n"); text != "" {
			return text, nil
		}
	}
}

// ask sends a request and reads its reply, a line.
func (c *conn) ask(words ...string) (string, error) {
	if err := c.send(words...); err != nil {
		return "", fmt.Errorf("send %s: %w", words[0], err)
	}
	reply, err := c.line()
	if err != nil {
		return "", fmt.Errorf("reply to %s: %w", words[0], err)
	}
	return reply, nil
}
