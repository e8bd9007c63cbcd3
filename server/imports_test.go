package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/importer"
)

const (
	rdbBegin = "REDIS0011"
	rdbEnd   = "\xff\x00\x00\x00\x00\x00\x00\x00\x00" // without a checksum
	library  = "#!lua name=doors\nredis.register_function('knock', function() return 'open' end)"
)

// rdbText is a string in an RDB file.
func rdbText(s string) string {
	if len(s) < 64 {
		return string(rune(len(s))) + s
	}
	return string([]byte{0x40 | byte(len(s)>>8), byte(len(s))}) + s
}

func rdbString(key, value string) string { return "\x00" + rdbText(key) + rdbText(value) }

// aofText is commands as an append-only file has them.
func aofText(calls ...string) string {
	var b strings.Builder
	for _, call := range calls {
		if strings.HasPrefix(call, "#") {
			b.WriteString(call + "\r\n")
			continue
		}
		b.WriteString(encode(strings.Fields(call)...))
	}
	return b.String()
}

// importRig is a server with a directory for imports, which has files with these contents.
func importRig(t *testing.T, files map[string]string, change ...func(*Options)) (r *rig, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return newRig(t, append([]func(*Options){func(o *Options) { o.Config = testConfig(t, "--import-dir", dir) }}, change...)...), dir
}

// imported runs an import by command and waits for its end, whose status it returns.
func (r *rig) imported(c *testClient, args ...string) string {
	r.t.Helper()
	if got := c.do(append([]string{"VIGIL.IMPORT", "PATH"}, args...)...); got != "OK" {
		return got
	}
	r.until("the import ends", func() bool { return !strings.Contains(c.do("VIGIL.IMPORT", "STATUS"), `"running"`) })
	return c.do("VIGIL.IMPORT", "STATUS")
}

func TestImportGivesClientsTheKeysOfAFile(t *testing.T) {
	file := rdbBegin + "\xf5" + rdbText(library) + "\xfe\x00" + rdbString("k", "v") + "\xfc\x01\x00\x00\x00\x00\x00\x00\x00" + rdbString("old", "v") +
		"\x01\x01q\x02\x01a\x01b" + "\xfe\x03" + rdbString("k", "w") + "\x07\x01m\x81\x82\xb6\xa9\x85\xd6\xad\x68\x0e\x00" + rdbEnd
	for _, durable := range []bool{false, true} {
		r, _ := importRig(t, map[string]string{"dump.rdb": file}, func(o *Options) {
			if durable {
				onDisk(t.TempDir())(o)
			}
		})
		c, waiting, watching := r.dial(), r.dial(), r.dial()
		waiting.send("BLPOP", "q", "0")
		watching.want("WATCH k", "OK")
		watching.want("MULTI", "OK")
		watching.want("PING", "QUEUED")
		r.until("the client waits", func() bool { return strings.Contains(c.do("INFO", "clients"), "blocked_clients:1") })
		status := r.imported(c, "dump.rdb")
		for _, want := range []string{`"state" "done"`, `"keys" (int) 3`, "expired: 1 keys", "libraries of functions: 1", "skipped: 1 keys of type module graphdata"} {
			if !strings.Contains(status, want) {
				t.Errorf("status %s: no %s", status, want)
			}
		}
		waiting.next(`["q" "a"]`)
		watching.want("EXEC", "(nil array)")
		c.want("GET k", `"v"`)
		c.want("LRANGE q 0 -1", `["b"]`)
		c.want("DBSIZE", "(int) 2")
		c.want("FCALL knock 0", `"open"`)
		c.want("SELECT 3", "OK")
		c.want("GET k", `"w"`)
		c.want("SET k x", "OK")
		c.want("VIGIL.IMPORT STOP", "(error) ERR no import is under way")
	}
}

// What is done with keys that are there is a rule, and nothing changes if a file or a rule forbids it.
func TestImportGoesByARuleForKeysThatAreThere(t *testing.T) {
	file := rdbBegin + rdbString("a", "new") + rdbString("b", "new") + "\xfe\x01" + rdbString("a", "new") + rdbEnd
	for _, c := range []struct{ rule, a, kept, other, status string }{
		{"", `"old"`, `"old"`, `"old"`, "there are keys already"},
		{"FAIL", `"old"`, `"old"`, `"old"`, "there are keys already"},
		{"SKIP", `"old"`, `"old"`, `"new"`, "kept: 1 keys"},
		{"REPLACE", `"new"`, `"old"`, `"new"`, "done"},
		{"REPLACE-ALL", `"new"`, "(nil)", `"new"`, "done"},
	} {
		r, _ := importRig(t, map[string]string{"dump.rdb": file, "bad.rdb": file[:len(file)-9] + "\x63"})
		client := r.dial()
		client.want("MSET a old kept old", "OK")
		args := []string{"dump.rdb"}
		if c.rule != "" {
			args = append(args, "ON-CONFLICT", c.rule)
		}
		if got := r.imported(client, append([]string{"bad.rdb"}, args[1:]...)...); !strings.Contains(got, `"failed"`) {
			t.Errorf("%s, damaged: %s", c.rule, got)
		}
		client.want("MGET a b kept", `["old" (nil) "old"]`)
		if got := r.imported(client, args...); !strings.Contains(got, c.status) {
			t.Errorf("%s: %s", c.rule, got)
		}
		client.want("GET a", c.a)
		client.want("GET kept", c.kept)
		client.do("SELECT", "1")
		if c.rule == "" || c.rule == "FAIL" {
			client.want("GET a", "(nil)")
		} else {
			client.want("GET a", c.other)
		}
	}
}

// Only the databases that are asked for are imported, and replaced.
func TestImportTakesOnlySomeDatabases(t *testing.T) {
	file := rdbBegin + rdbString("a", "new") + "\xfe\x01" + rdbString("a", "new") + "\xfe\x02" + rdbString("a", "new") + rdbEnd
	r, _ := importRig(t, map[string]string{"dump.rdb": file})
	c := r.dial()
	c.want("SET mine old", "OK")
	if got := r.imported(c, "dump.rdb", "ON-CONFLICT", "REPLACE-ALL", "ONLY", "1", "ONLY", "3"); !strings.Contains(got, "skipped: 2 keys of databases") {
		t.Error(got)
	}
	c.want("GET mine", `"old"`)
	c.do("SELECT", "1")
	c.want("GET a", `"new"`)
	c.do("SELECT", "2")
	c.want("DBSIZE", "(int) 0")
}

// An append-only file is run as Redis loads it: times of long ago do not keep its commands from what they found then.
func TestImportRunsAppendOnlyFiles(t *testing.T) {
	commands := aofText("SELECT 0", "SET n 1", "PEXPIREAT n 1000000", "INCR n", "PERSIST n", "SET gone 1 PXAT 5", "SET t v EX 100", "#TS:100",
		"MULTI", "RPUSH l a", "RPUSH l b", "EXEC", "#TS:200", "SET late 1")
	torn := aofText("MULTI", "SET torn 1")
	manifest := "file base.rdb seq 1 type b\nfile a.aof seq 1 type i\nfile b.aof seq 2 type i\nfile h.aof seq 9 type h\n"
	base := rdbBegin + "\xf5" + rdbText(library) + "\xfc\x00\xca\x9a\x3b\x00\x00\x00\x00" + rdbString("base", "41") + rdbEnd
	r, _ := importRig(t, map[string]string{"plain.aof": commands + torn, "dir/x.manifest": manifest, "dir/base.rdb": base, "dir/a.aof": aofText("INCR base", "PERSIST base"),
		"dir/b.aof": commands, "torn/x.manifest": manifest, "torn/base.rdb": base, "torn/a.aof": commands + torn, "torn/b.aof": commands,
		"preamble.aof": rdbBegin + "\xfa\x0caof-preamble\xc0\x01" + rdbString("base", "41") + rdbEnd + aofText("INCR base"), "unknown.aof": commands + aofText("NOSUCH x", "SET k v"),
		"damaged.aof": commands + "xyz"})
	c := r.dial()
	for _, step := range []struct {
		args, status string
		checks       [][2]string
	}{
		{"plain.aof", "plain.aof: cut short at offset", [][2]string{{"GET n", `"2"`}, {"PTTL n", "(int) -1"}, {"GET gone", "(nil)"}, {"LRANGE l 0 -1", `["a" "b"]`},
			{"GET late", `"1"`}, {"EXISTS torn", "(int) 0"}, {"TTL t", "(int) 100"}}},
		{"plain.aof WHOLE", "the transaction that begins here does not end", [][2]string{{"DBSIZE", "(int) 0"}}},
		{"plain.aof UNTIL 150", "ends at offset", [][2]string{{"EXISTS l late", "(int) 1"}}},
		{"plain.aof UNTIL 99", "ends at offset", [][2]string{{"EXISTS l n", "(int) 1"}}},
		{"dir", "done", [][2]string{{"GET base", `"42"`}, {"GET n", `"2"`}, {"FCALL knock 0", `"open"`}}},
		{"torn", "a.aof: offset", [][2]string{{"DBSIZE", "(int) 0"}}},
		{"preamble.aof", "done", [][2]string{{"GET base", `"42"`}}},
		{"unknown.aof", `command \"NOSUCH\": ERR unknown command`, [][2]string{{"DBSIZE", "(int) 0"}}},
		{"unknown.aof SKIP-UNKNOWN", `skipped: 1 commands \"NOSUCH\"`, [][2]string{{"GET k", `"v"`}, {"GET n", `"2"`}}},
		{"damaged.aof", "in place of a command", [][2]string{{"DBSIZE", "(int) 0"}}},
		{"nosuch.aof", "no such file", nil},
	} {
		if got := r.imported(c, strings.Fields(step.args)...); !strings.Contains(got, step.status) {
			t.Errorf("%s: %s, want %s", step.args, got, step.status)
		}
		for _, check := range step.checks {
			if got := c.do(strings.Fields(check[0])...); got != check[1] {
				t.Errorf("%s: %s: got %s, want %s", step.args, check[0], got, check[1])
			}
		}
		c.want("FLUSHALL", "OK")
		c.want("FUNCTION FLUSH", "OK")
	}
	if _, err := r.srv.Import(context.Background(), ImportOptions{Path: "-", Stdin: strings.NewReader(commands)}, nil); err != nil {
		t.Error(err)
	}
	c.want("GET n", `"2"`)
}

// Files of clients lie in import-dir.
func TestImportStaysInItsDirectory(t *testing.T) {
	r, dir := importRig(t, nil)
	c := r.dial()
	for _, path := range []string{"../x", "/etc/passwd", "a/../../x", ""} {
		if got := c.do("VIGIL.IMPORT", "PATH", path); got != "(error) "+string(errImportPath) {
			t.Errorf("%q: got %s", path, got)
		}
	}
	without := newRig(t).dial()
	without.want("VIGIL.IMPORT PATH "+filepath.Join(dir, "x"), "(error) "+string(errImportDir))
}

// An import that is stopped leaves nothing; a second one at a time is refused.
func TestImportCanBeStopped(t *testing.T) {
	r, _ := importRig(t, map[string]string{"k.rdb": rdbBegin + rdbString("k", "v") + rdbEnd})
	in, feed := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := r.srv.Import(context.Background(), ImportOptions{Path: "-", Stdin: in}, func(importer.Summary) {})
		ended <- err
	}()
	if _, err := feed.Write([]byte(rdbBegin + rdbString("k", "v"))); err != nil {
		t.Fatal(err)
	}
	c := r.dial()
	if got := c.do("VIGIL.IMPORT", "PATH", "k.rdb"); !strings.Contains(got, "under way") {
		t.Errorf("a second one: got %s", got)
	}
	c.want("VIGIL.IMPORT STOP", "OK")
	go func() { // ends with the import
		_, err := feed.Write([]byte(strings.Repeat(rdbString("k", "v"), 3000)))
		feed.CloseWithError(err)
	}()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.want("DBSIZE", "(int) 0")
}
