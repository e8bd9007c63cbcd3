package servertest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/redcon"
)

// answerTime is how long a reply may take in the time of the machine.
const answerTime = 10 * time.Second

// client is a connection of the test's own.
type client struct {
	nc  net.Conn
	buf []byte // what was read of replies
}

func (c *client) close() { c.nc.Close() }

// do sends a call and returns its reply, in RESP2.
func (c *client) do(args []string) (redcon.RESP, error) {
	out := redcon.AppendArray(nil, len(args))
	for _, a := range args {
		out = redcon.AppendBulkString(out, a)
	}
	if err := c.nc.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return redcon.RESP{}, err
	}
	if _, err := c.nc.Write(out); err != nil {
		return redcon.RESP{}, err
	}
	c.buf = c.buf[:0]
	piece := make([]byte, 16<<10)
	for {
		if n, r := redcon.ReadNextRESP(c.buf); n > 0 {
			if r.Type == redcon.Error {
				return r, errors.New(string(r.Data))
			}
			return r, nil
		}
		n, err := c.nc.Read(piece)
		c.buf = append(c.buf, piece[:n]...)
		if err != nil && n == 0 {
			return redcon.RESP{}, fmt.Errorf("the connection is lost: %w", err)
		}
	}
}

// Do sends a command, and returns its reply in the form of RESP2: nil, an int64, a string, or a []any of
// these. The error is that of the server.
func (s *Server) Do(args ...string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		nc, err := s.srv.Dial()
		if err != nil {
			return nil, err
		}
		c := &client{nc: nc}
		if p := s.password(); p != "" {
			if _, err := c.do([]string{"AUTH", p}); err != nil {
				c.close()
				return nil, err
			}
		}
		s.own = c
	}
	r, err := s.own.do(args)
	if err != nil {
		if r.Type != redcon.Error { // the next call has another connection
			s.own.close()
			s.own = nil
		}
		return nil, err
	}
	return value(r), nil
}

// value is a reply as Do returns it.
func value(r redcon.RESP) any {
	switch r.Type {
	case redcon.Integer:
		return r.Int()
	case redcon.Array:
		if r.Count < 0 || r.Data == nil && strings.HasPrefix(string(r.Raw), "*-1") {
			return nil
		}
		all := []any{}
		r.ForEach(func(e redcon.RESP) bool {
			all = append(all, value(e))
			return true
		})
		return all
	case redcon.Bulk:
		if strings.HasPrefix(string(r.Raw), "$-1") {
			return nil
		}
	}
	return string(r.Data)
}

// must is Do of a call that has to succeed.
func (s *Server) must(args ...string) any {
	s.t.Helper()
	v, err := s.Do(args...)
	if err != nil {
		s.fail("%s: %v", strings.Join(args, " "), err)
	}
	return v
}

func (s *Server) text(args ...string) string {
	s.t.Helper()
	v, _ := s.must(args...).(string) // "" for nil
	return v
}

func (s *Server) number(args ...string) int {
	s.t.Helper()
	v, _ := s.must(args...).(int64)
	return int(v)
}

func (s *Server) texts(args ...string) []string {
	s.t.Helper()
	all, _ := s.must(args...).([]any)
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i], _ = v.(string)
	}
	return texts
}

// infoNumber is a field of INFO.
func (s *Server) infoNumber(section, name string) int {
	s.t.Helper()
	for line := range strings.Lines(s.text("INFO", section)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				s.fail("INFO %s: %s", section, line)
			}
			return n
		}
	}
	s.fail("INFO %s has no %s", section, name)
	return 0
}
