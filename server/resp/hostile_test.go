package resp

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var redisAddress = flag.String("redis", "", "address of a redis-server whose answers replace testdata/hostile.txt")

const hostileFile = "testdata/hostile.txt"

// exchange is an input and what Redis answered to it.
type exchange struct {
	line          int
	auth          bool
	source        string
	input, answer []byte
}

// TestHostileInputIsAnsweredAsRedisDoes sends every input of the table whole
// and byte by byte.
func TestHostileInputIsAnsweredAsRedisDoes(t *testing.T) {
	if *redisAddress != "" {
		askRedis(t, *redisAddress)
	}
	for _, x := range readExchanges(t) {
		for _, piece := range []int{len(x.input), 1, 7} {
			if got := answer(x, piece); !bytes.Equal(got, x.answer) {
				t.Errorf("%s:%d: %s in pieces of %d: got %.200q, want %.200q",
					hostileFile, x.line, x.source, piece, got, x.answer)
			}
		}
	}
}

// answer plays a server that knows PING, ECHO and AUTH.
func answer(x exchange, piece int) []byte {
	var f Framer
	var out, buf []byte
	authed := !x.auth
	f.SetAuthenticated(authed)
	for in := bytes.Clone(x.input); len(in) > 0; {
		piece = min(piece, len(in))
		buf, in = append(buf, in[:piece]...), in[piece:]
		for {
			argv, n, err := f.Next(buf, nil)
			buf = buf[n:]
			if err != nil {
				return append(out, "-ERR "+err.Error()+"\r\n"...)
			}
			if argv == nil {
				break
			}
			switch name := strings.ToUpper(string(argv[0])); {
			case name == "AUTH" && string(argv[1]) == "pw":
				authed = true
				f.SetAuthenticated(true)
				out = append(out, "+OK\r\n"...)
			case name == "AUTH":
				out = append(out, "-WRONGPASS invalid username-password pair or user is disabled.\r\n"...)
			case !authed && (name == "PING" || name == "ECHO"):
				out = append(out, "-NOAUTH Authentication required.\r\n"...)
			case name == "PING":
				out = append(out, "+PONG\r\n"...)
			case name == "ECHO" && len(argv) == 2:
				out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(argv[1]), argv[1])
			case name == "ECHO":
				out = append(out, "-ERR wrong number of arguments for 'echo' command\r\n"...)
			default:
				out = fmt.Appendf(out, "-ERR unknown command '%.128s', with args beginning with: ", argv[0])
				for _, a := range argv[1:] {
					out = fmt.Appendf(out, "'%s' ", a)
				}
				out = append(out, "\r\n"...)
			}
		}
	}
	return out
}

func readExchanges(t *testing.T) []exchange {
	t.Helper()
	text, err := os.ReadFile(hostileFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	for i, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case ">", ">!":
			all = append(all, exchange{line: i + 1, auth: mark == ">!", source: rest, input: parseTerms(t, i+1, rest)})
		case "<":
			all[len(all)-1].answer = parseTerms(t, i+1, rest)
		}
	}
	return all
}

// parseTerms reads "a"*3+"b".
func parseTerms(t *testing.T, line int, s string) []byte {
	t.Helper()
	var out []byte
	for s != "" {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			t.Fatalf("%s:%d: %q: %v", hostileFile, line, s, err)
		}
		word, _ := strconv.Unquote(quoted)
		s = s[len(quoted):]
		times := 1
		if tail, ok := strings.CutPrefix(s, "*"); ok {
			number, _, _ := strings.Cut(tail, "+")
			if times, err = strconv.Atoi(number); err != nil {
				t.Fatalf("%s:%d: %v", hostileFile, line, err)
			}
			s = tail[len(number):]
		}
		out = append(out, strings.Repeat(word, times)...)
		s = strings.TrimPrefix(s, "+")
	}
	return out
}

// formatTerms is the inverse of parseTerms for answers: long runs of one
// character are folded.
func formatTerms(b []byte) string {
	if i := bytes.Index(b, bytes.Repeat([]byte("x"), 1000)); i >= 0 {
		j := i
		for j < len(b) && b[j] == 'x' {
			j++
		}
		return fmt.Sprintf("%s+\"x\"*%d+%s", formatTerms(b[:i]), j-i, formatTerms(b[j:]))
	}
	return strconv.QuoteToASCII(string(b))
}

// askRedis rewrites the answers in the table with those of a live server.
func askRedis(t *testing.T, address string) {
	t.Helper()
	text, err := os.ReadFile(hostileFile)
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[int]string)
	for _, x := range readExchanges(t) {
		if x.auth {
			converse(t, address, []byte("CONFIG SET requirepass pw\r\n"))
		}
		answers[x.line] = "< " + formatTerms(converse(t, address, x.input))
		if x.auth {
			converse(t, address, []byte("AUTH pw\r\nCONFIG SET requirepass ''\r\n"))
		}
	}
	var out []string
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "< ") {
			continue
		}
		out = append(out, line)
		if a, ok := answers[i+1]; ok {
			out = append(out, a)
		}
	}
	if err := os.WriteFile(hostileFile, []byte(strings.Join(out, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// converse sends input and collects the answer until the server closes the
// connection or falls silent.
func converse(t *testing.T, address string, input []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(input); err != nil {
		t.Fatal(err)
	}
	var out []byte
	chunk := make([]byte, 64<<10)
	for {
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := conn.Read(chunk)
		out = append(out, chunk[:n]...)
		if err == nil {
			continue
		}
		var silent net.Error
		if err != io.EOF && !(errors.As(err, &silent) && silent.Timeout()) {
			t.Logf("%.60q: %v", input, err)
		}
		return out
	}
}
