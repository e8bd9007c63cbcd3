package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Protections that show only as nothing: docs/security.md lists them with the tests that
// they exist.

func TestProtectionsOfTheDocumentAreTested(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	claims := regexp.MustCompile(`\bTest\w+`).FindAllString(string(text), -1)
	if len(claims) < 30 {
		t.Errorf("the document names %d tests", len(claims))
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range claims {
		if !tests[name] {
			t.Errorf("docs/security.md names %s, which is no test", name)
		}
	}
}

func TestPasswordsAreShownNowhere(t *testing.T) {
	const secret = "s3cr3t-w0rd"
	r := newRig(t)
	r.config("slowlog-log-slower-than", "0")
	r.config("slowlog-max-len", "1000")
	r.config("loglevel", "debug")
	m, c := r.dial(), r.dial()
	m.want("MONITOR", "OK")
	calls := []string{
		"AUTH " + secret, "auth default " + secret, "AUTH a " + secret + " c", "HELLO 2 AUTH nobody " + secret, "HELLO 3 setname x auth nobody " + secret,
		"ACL SETUSER u on >" + secret + " +@all", "acl setuser u <" + secret, "ACL SETUSER u >" + secret + " bad-rule",
		"CONFIG SET requirepass " + secret, "config set maxmemory 0 requirepass " + secret, "CONFIG SET masterauth " + secret,
		"CONFIG SET tls-key-file-pass " + secret, "CONFIG SET tls-client-key-file-pass " + secret,
		"MIGRATE 127.0.0.1 1 k 0 10 AUTH " + secret, "MIGRATE 127.0.0.1 1 k 0 10 auth2 user " + secret,
	}
	for _, call := range calls {
		c.do(strings.Fields(call)...)
	}
	c.want("MULTI", "OK")
	for _, call := range calls {
		c.do(strings.Fields(call)...)
	}
	c.do("EXEC")
	c.send("QUIT")
	var seen []string
	for {
		line := m.reply()
		if seen = append(seen, line); strings.Contains(line, `"QUIT"`) || strings.Contains(line, `"quit"`) {
			break
		}
	}
	p := r.dial()
	p.want("AUTH "+secret, "OK")
	for _, call := range []string{"SLOWLOG GET 1000", "CLIENT LIST", "INFO everything", "ACL LOG", "ACL LIST", "ACL GETUSER u", "ACL GETUSER default", "ACL USERS", "LATENCY LATEST"} {
		seen = append(seen, p.do(strings.Fields(call)...))
	}
	seen = append(seen, r.log.all()...)
	redacted := 0
	for _, text := range seen {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("the password is in %.100s ... %s", text, text[max(0, at-100):at+len(secret)])
		}
		redacted += strings.Count(text, "(redacted)")
	}
	if redacted < 2*len(calls) {
		t.Errorf("only %d arguments are redacted in %d texts", redacted, len(seen))
	}
}

// A client that could end a line of a reply or of the log could forge the next.
func TestTextsOfClientsMakeNoLines(t *testing.T) {
	const text = "x\r\n+OK\r\n$1"
	r := newRig(t)
	c := r.dial()
	for _, call := range [][]string{
		{text}, {"GET" + text}, {"CONFIG", text}, {"CONFIG", "SET", text, "1"}, {"CONFIG", "SET", "maxmemory", text}, {"COMMAND", text}, {"ACL", text},
		{"ACL", "SETUSER", text}, {"ACL", "SETUSER", "u", "+" + text}, {"ACL", "SETUSER", "u", "%" + text}, {"ACL", "GETUSER", text}, {"ACL", "CAT", text}, {"ACL", "DRYRUN", text, "GET", "k"},
		{"CLIENT", "SETNAME", text}, {"CLIENT", "SETINFO", "LIB-NAME", text}, {"CLIENT", "KILL", text}, {"HELLO", "2", "SETNAME", text}, {"AUTH", text, text},
		{"EVAL", "return redis.error_reply(ARGV[1])", "0", text}, {"EVAL", "return redis.status_reply(ARGV[1])", "0", text}, {"EVAL", "return {ok = ARGV[1]}", "0", text},
		{"EVAL", "return {err = ARGV[1]}", "0", text}, {"EVAL", "error(ARGV[1])", "0", text}, {"EVAL", "error({err = ARGV[1]})", "0", text}, {"EVAL", "return {big_number = ARGV[1]}", "0", text},
		{"EVAL", "return redis.call(ARGV[1])", "0", text}, {"EVAL", "return _G[ARGV[1]]", "0", text}, {"EVAL", text, "0"}, {"EVAL", "#!lua flags=" + text + "\nreturn 1", "0"},
		{"FUNCTION", "LOAD", "#!" + text + " name=x\n"}, {"FUNCTION", "LOAD", "#!lua name=" + text + "\n"}, {"FUNCTION", "RESTORE", text}, {"FCALL", text, "0"},
		{"XGROUP", "CREATE", "s", text, "$", "MKSTREAM"}, {"XREADGROUP", "GROUP", text + "2", "c", "STREAMS", "s", ">"}, {"XREADGROUP", "GROUP", "g", "c", "STREAMS", text, ">"}, {"XINFO", "CONSUMERS", "s", text + "3"},
		{"XCLAIM", "s", text, "c", "0", "1-1", text}, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", text, "PREFIX", text}, {"OBJECT", text}, {"DEBUG", text}, {"SENTINEL", text}, {"CLUSTER", text}, {"MODULE", text},
	} {
		got := c.do(call...)
		if next := c.do("ECHO", "in step"); next != `"in step"` {
			t.Fatalf("%q: got %s, and then %s", call, got, next)
		}
	}
	for _, line := range r.log.all() {
		if strings.Contains(line, "+OK\r\n") {
			t.Errorf("logged: %q", line)
		}
	}
}

// The globals of scripts and functions are those of Redis 8, less its handler of errors and
// with Valkey's name for redis: none reaches files, processes, other states or bytecode.
func TestScriptsHaveNoOtherGlobals(t *testing.T) {
	const own = "KEYS ARGV "
	const shared = "_G _VERSION assert bit cjson cmsgpack collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring math next os pairs " +
		"pcall rawequal rawget rawset redis select server setmetatable string struct table tonumber tostring type unpack xpcall"
	const script = "local names, missing = {}, {} for name in pairs(_G) do names[name] = true end " +
		"for name in string.gmatch(%s, '[^ ]+') do if not names[name] then missing[#missing + 1] = '-' .. name end names[name] = nil end " +
		"for name in pairs(names) do missing[#missing + 1] = '+' .. tostring(name) end return missing"
	r := newRig(t)
	c := r.dial()
	if got := c.do("EVAL", strings.ReplaceAll(script, "%s", "ARGV[1]"), "0", own+shared); got != "[]" {
		t.Errorf("globals of scripts: got %s", got)
	}
	c.load("lib", "globals", strings.ReplaceAll(script, "%s", "args[1]"))
	if got := c.do("FCALL", "globals", "0", shared); got != "[]" {
		t.Errorf("globals of functions: got %s", got)
	}
}

// What one script does to the tables that all share, no other sees.
func TestScriptsChangeNothingOfEachOther(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, try := range []string{
		"x = 1", "_G.x = 1", "rawset(_G, 'x', 1)", "string.len = nil", "rawset(string, 'len', nil)", "redis.call = nil", "server.call = nil", "rawset(server, 'call', nil)", "cjson.encode = nil",
		"os.clock = nil", "math.huge = 0", "setmetatable(_G, {})", "setmetatable(string, {})", "getmetatable(_G).__index = {}", "getmetatable('').__index = {}",
		"table.insert(redis, 1)", "table.remove(string)", "table.sort(_G)", "KEYS = {}", "setmetatable(getmetatable(_G).__index, {})",
		"pairs(_G)(_G, nil) _G = nil", "coroutine.wrap(function() x = 1 end)()", "loadstring('x = 1')()", "load(function() return nil end)() x = 1",
	} {
		if got := c.do("EVAL", try, "1", "k"); !strings.HasPrefix(got, "(error)") {
			t.Errorf("%s: got %s", try, got)
		}
		c.eval("return ('ab'):len() + #redis.call('ECHO', 'x') + #cjson.encode(1)", "(int) 4")
		c.eval("return rawget(_G, 'x') == nil and math.huge > 0 and #KEYS == 0 and type(os.clock()) == 'number' and 1 or 0", "(int) 1")
	}
	for _, try := range []string{"return loadstring('\\27Lua')", "return load(function() return nil end) and string.dump(load)"} {
		if got := c.do("EVAL", try, "0"); got != "(nil)" && !strings.HasPrefix(got, "(error)") {
			t.Errorf("bytecode: %s: got %s", try, got)
		}
	}
}

// Who guesses names and passwords is not told which names there are.
func TestRefusedPasswordsLookAlike(t *testing.T) {
	const refused = "(error) WRONGPASS invalid username-password pair or user is disabled."
	r := newRig(t)
	c := r.dial()
	c.want("ACL SETUSER active on >right", "OK")
	c.want("ACL SETUSER disabled off >right", "OK")
	c.want("ACL SETUSER bare on", "OK")
	for _, call := range []string{"AUTH active wrong", "AUTH disabled right", "AUTH bare right", "AUTH nobody right", "HELLO 2 AUTH active wrong", "HELLO 3 AUTH nobody right"} {
		c.want(call, refused)
	}
	c.want("AUTH active right", "OK")
}

// There is no way to make the server load code or read a file that a client names.
func TestClientsNameNoFiles(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, call := range []string{
		"MODULE LOAD /tmp/x.so", "MODULE LOADEX /tmp/x.so", "CONFIG SET dir /tmp", "CONFIG SET dbfilename x", "CONFIG SET appendfilename x", "CONFIG SET appenddirname x",
		"CONFIG SET logfile /tmp/x", "CONFIG SET pidfile /tmp/x", "CONFIG SET aclfile /tmp/x", "CONFIG SET unixsocket /tmp/x", "CONFIG SET enable-protected-configs yes",
		"CONFIG SET enable-debug-command yes", "CONFIG SET enable-module-command yes", "VIGIL.SNAPSHOT CREATE ../x", "VIGIL.SNAPSHOT CREATE a/b", "ACL LOAD", "ACL SAVE",
	} {
		if got := c.do(strings.Fields(call)...); !strings.HasPrefix(got, "(error)") {
			t.Errorf("%s: got %s", call, got)
		}
	}
}
