package lualib

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// update records the replies anew: go test -update, with VIGIL_REDIS_ADDR naming a
// redis-server 7.0 ("host:port" or "unix:path").
var update = flag.Bool("update", false, "record what redis-server replies in testdata")

// show is a script that calls one and returns a text with all that it returned: strings
// quoted, numbers with all digits, tables with their keys sorted.
const show = `local show
local function quote(s) return '"' .. string.gsub(s, '[%z\1-\31\127-\255"\\]', function(c) return string.format('\\%03d', string.byte(c)) end) .. '"' end
show = function(v, depth)
  if type(v) == 'string' then return quote(v) end
  if type(v) == 'number' then return v ~= v and 'nan' or string.format('%.17g', v) end
  if v == cjson.null then return 'null' end
  if type(v) ~= 'table' then return v == nil and 'nil' or type(v) == 'boolean' and tostring(v) or type(v) end
  if depth > 20 then return 'deep' end
  local list, keys = {}, {}
  for k, x in pairs(v) do list[#list + 1] = {show(k, depth + 1), show(x, depth + 1)} end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  for i, kv in ipairs(list) do keys[i] = '[' .. kv[1] .. ']=' .. kv[2] end
  return '{' .. table.concat(keys, ',') .. '}'
end
local function all(...)
  local t = {}
  for i = 1, select('#', ...) do t[i] = show((select(i, ...)), 0) end
  return table.concat(t, ' ')
end
`

// wrap returns a script that runs the given one on its first line.
func wrap(script string) string {
	return strings.ReplaceAll(show, "\n", " ") + "return all(pcall(function() " + script + " end))"
}

// A recorded script and what it replied.
type recorded struct{ script, reply string }

// readRecorded reads a file whose lines are "> script" and "= reply"; other lines are
// comments, which are kept.
func readRecorded(t *testing.T, path string) (lines []string, scripts map[int]recorded) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	scripts = map[int]recorded{}
	for i, line := range lines {
		if script, ok := strings.CutPrefix(line, "> "); ok {
			r := recorded{script: script}
			if i+1 < len(lines) {
				r.reply, _ = strings.CutPrefix(lines[i+1], "= ")
			}
			scripts[i] = r
		}
	}
	return lines, scripts
}

func recordedFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	return files
}

func TestScriptsReplyAsRedisDid(t *testing.T) {
	for _, path := range recordedFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, scripts := readRecorded(t, path)
			for i, r := range scripts {
				if got := run(t, wrap(r.script)); got != r.reply {
					t.Errorf("%s:%d: %s\n got %s\nwant %s", path, i+1, r.script, got, r.reply)
				}
			}
		})
	}
}

func TestRecordedScriptsAgainstRedis(t *testing.T) {
	redis, ok := dialRedis(t)
	if !ok {
		return
	}
	for _, path := range recordedFiles(t) {
		lines, scripts := readRecorded(t, path)
		var out []string
		for i, line := range lines {
			r, ok := scripts[i]
			switch {
			case ok:
				got := redis.eval(wrap(r.script))
				if !*update && got != r.reply {
					t.Errorf("%s:%d: %s\nredis-server %s\nrecorded %s", path, i+1, r.script, got, r.reply)
				}
				out = append(out, line, "= "+got)
			case !strings.HasPrefix(line, "= "):
				out = append(out, line)
			}
		}
		if *update {
			if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A redisServer is a connection to a real one.
type redisServer struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

// dialRedis connects to the server that VIGIL_REDIS_ADDR names; ok is false if it names none.
func dialRedis(t *testing.T) (r *redisServer, ok bool) {
	t.Helper()
	addr := os.Getenv("VIGIL_REDIS_ADDR")
	if addr == "" {
		return nil, false
	}
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	nc, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &redisServer{t, nc, bufio.NewReader(nc)}, true
}

// eval returns what a script returns or its error.
func (s *redisServer) eval(script string) string {
	s.t.Helper()
	s.nc.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(s.nc, "*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(script), script)
	line, err := s.r.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	line = strings.TrimRight(line, "\r\n")
	n, err := strconv.Atoi(line[1:])
	if line[0] != '$' || err != nil || n < 0 {
		return line
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(s.r, text); err != nil {
		s.t.Fatal(err)
	}
	return string(text[:n])
}
