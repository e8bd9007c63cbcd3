package window

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/conf"
)

func TestConfigSetMovesTheWindow(t *testing.T) {
	r := newRig(t)
	if got := r.w.Addrs(); len(got) != 0 {
		t.Fatalf("http-port 0 listens at %v", got)
	}
	r.must("CONFIG SET http-port auto")
	first := r.w.Addrs()[0].String()
	if status, body := overSocket(t, "http://"+first+"/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("at the first port: %d %q", status, body)
	}
	// The port of somebody else is refused, and the window stays.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	a := r.do("CONFIG", "SET", "http-port", port)
	if a.Err() == nil || !strings.Contains(a.Err().Error(), "argument 'http-port'") || !strings.Contains(a.Err().Error(), "in use") {
		t.Errorf("CONFIG SET of a taken port: got %v", a.Err())
	}
	if got := r.w.Addrs()[0].String(); got != first {
		t.Errorf("after a refusal the window is at %s, want %s", got, first)
	}
	if status, _ := overSocket(t, "http://"+first+"/healthz"); status != http.StatusOK {
		t.Errorf("after a refusal: status %d", status)
	}
	if got := r.do("CONFIG", "GET", "http-port").List()[1].String(); got != "auto" {
		t.Errorf("CONFIG GET http-port: got %s, want auto", got)
	}
	taken.Close()
	r.must("CONFIG SET http-port " + port)
	if status, _ := overSocket(t, "http://127.0.0.1:"+port+"/metrics"); status != http.StatusOK {
		t.Errorf("at the port that has become free: status %d", status)
	}
	r.must("CONFIG SET http-bind 127.0.0.2")
	if status, _ := overSocket(t, "http://127.0.0.2:"+port+"/metrics"); status != http.StatusOK {
		t.Errorf("at another address: status %d", status)
	}
	if a := r.do("CONFIG", "SET", "http-bind", ""); a.Err() == nil {
		t.Error("a port without an address was accepted")
	}
	r.must("CONFIG SET http-port 0")
	if got := r.w.Addrs(); len(got) != 0 {
		t.Errorf("http-port 0 listens at %v", got)
	}
	if _, err := net.Dial("tcp", "127.0.0.2:"+port); err == nil {
		t.Error("the socket of a closed window takes connections")
	}
}

func TestNothingIsAskedWhileNobodyLooks(t *testing.T) {
	r := newRig(t)
	if got := r.do("CLIENT", "LIST").String(); strings.Contains(got, clientName) {
		t.Errorf("the window is connected though nobody looked:\n%s", got)
	}
	r.get("/")
	poll(t, "after a look there is one connection, and none of the visitor", func() bool {
		return strings.Count(r.do("CLIENT", "LIST").String(), clientName) == 1
	})
}

func TestALostConnectionIsOpenedAnew(t *testing.T) {
	r := newRig(t)
	r.get("/")
	for range 3 {
		if killed := r.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Int(); killed < 1 {
			t.Fatal("CLIENT KILL found no window")
		}
		wants(t, "after CLIENT KILL", r.get("/"), "takes reads and writes")
	}
}

func TestDatabasesAreSelectedOnceMore(t *testing.T) {
	r := newRig(t)
	answers, err := r.client.Ask(answerTime, 3, call{"SCHED.CREATE", "third", "SEED", "1"}, call{"SET", "k", "v"})
	if err != nil || answers[0].Err() != nil {
		t.Fatal(answers, err)
	}
	r.must("SCHED.CREATE zero SEED 1")
	page := r.get("/schedules")
	wants(t, "schedules", page, `href="schedules?db=3&amp;key=third"`, `href="schedules?db=0&amp;key=zero"`)
	wants(t, "the one in database 3", r.get("/schedules?db=3&key=third"), "<h2>third</h2>")
	wants(t, "a key of another database", r.get("/schedules?db=0&key=third"), "no such key")
	wants(t, "a key of another type", r.get("/schedules?db=3&key=k"), "WRONGTYPE")
	for _, db := range []string{"99", "-1", "x", "99999999999999999999"} {
		status, body := r.ask(request("/schedules?db=" + db + "&key=zero"))
		if status != http.StatusOK {
			t.Errorf("database %s: status %d: %s", db, status, body)
		}
	}
	wants(t, "after a wrong database", r.get("/schedules?db=0&key=zero"), "<h2>zero</h2>")
}

func TestWindowOfATakenPortEndsTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r := newRig(t)
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	config, err := conf.Load([]string{"--http-port", port}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := Open(r.srv, config, r.w.log); err == nil {
		w.Close()
		t.Error("a taken port was accepted")
	}
}
