package tracking

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// client is a client that notes what it is told.
type client struct {
	commands.Client
	state State
	told  []string
}

func (c *client) Deliver(b []byte) { c.told = append(c.told, readable(b)) }

// readable is a message with its keys in one line.
func readable(b []byte) string {
	var words []string
	for _, w := range strings.Split(string(b), "\r\n") {
		if w != "" && !strings.ContainsAny(w[:1], "$>*") {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// room is a table and its clients.
type room struct {
	t       *testing.T
	table   Table
	clients map[uint64]*client
}

func newRoom(t *testing.T) *room {
	r := &room{t: t, clients: map[uint64]*client{}}
	r.table.Open(r)
	return r
}

func (r *room) Find(id uint64) Client {
	if c := r.clients[id]; c != nil {
		return c
	}
	return nil
}

func (r *room) connect(proto int) *client {
	c := &client{}
	c.ID = uint64(len(r.clients) + 1)
	c.SetProto(proto)
	c.state.Open(c)
	r.clients[c.ID] = c
	return c
}

func (r *room) track(proto int, modes commands.ClientFlag, redirect uint64, prefixes ...string) *client {
	c := r.connect(proto)
	var list [][]byte
	for _, p := range prefixes {
		list = append(list, []byte(p))
	}
	r.table.Track(&c.state, modes, redirect, list)
	return c
}

var get = &commands.Command{Name: "GET", Flags: commands.ReadOnly, Keys: []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}}

func (r *room) read(c *client, keys ...string) {
	for _, key := range keys {
		r.table.Read(&c.state, get, [][]byte{[]byte("GET"), []byte(key)})
	}
}

// change is a call of a client that changes keys.
func (r *room) change(c *client, keys ...string) {
	for _, key := range keys {
		r.table.Changed(&c.state, []byte(key))
	}
	r.table.Unlocked(&c.state)
}

// want checks what a client has been told, and forgets it.
func (r *room) want(who string, c *client, want ...string) {
	r.t.Helper()
	if !slices.Equal(c.told, want) {
		r.t.Errorf("%s was told %q, want %q", who, c.told, want)
	}
	c.told = nil
}

func TestReadersAreToldOnce(t *testing.T) {
	r := newRoom(t)
	a, b, w := r.track(3, 0, 0), r.track(3, 0, 0), r.connect(2)
	r.read(a, "k", "l", "k")
	r.read(b, "k")
	r.read(w, "k") // who does not track
	if got, want := r.table.Counts(), (Counts{Clients: 2, Keys: 2, Items: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r.change(w, "k", "unknown", "k")
	r.want("a", a, "invalidate k")
	r.want("b", b, "invalidate k")
	r.want("w", w)
	r.table.Removed([]byte("l"))
	r.want("a", a, "invalidate l")
	if got, want := r.table.Counts(), (Counts{Clients: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOwnChangesFollowTheReply(t *testing.T) {
	r := newRoom(t)
	a, quiet := r.track(3, 0, 0), r.track(3, commands.ClientTrackingNoLoop, 0)
	for _, c := range []*client{a, quiet} {
		r.read(c, "k")
		r.change(c, "k")
		r.want("its client", c)
	}
	if got := readable(a.state.TakePushes()); got != "invalidate k" || a.state.Pushes() {
		t.Errorf("after the reply: got %q", got)
	}
	if quiet.state.Pushes() {
		t.Error("a client was told of its own change, which it did not want")
	}
}

func TestWaitingClientIsToldAfterItsReply(t *testing.T) {
	r := newRoom(t)
	pusher, waits := r.track(3, 0, 0), r.track(3, 0, 0)
	r.read(pusher, "k")
	r.read(waits, "k")
	end := pusher.state.Serve(waits)
	r.table.Changed(&pusher.state, []byte("k"))
	r.want("the client that is served, before its reply", waits)
	r.want("the one whose command serves it", pusher, "invalidate k")
	r.table.ReadFor(&pusher.state, &waits.state, get, [][]byte{[]byte("GET"), []byte("l")})
	end()
	r.want("the client that is served", waits, "invalidate k")
	r.change(pusher, "l")
	r.want("the client that has read", waits, "invalidate l")
	if pusher.state.Pushes() {
		t.Error("a client is told of what another one changed, as if it were its own")
	}
}

func TestPrefixesAreToldAfterTheLocks(t *testing.T) {
	r := newRoom(t)
	bcast := commands.ClientTrackingBcast
	user, all, w := r.track(3, bcast, 0, "user:", "u"), r.track(3, bcast, 0), r.connect(3)
	if got := r.table.Prefixes(&user.state); !slices.Equal(got, []string{"u", "user:"}) || user.state.PrefixMemory() == 0 {
		t.Errorf("got prefixes %q", got)
	}
	r.read(user, "user:1") // which counts for nothing
	r.table.Changed(&w.state, []byte("user:1"))
	r.table.Changed(&w.state, []byte("x"))
	r.table.Changed(&w.state, []byte("user:1"))
	r.want("user, while the keys are locked", user)
	r.table.Unlocked(&w.state)
	slices.Sort(user.told)
	r.want("user", user, "invalidate user:1", "invalidate user:1") // once for each prefix, as in Redis
	r.want("all", all, "invalidate user:1 x")
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("user:", i), fmt.Sprint("user:", i))
	}
	r.table.Leave(&all.state)
	r.change(w, many...)
	if n := strings.Count(strings.Join(user.told, " "), "user:99"); n != 2 || len(user.told) != 2 {
		t.Errorf("the last of many keys was told %d times in %d messages, want 2 of each", n, len(user.told))
	}
	r.want("a client that has left", all)
	if got, want := r.table.Counts(), (Counts{Clients: 1, Prefixes: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAllKeysAreToldOnceForACommand(t *testing.T) {
	r := newRoom(t)
	a, left, w := r.track(3, 0, 0), r.track(3, 0, 0), r.connect(3)
	r.read(a, "k")
	r.table.Leave(&left.state)
	r.table.ChangedAll(&w.state)
	r.want("a, of a command that changed nothing", a)
	w.state.ChangesAll()
	r.table.ChangedAll(&w.state)
	r.table.ChangedAll(&w.state)
	r.want("a", a, "invalidate _")
	r.change(w, "k")
	r.want("a, which has been told", a)
	r.table.RemovedAll()
	r.want("a", a, "invalidate _")
	r.want("a client that has left", left)
}

func TestInvalidationsGoWhereTheyAreSent(t *testing.T) {
	r := newRoom(t)
	to := r.connect(2)
	from := r.track(3, 0, to.ID)
	if got := from.state.RedirectedTo(); got != int64(to.ID) {
		t.Errorf("redirected to %d, want %d", got, to.ID)
	}
	r.read(from, "k")
	r.change(to, "k")
	r.want("a client of RESP2 that subscribes to nothing", to)
	to.Set(commands.ClientPubSub)
	r.read(from, "k")
	r.table.Removed([]byte("k"))
	r.want("to", to, "message __redis__:invalidate k")
	to.Set(commands.ClientCloseSoon)
	r.read(from, "k")
	r.table.Removed([]byte("k"))
	r.want("to", to)
	r.want("from", from, "tracking-redir-broken :1")
	if !from.Has(commands.ClientTrackingBroken) {
		t.Error("a client whose invalidations are lost is not marked")
	}
	r.table.Untrack(&from.state)
	if got := from.state.RedirectedTo(); got != -1 || r.table.Any() {
		t.Errorf("redirected to %d without tracking", got)
	}
}

func TestClientsForgetWhatTheTableForgets(t *testing.T) {
	r := newRoom(t)
	r.table.SetLimit(3)
	c := r.track(3, 0, 0)
	for i := range 20 {
		r.read(c, fmt.Sprint("k", i))
	}
	forgotten := strings.Count(readable(c.state.TakePushes()), "invalidate")
	if keys := r.table.Counts().Keys; keys != 3 || forgotten != 17 {
		t.Errorf("%d keys are remembered and %d were told, want 3 and 17", keys, forgotten)
	}
	r.table.SetLimit(1)
	r.table.Trim(1)
	if keys := r.table.Counts().Keys; keys != 2 || len(c.told) != 1 {
		t.Errorf("%d keys are remembered and %d were told in a round of one, want 2 and 1", keys, len(c.told))
	}
}

func TestOptionsSayWhatIsRemembered(t *testing.T) {
	const on, caching = commands.ClientTracking, commands.ClientTrackingCaching
	for _, x := range []struct {
		flags commands.ClientFlag
		want  bool
	}{
		{0, false}, {on, true}, {on | commands.ClientTrackingBcast, false},
		{on | commands.ClientTrackingOptIn, false}, {on | commands.ClientTrackingOptIn | caching, true},
		{on | commands.ClientTrackingOptOut, true}, {on | commands.ClientTrackingOptOut | caching, false},
	} {
		var c client
		c.Set(x.flags)
		if got := Caches(&c); got != x.want {
			t.Errorf("flags %b: got %v, want %v", x.flags, got, x.want)
		}
	}
}

func TestKeyThatIsLostAmidExecIsToldAgain(t *testing.T) {
	r := newRoom(t)
	c := r.track(3, 0, 0)
	c.state.Collect(true)
	r.read(c, "kept", "lost")
	r.table.Removed([]byte("lost"))
	r.want("c, before the reply perhaps", c, "invalidate lost")
	r.table.RepeatLost(&c.state)
	r.table.RepeatLost(&c.state)
	if got := readable(c.state.TakePushes()); got != "invalidate lost" {
		t.Errorf("after the reply: got %q", got)
	}
}
