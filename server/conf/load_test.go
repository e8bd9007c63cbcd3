package conf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parse reads text as a file would be, with other files in a map.
func parse(text string, files map[string]string) (*Config, error) {
	c := New()
	l := newLoader(c)
	l.read = func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, errors.New("No such file or directory")
	}
	l.glob = func(pattern string) ([]string, error) {
		var found []string
		for name := range files {
			if ok, err := filepath.Match(pattern, name); err != nil {
				return nil, err
			} else if ok {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		return found, nil
	}
	if err := l.text("vigil.conf", []byte(text), 0); err != nil {
		return nil, err
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	return c, nil
}

func TestFileSetsDirectives(t *testing.T) {
	c, err := parse(strings.Join([]string{
		"# a comment", "", "  \t PORT 7000\r", `requirepass "a \x41\n'b'"`, "logfile 'a b'",
		"bind 127.0.0.1 -::1", "save 900 1", "save 300 10", "maxmemory 2gb", "maxmemory-policy allkeys-lru",
		"client-output-buffer-limit normal 1mb 0 0", "client-output-buffer-limit replica 2mb 0 0",
		"shutdown-on-sigint nosave now", "unixsocketperm 700", "hash-max-ziplist-entries 7",
		"rename-command CONFIG \"\"", "rdbcompression yes", "active-defrag-cycle-max 4", "active-defrag-cycle-max 5",
		"replicaof a 1", "replicaof no one", "timeout 5", "timeout 6",
	}, "\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Settings()
	for what, ok := range map[string]bool{
		"port":     s.Port == 7000,
		"password": s.RequirePass == "a A\n'b'",
		"logfile":  s.LogFile == "a b",
		"bind":     slices.Equal(s.Bind, []string{"127.0.0.1", "-::1"}),
		"save":     slices.Equal(s.Save, []SavePoint{{900, 1}, {300, 10}}),
		"memory":   s.MaxMemory == 2<<30 && s.MaxMemoryPolicy == AllKeysLRU,
		"limits":   s.OutputLimits == [3]OutputLimit{{1 << 20, 0, 0}, {2 << 20, 0, 0}, {32 << 20, 8 << 20, 60}},
		"signal":   s.ShutdownOnSigint == ShutdownNoSave|ShutdownNow,
		"perm":     s.UnixSocketPerm == 0o700,
		"alias":    s.HashMaxListpackEntries == 7 && get(c, "hash-max-listpack-entries") == "7",
		"rename":   slices.Equal(s.Renames, []Rename{{"CONFIG", ""}}),
		"last":     s.Timeout.Seconds() == 6,
	} {
		if !ok {
			t.Errorf("%s: wrong in %+v", what, s)
		}
	}
	want := []string{
		"directive 'active-defrag-cycle-max' has no effect in vigil and is ignored",
	}
	if !slices.Equal(c.Warnings(), want) {
		t.Errorf("warnings: got %q, want %q", c.Warnings(), want)
	}
	if get(c, "active-defrag-cycle-max") != "5" {
		t.Errorf("an ignored directive is not kept: %s", get(c, "active-defrag-cycle-max"))
	}
}

func TestMistakesNameFileLineAndReason(t *testing.T) {
	files := map[string]string{"inc.conf": "timeout 1\ntimeout x\n", "loop.conf": "include loop.conf\n"}
	for _, x := range []struct{ text, want string }{
		{"port 1\nport abc", "vigil.conf, line 2: 'port abc': argument couldn't be parsed into an integer"},
		{"port 70000", "vigil.conf, line 1: 'port 70000': argument must be between 0 and 65535 inclusive"},
		{"port", "vigil.conf, line 1: 'port': wrong number of arguments"},
		{"port 1 2", "vigil.conf, line 1: 'port 1 2': wrong number of arguments"},
		{"\n\nprot 7000", "vigil.conf, line 3: 'prot 7000': Bad directive or wrong number of arguments: unknown directive 'prot', did you mean 'port'?"},
		{"maxmemory-polcy x", "vigil.conf, line 1: 'maxmemory-polcy x': Bad directive or wrong number of arguments: unknown directive 'maxmemory-polcy', did you mean 'maxmemory-policy'?"},
		{"append-only yes", "vigil.conf, line 1: 'append-only yes': Bad directive or wrong number of arguments: unknown directive 'append-only', did you mean 'appendonly'?"},
		{"qwertyuiopasdf 1", "vigil.conf, line 1: 'qwertyuiopasdf 1': Bad directive or wrong number of arguments"},
		{"include", "vigil.conf, line 1: 'include': Bad directive or wrong number of arguments"},
		{"logfile \"x", "vigil.conf, line 1: 'logfile \"x': Unbalanced quotes in configuration line"},
		{"save 900", "vigil.conf, line 1: 'save 900': Invalid save parameters"},
		{"include inc.conf", "inc.conf, line 2: 'timeout x': argument couldn't be parsed into an integer"},
		{"include none.conf", "none.conf: No such file or directory"},
		{"include none*.conf", ""},
		{"include loop.conf", "loop.conf, line 1: 'include loop.conf': more than 16 files include each other"},
		{"sentinel monitor x", "vigil.conf, line 1: 'sentinel monitor x': sentinel directive while not in sentinel mode"},
		{"a.b", "vigil.conf, line 1: 'a.b': Module config specified without value"},
		{"list-max-ziplist-entries 1", ""},
	} {
		_, err := parse(x.text, files)
		if got := fmt.Sprint(err); got != x.want && !(err == nil && x.want == "") {
			t.Errorf("%q: got %s, want %s", x.text, got, x.want)
		}
	}
	for _, x := range []struct{ text, line, reason string }{
		{"user", "1: 'user'", "Bad directive or wrong number of arguments"},
		{"tls-dh-params-file x", "1: 'tls-dh-params-file x'", noDH},
		{"tls-key-file-pass a b", "1: 'tls-key-file-pass (redacted)'", "wrong number of arguments"},
		{"loadmodule /x.so a", "1: 'loadmodule /x.so a'", noModules},
		{"bf.initial_size 1", "1: 'bf.initial_size 1'", noModules},
		{"slaveof a", "1: 'slaveof a'", "wrong number of arguments"},
		{"slaveof a 65536", "1: 'slaveof a 65536'", "Invalid master port"},
		{"masterauth x y", "1: 'masterauth (redacted)'", "wrong number of arguments"},
		{"cluster-slots 0-16384", "1: 'cluster-slots 0-16384'", `"0-16384" is neither a slot nor a range of slots, which are 0 to 16383`},
		{"cluster-group a\tb", "1: 'cluster-group a\tb'", "wrong number of arguments"},
		{"rename-command GETT x", "1: 'rename-command GETT x'", "No such command in rename-command"},
		{"rename-command GET set", "1: 'rename-command GET set'", "Target command name already exists"},
		{"requirepass a b", "1: 'requirepass (redacted)'", "wrong number of arguments"},
		{"tls-port 1\ntls-port 0\nreplicaof a 1\nreplicaof no one\nmin-replicas-to-write 0", "", ""},
		{"\x00\xff\x1b[2J " + strings.Repeat("x", 999), `1: '"\x00\xff\x1b[2J ` + strings.Repeat("x", 193) + `..."'`, "Bad directive or wrong number of arguments"},
	} {
		want := ""
		if x.line != "" {
			want = "vigil.conf, line " + x.line + ": " + x.reason
		}
		_, err := parse(x.text, files)
		if got := fmt.Sprint(err); got != want && !(err == nil && want == "") {
			t.Errorf("%.60q: got %s, want %s", x.text, got, want)
		}
	}
	_, err := parse("port abc", nil)
	var mistake *LoadError
	if !errors.As(err, &mistake) {
		t.Fatal(err)
	}
	want := "\n*** FATAL CONFIG FILE ERROR (vigil) ***\nReading the configuration file, at line 1 of vigil.conf\n>>> 'port abc'\nargument couldn't be parsed into an integer\n"
	if got := mistake.Report(); got != want {
		t.Errorf("report: got %q, want %q", got, want)
	}
}

func TestIncludesAreReadInPlace(t *testing.T) {
	files := map[string]string{"a1.conf": "port 2\ntimeout 2", "a2.conf": "timeout 3"}
	c, err := parse("port 1\ninclude a*.conf\nmaxclients 4", files)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Settings(); s.Port != 2 || s.Timeout.Seconds() != 3 || s.MaxClients != 4 {
		t.Errorf("got %+v", s)
	}
}

func TestCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my file.conf")
	if err := os.WriteFile(file, []byte("port 1\nsave 900 1\ntimeout 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args  string
		stdin string
		names string
		want  string
	}{
		{"--port 7000 --save '' --save 900 1", "", "port save", "7000 | 900 1"},
		{"--save '900 1 300 10'", "", "save", "900 1 300 10"},
		{"--save 900 1 300 10 --port 5", "", "save port", "900 1 300 10 | 5"},
		{"--save --port 5", "", "save port", " | 5"},
		{"--port 5 --save", "", "save port", " | 5"},
		{"'--port 5' --timeout 7", "", "port timeout", "5 | 7"},
		{"--requirepass --x --port 3", "", "requirepass port", "--x | 3"},
		{"--logfile 'a \"b'", "", "logfile", `a "b`},
		{"FILE", "", "port save timeout", "1 | 900 1 | 9"},
		{"FILE --port 2 --save 60 5", "", "port save", "2 | 900 1 60 5"},
		{"FILE --port 2 -", "port 3\ntimeout 4", "port timeout", "2 | 4"},
		{"- --port 2", "port 3\ntimeout 4", "port timeout", "2 | 4"},
		{"-", "port 3", "port", "3"},
		{"--bind 127.0.0.1 ::1", "", "bind", "127.0.0.1 ::1"},
		{"", "port 9", "port", "6379"},
	} {
		args, _ := splitWords(x.args)
		if len(args) > 0 && args[0] == "FILE" {
			args[0] = file
		}
		c, err := Load(args, strings.NewReader(x.stdin))
		if err != nil {
			t.Errorf("%s: %v", x.args, err)
			continue
		}
		var got []string
		for _, name := range strings.Fields(x.names) {
			got = append(got, get(c, name))
		}
		if strings.Join(got, " | ") != x.want {
			t.Errorf("%s: got %q, want %q", x.args, strings.Join(got, " | "), x.want)
		}
	}
}

func TestCommandLineMistakes(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"--port", "the command line, line 1: 'port': wrong number of arguments"},
		{"--timeout 1 --port x", "the command line, line 2: 'port \"x\"': argument couldn't be parsed into an integer"},
		{"-port 1", "the command line, line 1: '\"-port\" \"1\"': Bad directive or wrong number of arguments: unknown directive '-port', did you mean 'port'?"},
		{"/none/such.conf", "/none/such.conf: No such file or directory"},
	} {
		args, _ := splitWords(x.args)
		_, err := Load(args, strings.NewReader(""))
		if fmt.Sprint(err) != x.want {
			t.Errorf("%s: got %v, want %s", x.args, err, x.want)
		}
	}
}

// FuzzParse checks that no file panics the reader, and that what a file sets
// survives being rewritten and read again.
func FuzzParse(f *testing.F) {
	f.Add("port 7000\nsave 900 1\nsave ''\nbind 1 2 \"3 4\"\n")
	f.Add("client-output-buffer-limit normal 1k 2 3\nnotify-keyspace-events AKn\nrequirepass \"\\x00\"\n")
	f.Add("maxmemory-clients 5%\nshutdown-on-sigterm save now\nlatency-tracking-info-percentiles 1 2.5\n")
	f.Add("include a*\nrename-command get b\nuser x\nunixsocketperm 0777\nhz 9999\nreplicaof a 1\nreplicaof no one\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(text, nil)
		if err != nil {
			return
		}
		for _, old := range []string{text, "", "port 1\nsave 1 1\n# x"} {
			c.mu.Lock()
			written := string(c.rewrittenLocked([]byte(old), old == ""))
			c.mu.Unlock()
			again, err := parse(written, nil)
			if err != nil {
				t.Fatalf("%q over %q gives %q: %v", text, old, written, err)
			}
			for i := range c.rows {
				if got, want := again.mu.values[i], c.mu.values[i]; got.text != want.text || got.n != want.n {
					t.Fatalf("%q over %q gives %q: %s is %q, was %q", text, old, written, c.rows[i].name, got.text, want.text)
				}
			}
		}
	})
}

func TestQuotedWordsReadBackAsTheyWere(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, word := range []string{"", "plain", "\a\b\t\r\n", `"quoted" \ 'so'`, string(every)} {
		words, ok := splitWords(quote(word))
		if !ok || len(words) != 1 || words[0] != word {
			t.Errorf("%q: read back %q, %v", word, words, ok)
		}
	}
}

func TestThrowAwayNeedsBothWords(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "save ''": false, "appendonly no": false, "save 900 1\nappendonly no": false,
		"save ''\nappendonly yes": false, "save ''\nappendonly no": true, "save 900 1\nsave ''\nappendonly yes\nappendonly no": true,
	} {
		c, err := parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set(Caller{}, pairsOf("save", "", "appendonly", "no")); err != nil {
			t.Fatal(err)
		}
		if got := c.Settings().ThrowAway; got != want {
			t.Errorf("%q: throw-away is %v, want %v", text, got, want)
		}
	}
}

func TestConfigurationFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.conf")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop.conf")
	if err := os.WriteFile(loop, []byte("port 1\ninclude "+loop+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		dir:                              "Is a directory",
		filepath.Join(dir, "none"):       "No such file or directory",
		big:                              "longer than 16777216 bytes",
		loop:                             "line 2: 'include " + loop + "': more than 16 files include each other",
		filepath.Join(dir, "big.conf/x"): "Not a directory",
	} {
		if _, err := Load([]string{file}, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
}

func TestAddReadsMoreLines(t *testing.T) {
	c, err := Load([]string{"--save", "", "--appendonly", "no", "--maxmemory", "1mb", "--rdbcompression", "no"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	warned := len(c.Warnings())
	if err := c.Add("here", "databases 4", "maxmemory 2mb", "rename-command GET FETCH", `user a on +@all`); err != nil {
		t.Fatal(err)
	}
	s := c.Settings()
	if s.Databases != 4 || s.MaxMemory != 2<<20 || !s.ThrowAway || len(s.Renames) != 1 || len(s.Users) != 1 || len(c.Warnings()) != warned {
		t.Errorf("got %d databases, %d bytes, thrown away %t, %v, %v, warnings %q", s.Databases, s.MaxMemory, s.ThrowAway, s.Renames, s.Users, c.Warnings())
	}
	for _, lines := range [][]string{{"databases 5", "user b on", "rename-command SET PUT", "hz nothing"}, {"databases 5", "nothing 1"}} {
		var bad *LoadError
		if err := c.Add("there", lines...); !errors.As(err, &bad) || bad.File != "there" || bad.Line != len(lines) {
			t.Errorf("%q: got %v", lines, err)
		}
		if err := c.Add("then", "hz 11"); err != nil {
			t.Fatal(err)
		}
		if now := c.Settings(); now.Databases != 4 || len(now.Renames) != 1 || len(now.Users) != 1 {
			t.Errorf("after a mistake there are %d databases, %v, %v", now.Databases, now.Renames, now.Users)
		}
	}
	if err := c.Add("last", "appendonly yes"); err != nil || c.Settings().ThrowAway {
		t.Errorf("appendonly yes: %v, thrown away %t", err, c.Settings().ThrowAway)
	}
}
