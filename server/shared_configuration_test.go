package server

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
)

// has checks what CONFIG GET returns.
func (r *rig) has(name, value string) {
	r.t.Helper()
	r.dial().want("CONFIG GET "+name, fmt.Sprintf("[%q %q]", name, value))
}

// textsOf changes texts of a server's store otherwise than by a command, as another version may.
func (r *rig) texts(change func(tx *persistence.Tx)) {
	r.t.Helper()
	tx := r.srv.store.NewTx()
	var set persistence.Shards
	set.AddTexts()
	tx.Lock(&set, 0)
	defer tx.Unlock()
	change(tx)
	tx.Commit()
}

func TestSharedDirectivesOfALeaderAreThoseOfItsFollower(t *testing.T) {
	c := newCouple(t, nil, strings.Fields("--timeout 7 --maxmemory-policy noeviction --hash-max-listpack-entries 9"))
	admin := c.dial()
	lsn := c.srv.store.Stats().LSN
	admin.want("CONFIG SET maxmemory 100mb loglevel debug", "OK") // those of the machine
	if got := c.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d for directives of the machine", got)
	}
	admin.want("CONFIG SET Hash-Max-Ziplist-Entries 3 notify-keyspace-events AKE maxmemory 200mb", "OK")
	if got := c.srv.store.Stats().LSN; got != lsn+1 {
		t.Errorf("record %d, want one more than %d", got, lsn)
	}
	c.follower.has("hash-max-listpack-entries", "3")
	c.follower.has("notify-keyspace-events", "AKE")
	c.follower.has("maxmemory", "0")
	c.follower.has("timeout", "7") // nobody has set it
	admin.want("HSET h a 1 b 2 c 3 d 4", "(int) 4")
	c.follower.dial().want("OBJECT ENCODING h", `"hashtable"`)
	admin.want("CONFIG SET timeout 0 maxmemory-policy spill", "OK") // which the leader has
	c.follower.has("timeout", "0")
	c.follower.has("maxmemory-policy", "spill")
	lsn = c.srv.store.Stats().LSN
	admin.want("CONFIG SET timeout 0", "OK")
	if got := c.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d for what the group has", got)
	}
	c.fail()
	c.follower.has("hash-max-listpack-entries", "3")
	sub := c.follower.dial()
	sub.do("SUBSCRIBE", "__keyevent@0__:set")
	c.follower.dial().want("SET k v", "OK")
	sub.next(`["message" "__keyevent@0__:set" "k"]`)
}

// What a follower refuses changes nothing, also as a part of a transaction. Its own directives can still be set there.
func TestDirectivesAreTheMembersOwnBelowTheLevelOfSharing(t *testing.T) {
	c := newCouple(t, nil, nil)
	for _, m := range []*testGroup{c.g, c.other} {
		m.m.SetLevel(persistence.LevelUntold)
	}
	if got := c.dial().do("CONFIG", "SET", "timeout", "70", "requirepass", ""); got != "OK" { // with one that belongs to the users
		t.Fatalf("CONFIG SET: got %s", got)
	}
	c.follower.dial().want("CONFIG SET timeout 71", "OK")
	c.dial().want("CONFIG SET timeout 72", "OK")
	c.has("timeout", "72")
	c.follower.has("timeout", "71")
	if got := c.srv.store.Texts(persistence.Directives); len(got) > 0 {
		t.Errorf("the group has %v before its level allows it", got)
	}
	for _, m := range []*testGroup{c.g, c.other} {
		m.m.SetLevel(persistence.LevelTold)
	}
	c.dial().want("CONFIG SET timeout 73", "OK")
	c.follower.has("timeout", "73")
	c.follower.dial().want("CONFIG SET timeout 71", "(error) READONLY You can't write against a read only replica.")
}

func TestFollowersRefuseSharedDirectives(t *testing.T) {
	for _, view := range []string{"sentinel", "cluster"} {
		c := newCouple(t, nil, []string{"--cluster-view", view})
		r, g := c.follower, c.other
		admin := r.dial()
		r.refusesAsFollower(g, "CONFIG SET timeout 5", "CONFIG SET maxmemory 100mb TIMEOUT 5", "CONFIG SET timeout nonsense", "config set hash-max-ziplist-value 5")
		r.has("maxmemory", "0")
		r.has("timeout", "0")
		admin.want("CONFIG SET maxmemory 100mb loglevel warning", "OK")
		admin.want("CONFIG SET nosuch 1", "(error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'")
		c.has("maxmemory", "0")
	}
}

// A member that ceases to lead after CONFIG SET was admitted does not make it.
func TestSharedDirectiveIsRefusedUnderItsLocks(t *testing.T) {
	r, g := newGroupRig(t)
	g.depose()
	s := newFeeder(r.srv).s
	argv := [][]byte{[]byte("CONFIG"), []byte("SET"), []byte("timeout"), []byte("5")}
	cmd, _ := s.lookup(argv)
	s.prepare(cmd, argv)
	if err := s.lock(cmd, argv); err == nil || s.locked {
		t.Errorf("got %v", err)
	}
}

// A call that is refused for one of its directives sets and keeps none.
func TestConfigSetOfALeaderHappensWhollyOrNotAtAll(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	lsn := c.srv.store.Stats().LSN
	for _, call := range []string{"CONFIG SET timeout 5 maxmemory x", "CONFIG SET timeout x maxmemory 5mb", "CONFIG SET timeout 5 appendfsync always requirepass x",
		"CONFIG SET timeout 5 databases 3", "CONFIG SET timeout 5 timeout 6", "CONFIG SET hash-max-ziplist-value 5 hash-max-listpack-value 6"} {
		if got := admin.do(strings.Fields(call)...); !strings.HasPrefix(got, "(error) ERR CONFIG SET failed") {
			t.Errorf("%s: got %s", call, got)
		}
	}
	long := strings.Repeat("9", 1<<20)
	for _, value := range []string{long, "1" + long + "kb", strings.Repeat("\x00", 1<<20)} {
		if got := admin.do("CONFIG", "SET", "lua-memory-limit", value); !strings.HasPrefix(got, "(error) ERR CONFIG SET failed") {
			t.Errorf("a long value: got %.100s", got)
		}
	}
	if got := c.srv.store.Stats().LSN; got != lsn || len(c.srv.store.Texts(persistence.Directives)) > 0 {
		t.Errorf("record %d, %v", got, c.srv.store.Texts(persistence.Directives))
	}
	c.has("timeout", "0")
	c.has("requirepass", "")
	c.follower.has("timeout", "0")
}

// A transaction that sets directives and changes users is one record.
func TestTransactionThatSetsDirectivesIsOneRecord(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	lsn := c.srv.store.Stats().LSN
	admin.want("MULTI", "OK")
	for _, call := range []string{"CONFIG SET timeout 5", "SET k v", "CONFIG SET timeout 6 requirepass p", "CONFIG SET timeout x", "CONFIG GET timeout", "CONFIG SET maxmemory 1gb"} {
		admin.want(call, "QUEUED")
	}
	if got := admin.do("EXEC"); !strings.HasPrefix(got, "[OK OK OK (error) ERR CONFIG SET failed (possibly related to argument 'timeout')") ||
		!strings.HasSuffix(got, `["timeout" "6"] OK]`) {
		t.Errorf("got %s", got)
	}
	if got := c.srv.store.Stats().LSN; got != lsn+1 {
		t.Errorf("records %d to %d, want one", lsn+1, got)
	}
	next := c.follower.login("default", "p")
	next.want("CONFIG GET timeout", `["timeout" "6"]`)
	admin.want("MULTI", "OK")
	admin.want("CONFIG SET timeout 7", "QUEUED")
	admin.want("EXEC", "[OK]")
	next.want("CONFIG GET timeout", `["timeout" "7"]`)
}

func TestScriptsSetNoDirectives(t *testing.T) {
	r, _ := newGroupRig(t)
	if got := r.dial().do("EVAL", "return redis.call('config', 'set', 'timeout', '5')", "0"); !strings.Contains(got, "not allowed from script") {
		t.Errorf("got %s", got)
	}
	r.has("timeout", "0")
}

// No reply tells of a value that is not committed.
func TestRepliesAboutDirectivesWaitForTheCommit(t *testing.T) {
	r, g := newGroupRig(t)
	admin, reader := r.dial(), r.dial()
	g.holdBack(true)
	admin.send("CONFIG", "SET", "timeout", "5")
	r.until("the change is in memory", func() bool { return len(g.waiting()) == 1 })
	reader.send("CONFIG", "GET", "timeout")
	r.until("it was called", func() bool { return r.srv.stats.calls("config|get") == 1 })
	g.depose()
	admin.ended()
	reader.ended()
	g.elect()
	r.dial().want("CONFIG SET timeout 6", "OK")
	r.has("timeout", "6")
}

// A deposed leader forgets values that are not committed: it has those of the group again, or its own.
func TestDeposedLeaderForgetsDirectives(t *testing.T) {
	r, g := newGroupRig(t, func(o *Options) { o.Config = testConfig(t, strings.Fields("--timeout 7 --busy-reply-threshold 8")...) })
	r.dial().want("CONFIG SET timeout 70", "OK")
	g.holdBack(true)
	for i, call := range []string{"CONFIG SET timeout 71 maxmemory 5mb", "CONFIG SET busy-reply-threshold 80"} {
		r.dial().send(strings.Fields(call)...)
		r.until("the change is in memory", func() bool { return r.srv.stats.calls("config|set") == int64(i+2) })
	}
	g.depose()
	r.has("timeout", "70")
	r.has("busy-reply-threshold", "8")
	r.has("maxmemory", "5242880") // of the machine: no record of the group has it
	if got := r.srv.config.Overruled(); !slices.Equal(got, []string{"timeout"}) {
		t.Errorf("the group has %q", got)
	}
	g.elect()
	r.dial().want("CONFIG SET busy-reply-threshold 81", "OK")
	r.has("busy-reply-threshold", "81")
}

// The values of a group that were written are there after a start, and while a member loads; its file counts for all others.
// What CONFIG REWRITE writes are the values in force.
func TestValuesOfTheGroupWinAtAStart(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/v.conf"
	if err := os.WriteFile(file, []byte("timeout 7\nlua-memory-limit 5mb\nhash-max-listpack-value 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(t *testing.T) (*rig, *testGroup) {
		return newGroupRig(t, onDisk(dir), func(o *Options) {
			var err error
			if o.Config, err = conf.Load([]string{file}, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	const told = "The group has other values of these directives than the configuration"
	t.Run("at first the file counts", func(t *testing.T) {
		r, _ := start(t)
		if r.log.has(told) {
			t.Error("there are values of the group")
		}
		r.has("timeout", "7")
		r.dial().want("CONFIG SET timeout 70 hash-max-listpack-value 30 maxmemory 5mb", "OK")
	})
	t.Run("then what was set", func(t *testing.T) {
		r, _ := start(t)
		if !r.log.has(told + ", which do not count: timeout") {
			t.Error("the log does not tell")
		}
		r.has("timeout", "70")
		r.has("lua-memory-limit", "5242880")
		r.has("maxmemory", "0")
		r.dial().want("CONFIG REWRITE", "OK")
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "timeout 70\nlua-memory-limit 5mb\nhash-max-listpack-value 30\n#") {
			t.Errorf("the file has %q, %v", text, err)
		}
	})
	t.Run("and the file agrees", func(t *testing.T) {
		r, _ := start(t)
		if r.log.has(told) {
			t.Error("the file has the values of the group")
		}
		r.has("timeout", "70")
	})
}

func TestMemberThatLoadsHasTheDirectivesOfTheLastCut(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		r, _ := newGroupRig(t, onDisk(dir))
		r.dial().want("CONFIG SET timeout 70", "OK")
		if err := r.srv.store.Passes().Materialise(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.dial().want("CONFIG SET busy-reply-threshold 80", "OK")
	})
	g := newTestGroup(t)
	r := newLoadingRig(t, onDisk(dir), g.join)
	if c := r.srv.settings().conf; c.Timeout.Seconds() != 70 || c.BusyReplyThreshold != 5000 {
		t.Errorf("%v and %d", c.Timeout, c.BusyReplyThreshold)
	}
	r.dial().want("CONFIG SET timeout 5", "(error) LOADING Redis is loading the dataset in memory")
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c := r.srv.settings().conf; c.Timeout.Seconds() != 70 || c.BusyReplyThreshold != 80 {
		t.Errorf("%v and %d", c.Timeout, c.BusyReplyThreshold)
	}
}

// A value that a member cannot take, or a directive that it does not know or share, leaves its own and is told in the log.
func TestValueThatCannotBeTakenLeavesTheMembersOwn(t *testing.T) {
	c := newCouple(t, nil, strings.Fields("--timeout 7 --maxmemory 5mb"))
	admin := c.dial()
	admin.want("CONFIG SET timeout 70", "OK")
	c.follower.has("timeout", "70")
	c.texts(func(tx *persistence.Tx) {
		tx.Texts(persistence.Directives).Set("timeout", "later")
		tx.Texts(persistence.Directives).Set("maxmemory", "1")                // of the machine
		tx.Texts(persistence.Directives).Set("hash-max-ziplist-entries", "1") // an alias
		tx.Texts(persistence.Directives).Set("TIMEOUT", "1")
		tx.Texts(persistence.Directives).Set("", "")
		tx.Texts(persistence.Directives).Set("of a later version\n", strings.Repeat("x", 1<<20))
		tx.Texts(persistence.Directives).Set("busy-reply-threshold", "80")
	})
	admin.want("SET k v", "OK")
	c.follower.has("timeout", "7")
	c.follower.has("maxmemory", "5242880")
	c.follower.has("hash-max-listpack-entries", "512")
	c.follower.has("busy-reply-threshold", "80")
	for _, line := range []string{`Directive "timeout" of the group does not count here: argument couldn't be parsed into an integer`,
		`Directive "maxmemory" of the group does not count here: this version has no such directive of a group`,
		`Directive "of a later version\n" of the group`} {
		if !c.follower.log.has(line) {
			t.Errorf("the log does not tell: %s", line)
		}
	}
	c.fail()
	c.follower.dial().want("CONFIG SET timeout 71", "OK")
	c.follower.has("timeout", "71")
	c.follower.texts(func(tx *persistence.Tx) { tx.Texts(persistence.Directives).Delete("timeout") })
}

// A directive that the group gives back is each member's own again.
func TestDirectiveThatIsGivenBackIsTheMembersOwn(t *testing.T) {
	c := newCouple(t, nil, strings.Fields("--timeout 7"))
	admin := c.dial()
	admin.want("CONFIG SET timeout 70", "OK")
	admin.want("CONFIG SET timeout 71 busy-reply-threshold 80", "OK")
	admin.want("VIGIL.CLUSTER UNSHARE timeout hash-max-ziplist-value", "OK") // one under its former name, for which the group has no value
	c.has("timeout", "0")
	c.follower.has("timeout", "7")
	c.follower.has("busy-reply-threshold", "80")
	lsn := c.srv.store.Stats().LSN
	admin.want("VIGIL.CLUSTER UNSHARE TIMEOUT timeout", "OK")
	if got := c.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d for what is each member's own", got)
	}
	admin.want("CONFIG SET timeout 72", "OK")
	c.follower.has("timeout", "72")
	c.fail()
	c.follower.dial().want("VIGIL.CLUSTER UNSHARE timeout busy-reply-threshold", "OK")
	c.follower.has("timeout", "7")
	c.follower.has("busy-reply-threshold", "5000")
}

// A call that names a directive which cannot be given back gives none back, and a follower gives none.
func TestDirectivesThatCannotBeGivenBackStayShared(t *testing.T) {
	c := newCouple(t, nil, strings.Fields("--timeout 7"))
	admin := c.dial()
	admin.want("CONFIG SET timeout 70", "OK")
	admin.want("VIGIL.CLUSTER UNSHARE timeout maxmemory", "(error) ERR 'maxmemory' is each member's own")
	admin.want("VIGIL.CLUSTER UNSHARE timeout no-such", "(error) ERR Unknown parameter 'no-such'")
	c.follower.dial().want("VIGIL.CLUSTER UNSHARE timeout", "(error) READONLY You can't write against a read only replica.")
	c.has("timeout", "70")
	c.follower.has("timeout", "70")
	for _, m := range []*testGroup{c.g, c.other} {
		m.m.SetLevel(persistence.LevelUntold)
	}
	admin.want("VIGIL.CLUSTER UNSHARE timeout", "(error) ERR The group shares no parameters before VIGIL.CLUSTER UPGRADE")
	c.has("timeout", "70")
}

// A deposed leader has the value of the group again of what it gave back in vain.
func TestDeposedLeaderSharesAgainWhatItGaveBack(t *testing.T) {
	r, g := newGroupRig(t, func(o *Options) { o.Config = testConfig(t, strings.Fields("--timeout 7")...) })
	r.dial().want("CONFIG SET timeout 70", "OK")
	g.holdBack(true)
	r.dial().send("VIGIL.CLUSTER", "UNSHARE", "timeout")
	r.until("the change is in memory", func() bool { return r.srv.stats.calls("vigil.cluster|unshare") == 1 })
	if got := r.srv.config.Overruled(); len(got) > 0 {
		t.Errorf("the group has %q", got)
	}
	g.depose()
	r.has("timeout", "70")
}

// A server that leaves its group has the values of its configuration again.
func TestServerThatLeavesItsGroupHasItsOwnDirectivesAgain(t *testing.T) {
	r, g := newGroupRig(t, func(o *Options) { o.Config = testConfig(t, "--timeout", "7") })
	r.dial().want("CONFIG SET timeout 70 busy-reply-threshold 80 maxmemory 5mb", "OK")
	g.renew()
	r.has("timeout", "7")
	r.has("busy-reply-threshold", "5000")
	r.has("maxmemory", "5242880")
	g.elect()
	r.dial().want("CONFIG SET timeout 71", "OK")
	r.has("timeout", "71")
}

func TestServerAloneKeepsNoDirectivesInItsStore(t *testing.T) {
	r := newRig(t)
	lsn := r.srv.store.Stats().LSN
	r.dial().want("CONFIG SET timeout 5 maxmemory 5mb", "OK")
	if got := r.srv.store.Stats().LSN; got != lsn || len(r.srv.store.Texts(persistence.Directives)) > 0 || len(r.srv.config.Overruled()) > 0 {
		t.Errorf("record %d follows %d, the store has %v", got, lsn, r.srv.store.Texts(persistence.Directives))
	}
}
