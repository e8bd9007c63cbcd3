package window

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/report"
)

// fetch is get as a user, whatever the status.
func (r *rig) fetch(path, user string) (status int, body string) {
	r.t.Helper()
	r.later(time.Minute)
	return r.ask(request(path, as(user, "pw")))
}

// usersRig has users that may see different things.
func usersRig(t *testing.T) *rig {
	r := newRig(t, "--slowlog-log-slower-than", "0")
	r.must("MSET pub:1 open sec:1 covert")
	r.must("SCHED.CREATE pub:feeds SEED 1")
	r.must("SCHED.CREATE sec:feeds SEED 1")
	r.must("PLACE.CREATE sec:map SEED 1")
	r.must("ACL SETUSER all on >pw ~* &* +@all")
	r.must("ACL SETUSER reader on >pw %R~pub:* +@read +info +scan")
	r.must("ACL SETUSER metrics on >pw +info")
	r.must("ACL SETUSER nobody on >pw")
	r.must("ACL SETUSER off >pw ~* +@all off")
	r.must("CONFIG SET requirepass pw")
	return r
}

func TestPagesAreForThoseWhoMayMakeTheirCalls(t *testing.T) {
	r := usersRig(t)
	for user, wants := range map[string]map[string]int{
		"default": {"/": 200, "/keys": 200, "/clients": 200, "/slowlog": 200, "/group": 200, "/schedules": 200, "/placement": 200, "/metrics": 200, "/key?key=sec:1": 200},
		"all":     {"/": 200, "/keys": 200, "/clients": 200, "/slowlog": 200, "/group": 200, "/schedules": 200, "/placement": 200, "/metrics": 200, "/key?key=sec:1": 200},
		"reader":  {"/": 200, "/keys": 200, "/clients": 403, "/slowlog": 403, "/schedules": 200, "/placement": 200, "/metrics": 200, "/key?key=pub:1": 200},
		"metrics": {"/": 200, "/keys": 403, "/clients": 403, "/slowlog": 403, "/schedules": 403, "/placement": 403, "/metrics": 200},
		"nobody":  {"/": 403, "/keys": 403, "/clients": 403, "/slowlog": 403, "/schedules": 403, "/metrics": 403, "/group": 403, "/key?key=pub:1": 403, "/style.css": 200},
		"off":     {"/": 401, "/metrics": 401, "/style.css": 401},
		"nosuch":  {"/": 401, "/metrics": 401},
	} {
		for path, want := range wants {
			if status, body := r.fetch(path, user); status != want {
				t.Errorf("%s as %s: status %d, want %d: %.300s", path, user, status, want, body)
			}
		}
	}
	if status, _ := r.ask(request("/", as("all", "wrong"))); status != http.StatusUnauthorized {
		t.Errorf("a wrong password of a user: status %d", status)
	}
	_, page := r.fetch("/", "metrics")
	if strings.Contains(page, "<h2>Slow log</h2>") || strings.Contains(page, "sec:") || strings.Contains(page, "<h2>Snapshots</h2>") {
		t.Errorf("a user who may not see the slow log sees it on the overview:\n%s", page)
	}
	wants(t, "the page of a user", page, "user metrics")
}

func TestVisitorSeesOnlyKeysOfItsRules(t *testing.T) {
	r := usersRig(t)
	refused := "NOPERM No permissions to access a key"
	_, page := r.fetch("/key?key=sec:1", "reader")
	wants(t, "a key that may not be read", page, refused)
	if strings.Contains(page, "covert") {
		t.Error("its value is shown")
	}
	_, page = r.fetch("/key?key=pub:1", "reader")
	wants(t, "a key that may be read", page, "<pre>open</pre>")
	for _, path := range []string{"/keys?match=*", "/schedules", "/placement", "/keys"} {
		_, page := r.fetch(path, "reader")
		if links := strings.Count(page, "sec%3A"); links != 0 || strings.Contains(page, "sec:1") || strings.Contains(page, "<code>sec:</code>") || strings.Contains(page, "sec:feeds") || strings.Contains(page, "sec:map") {
			t.Errorf("%s names keys that may not be read:\n%s", path, page)
		}
	}
	_, page = r.fetch("/keys?match=*", "reader")
	wants(t, "a search", page, "pub:1", "more match that you may not read")
	_, page = r.fetch("/schedules?key=sec:feeds", "reader")
	wants(t, "a schedule that may not be read", page, notAllowed)
	_, page = r.fetch("/placement?key=sec:map", "reader")
	wants(t, "a map that may not be read", page, notAllowed)
	_, page = r.fetch("/schedules?key=pub:feeds", "reader")
	// SCHED.COST is a command that reads.
	wants(t, "a schedule that may be read", page, "Without nodes it costs nothing.")
	// What one visitor has seen is not shown to another one who may not see it.
	r.fetch("/schedules?key=sec:feeds", "all")
	if status, page := r.ask(request("/schedules?key=sec:feeds", as("reader", "pw"))); status != http.StatusOK || !strings.Contains(page, notAllowed) {
		t.Errorf("after somebody else has seen it: %d\n%s", status, page)
	}
}

func TestRulesAreThoseOfTheMoment(t *testing.T) {
	r := usersRig(t)
	r.must("AUTH pw")
	if status, _ := r.fetch("/key?key=pub:1", "reader"); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	r.must("ACL SETUSER reader -get -getrange -type")
	_, page := r.fetch("/key?key=pub:1", "reader")
	wants(t, "after the command was taken away", page, "NOPERM User reader has no permissions to run the")
	r.must("ACL DELUSER reader")
	if status, _ := r.fetch("/", "reader"); status != http.StatusUnauthorized {
		t.Errorf("a user that is gone: status %d, want 401", status)
	}
}

func TestDefaultUserOfAnOpenServerMayBeLimited(t *testing.T) {
	r := newRig(t)
	r.must("SET sec:1 covert")
	r.must("ACL SETUSER admin on >pw ~* &* +@all")
	r.must("ACL SETUSER default resetkeys ~pub:* -@all +info +type +scan")
	if status, _ := r.ask(request("/slowlog")); status != http.StatusForbidden {
		t.Errorf("the slow log: status %d, want 403", status)
	}
	wants(t, "a key", r.get("/key?key=sec:1"), "NOPERM")
	if status, _ := r.ask(request("/login")); status != http.StatusUnauthorized {
		t.Errorf("/login without a name: status %d, want 401", status)
	}
	if status, _ := r.ask(request("/login", as("admin", "pw"))); status != http.StatusSeeOther {
		t.Errorf("/login with a name: status %d, want 303", status)
	}
	_, page := r.fetch("/key?key=sec:1", "admin")
	wants(t, "the key as another user", page, "<pre>covert</pre>", "user admin")
}

// A connection that is lost in the middle is not made again: the new one would be that of the default user.
func TestLostConnectionIsNotThatOfSomebodyElse(t *testing.T) {
	r := newRig(t)
	r.must("SET sec:1 covert")
	r.must("ACL SETUSER reader on >pw %R~pub:* +@read")
	v := r.w.visit(request("/", as("reader", "pw")))
	defer v.leave()
	if err := v.enter(); err != nil {
		t.Fatal(err)
	}
	if killed := r.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Int(); killed < 1 {
		t.Fatal("CLIENT KILL found no visitor")
	}
	answers, err := v.asks.Ask(answerTime, 0, call{"GET", "sec:1"})
	if err == nil && !isRefusal(answers[0].Err()) {
		t.Errorf("after its connection was lost a visitor gets %q", answers[0].String())
	}
}

// A password that ACL SETUSER gives the default user counts as requirepass does.
func TestPasswordOfAclCounts(t *testing.T) {
	r := newRig(t)
	r.must("ACL SETUSER default >secret resetpass >pw")
	if status, _ := r.ask(request("/")); status != http.StatusUnauthorized {
		t.Errorf("without: status %d, want 401", status)
	}
	if status, _ := r.fetch("/", "default"); status != http.StatusOK {
		t.Errorf("with: status %d, want 200", status)
	}
}

func TestWrongPasswordsAreInTheLogOfRefusals(t *testing.T) {
	r := usersRig(t)
	r.must("AUTH pw")
	r.ask(request("/", as("reader", "wrong")))
	if log := r.do("ACL", "LOG").List(); len(log) == 0 || log[0].Pairs()["username"].String() != "reader" || log[0].Pairs()["reason"].String() != "auth" {
		t.Errorf("ACL LOG: %v", log)
	}
	// A browser that asks without a name before it is told to give one is none.
	r.must("ACL LOG RESET")
	r.ask(request("/"))
	if log := r.do("ACL", "LOG").List(); len(log) != 0 {
		t.Errorf("a request without a name: %v", log)
	}
}

// Whatever a visitor may do elsewhere, and whatever it sends, nothing changes.
func TestVisitorsOfHostileAddresses(t *testing.T) {
	r := usersRig(t)
	r.must("AUTH pw")
	f, err := r.w.source.Current()
	if err != nil {
		t.Fatal(err)
	}
	before := f.Info["vigil_lsn"]
	for _, text := range append(nasty, "\r\nFLUSHALL\r\n", strings.Repeat("[", 300), strings.Repeat("*a", 90), "-1", "99999999999999999999", "0 0") {
		k := url.QueryEscape(text)
		for _, path := range []string{"/key?key=" + k, "/key?key=pub:1&at=" + k, "/key?db=" + k + "&key=pub:1", "/keys?match=" + k, "/keys?match=*&cursor=" + k,
			"/keys?match=*&db=" + k, "/key?db=15&key=x", "/key?db=16&key=x", "/key?db=1000000&key=x", "/keys?match=*&db=1000000", "/schedules?name=" + k, "/schedules?key=pub:feeds&node=" + k} {
			if status, page := r.fetch(path, "all"); status >= 500 {
				t.Errorf("%s: status %d: %.300s", path, status, page)
			}
		}
	}
	r.later(report.FiguresAge)
	if f, err = r.w.source.Current(); err != nil || f.Info["vigil_lsn"] != before {
		t.Errorf("something was written: the newest record is %s, was %s (%v)", f.Info["vigil_lsn"], before, err)
	}
}
