package server

import (
	"context"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
)

// A transaction that does nothing but change users is one record, with the first change before it.
func TestTransactionOfChangesOfUsersIsOneRecord(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	lsn := c.srv.store.Stats().LSN
	admin.want("MULTI", "OK")
	admin.want("ACL SETUSER u on >x", "QUEUED")
	admin.want("ACL SETUSER v on >x", "QUEUED")
	admin.want("ACL DELUSER u", "QUEUED")
	admin.want("CONFIG SET requirepass p", "QUEUED")
	admin.want("ACL SETUSER w on nosuch", "QUEUED")
	admin.want("EXEC", "[OK OK (int) 1 OK (error) ERR Error in ACL SETUSER modifier 'nosuch': Syntax error]")
	if got := c.srv.store.Stats().LSN; got != lsn+1 {
		t.Errorf("records %d to %d, want one", lsn+1, got)
	}
	c.follower.login("default", "p").want("ACL USERS", `["default" "v"]`)
	c.follower.noLogin("u", "x")
}

// A member that loads has the users that were in its store when the journal was last cut, not those of its
// configuration.
func TestMemberThatLoadsHasTheUsersOfTheLastCut(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		r, _ := newGroupRig(t, onDisk(dir))
		r.dial().want("ACL SETUSER root on >x +@all", "OK")
		r.login("root", "x").want("ACL SETUSER default off", "OK")
		if err := r.srv.store.Passes().Materialise(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	g := newTestGroup(t)
	r := newLoadingRig(t, onDisk(dir), g.join)
	r.dial().want("ECHO hi", "(error) NOAUTH Authentication required.")
	root := r.login("root", "x")
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	root.want("ACL USERS", `["default" "root"]`)
}

// A server that is alone keeps its users where it did: in its configuration.
func TestServerAloneKeepsNoUsersInItsStore(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		r := newRig(t, onDisk(dir))
		c := r.dial()
		lsn := r.srv.store.Stats().LSN
		c.want("ACL SETUSER u on nopass", "OK")
		c.want("CONFIG SET requirepass p", "OK")
		c.want("ACL DELUSER u", "(int) 1")
		c.want("ACL SETUSER v on nopass", "OK")
		if got := r.srv.store.Stats().LSN; got != lsn || len(r.srv.store.Texts(persistence.Users)) != 0 {
			t.Errorf("record %d follows %d, the store has users %q", got, lsn, r.srv.store.Texts(persistence.Users))
		}
	})
	newRig(t, onDisk(dir)).dial().want("ACL USERS", `["default"]`)
}

// What CONFIG REWRITE writes at a member describes the users of its group.
func TestRewrittenConfigurationOfAMemberHasTheUsersOfItsGroup(t *testing.T) {
	file := t.TempDir() + "/v.conf"
	if err := conf.ReplaceFile(file, []byte("requirepass p\n")); err != nil {
		t.Fatal(err)
	}
	load := func(o *Options) {
		var err error
		if o.Config, err = conf.Load([]string{file}, nil); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := newGroupRig(t, load)
	c := r.login("default", "p")
	c.want("ACL SETUSER v on nopass ~* +get", "OK")
	c.want("ACL SETUSER default >q", "OK")
	want := c.do("ACL", "LIST")
	c.want("CONFIG REWRITE", "OK")
	if got := newRig(t, load).login("default", "q").do("ACL", "LIST"); got != want || !strings.Contains(got, "user v on nopass") {
		t.Errorf("got %s, want %s", got, want)
	}
}
