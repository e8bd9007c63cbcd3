package server

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/info"
)

func TestShutdownAsksTheOwnerAndEndsTheConnection(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, onDisk(dir))
	c := newScriptClient(t, r.srv)
	for _, bad := range []string{"SHUTDOWN NOSUCH", "SHUTDOWN SAVE NOSAVE", "SHUTDOWN ABORT"} {
		if got := c.call(t, bad); got.kind != nodeError {
			t.Errorf("%s: got %s", bad, got)
		}
	}
	select {
	case <-r.srv.ShutdownRequested():
		t.Fatal("a SHUTDOWN that failed asked for the end")
	default:
	}
	if err := c.send(words("SHUTDOWN SAVE")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.receive(); err == nil {
		t.Errorf("SHUTDOWN SAVE: got %s, want the end of the connection", got)
	}
	<-r.srv.ShutdownRequested()
	if list, err := os.ReadDir(filepath.Join(dir, "snapshots")); err != nil || len(list) != 1 {
		t.Errorf("SHUTDOWN SAVE: got snapshots %v, %v, want one", list, err)
	}
}

func TestShutdownRefusesConnectionsBeforeItsClientIsGone(t *testing.T) {
	r := newRig(t)
	addr := r.loopback()
	c := r.dialTCP(addr)
	c.send("SHUTDOWN", "NOSAVE")
	c.ended()
	if nc, err := net.Dial("tcp", addr); err == nil {
		nc.Close()
		t.Error("a server that is shut down takes connections")
	}
}

func TestShutdownGoesOnIfTheSnapshotFailsUnlessForced(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, onDisk(dir))
	if err := os.WriteFile(filepath.Join(dir, "snapshots"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newScriptClient(t, r.srv)
	if got := c.call(t, "SHUTDOWN SAVE"); got.kind != nodeError {
		t.Errorf("SHUTDOWN SAVE: got %s, want an error", got)
	}
	if err := c.send(words("SHUTDOWN SAVE FORCE")); err != nil {
		t.Fatal(err)
	}
	<-r.srv.ShutdownRequested()
}

func TestDebugNeedsThePermissionOfItsDirective(t *testing.T) {
	const refused = "(error) " + string(commands.ErrDebugNotAllowed)
	for _, x := range []struct{ allowed, addr, want string }{
		{"no", "127.0.0.1:5", refused}, {"no", "10.0.0.1:5", refused},
		{"local", "127.0.0.1:5", "OK"}, {"local", "[::1]:5", "OK"}, {"local", "10.0.0.1:5", refused},
		{"yes", "10.0.0.1:5", "OK"},
	} {
		r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--enable-debug-command", x.allowed) })
		c := r.dial()
		r.session(c).Addr = x.addr
		if got := c.do("DEBUG", "SLEEP", "0"); got != x.want {
			t.Errorf("enable-debug-command %s, from %s: got %s, want %s", x.allowed, x.addr, got, x.want)
		}
		if x.want != refused {
			continue
		}
		// What is refused is refused before its form is looked at, and dooms a transaction.
		for _, call := range [][]string{{"DEBUG", "HELP"}, {"DEBUG", "SLEEP"}, {"DEBUG", "NOSUCH"}, {"debug", "reload"}} {
			if got := c.do(call...); got != refused {
				t.Errorf("%v: got %s", call, got)
			}
		}
		c.want("DEBUG", "(error) ERR wrong number of arguments for 'debug' command")
		c.want("MULTI", "OK")
		if got := c.do("DEBUG", "SLEEP", "0"); got != refused {
			t.Errorf("inside MULTI: got %s", got)
		}
		c.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
	}
}

func TestInfoOfManySectionsHasEachOnce(t *testing.T) {
	r := newRig(t)
	c := newScriptClient(t, r.srv)
	for call, want := range map[string]int{
		"INFO": 12, "INFO default": 12, "INFO all": 15, "INFO everything": 15, "INFO threads": 1,
		"INFO server SERVER": 1, "INFO default commandstats": 13, "INFO nosuch": 0, "INFO latencystats cpu": 2,
	} {
		text := c.call(t, call).text
		titles := map[string]bool{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if title, ok := strings.CutPrefix(line, "# "); ok {
				if titles[title] {
					t.Errorf("%s: section %s twice", call, title)
				}
				titles[title] = true
			} else if line != "" && !strings.Contains(line, ":") {
				t.Errorf("%s: line %q", call, line)
			}
		}
		if len(titles) != want {
			t.Errorf("%s: got %d sections, want %d", call, len(titles), want)
		}
	}
}

func TestInfoCountsClientsByWhatTheyDo(t *testing.T) {
	r := newRig(t)
	c, sub, waiter := newScriptClient(t, r.srv), newScriptClient(t, r.srv), newScriptClient(t, r.srv)
	sub.call(t, "SUBSCRIBE c")
	if err := waiter.send(words("BLPOP q 5")); err != nil {
		t.Fatal(err)
	}
	r.blocked(1)
	c.call(t, "WATCH a b")
	text := c.call(t, "INFO clients").text
	for _, line := range []string{"connected_clients:3\r", "blocked_clients:1\r", "clients_in_timeout_table:1\r",
		"total_watched_keys:2\r", "total_blocking_keys:1\r"} {
		if !strings.Contains(text, line) {
			t.Errorf("INFO clients lacks %q: %q", line, text)
		}
	}
}

func TestBytesAreShownForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 1536: "1.50K", 5 << 20: "5.00M",
		3 << 30: "3.00G", 1 << 40: "1.00T"} {
		if got := string(info.AppendHuman(nil, n)); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestErrorNamesCannotBreakTheFormOfInfo(t *testing.T) {
	if got := info.SafeName("E:a=b,c d#\n"); got != "E_a_b_c_d__" {
		t.Errorf("got %q", got)
	}
}

func newScriptClient(t *testing.T, srv *Server) *scriptClient {
	t.Helper()
	o := &ownTarget{srv: srv}
	c := o.dial(t, 2)
	t.Cleanup(func() { c.nc.Close() })
	return c
}

// words splits a call at its spaces.
func words(call string) (argv [][]byte) {
	for _, w := range strings.Fields(call) {
		argv = append(argv, []byte(w))
	}
	return argv
}

func (c *scriptClient) call(t *testing.T, call string) *node {
	t.Helper()
	if err := c.send(words(call)); err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	got, err := c.receive()
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return got
}

func TestRewriteThatFailsTellsWhyOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "vigil.conf")
	if err := os.WriteFile(file, []byte("port 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := conf.Load([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *Options) { o.Config = config })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	r.dial().want("CONFIG REWRITE", "(error) ERR Rewriting config file: No such file or directory")
}

// DEBUG OBJECT shows a key that has expired and that nobody has looked at since.
func TestDebugObjectShowsExpiredKeys(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("DEBUG SET-ACTIVE-EXPIRE 0", "OK")
	c.want("SET k value PX 1", "OK")
	r.clock.advance(time.Second)
	if got := c.do("DEBUG", "OBJECT", "k"); !strings.HasPrefix(got, "Value at:") {
		t.Errorf("got %s", got)
	}
	c.want("EXISTS k", "(int) 0")
	c.want("DEBUG OBJECT k", "(error) ERR no such key")
}

func TestRewriteIsRefusedWhileOneIsUnderWay(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	now := r.clock.Now()
	r.srv.rewrites.begin(now)
	c.want("BGREWRITEAOF", "(error) ERR Background append only file rewriting already in progress")
	r.srv.rewrites.end(now, nil)
	c.want("BGREWRITEAOF", "Background append only file rewriting started")
}
