package topology

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock/clocktest"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// bareOwn is the group of a server that takes part in nothing.
type bareOwn struct{ group *Group }

func (o *bareOwn) Group() *Group { return o.group }
func (*bareOwn) Gone() bool      { return false }
func (*bareOwn) Dismiss(string)  {}
func (*bareOwn) Keep([]byte)     {}
func (*bareOwn) Last() uint64    { return 0 }

// network replies to all requests alike.
type network struct {
	reply []byte
	err   error
}

func (n network) Ask(context.Context, string, uint64, []byte) ([]byte, error) { return n.reply, n.err }
func (network) SetPeers(map[uint64]string)                                    {}

// bareCluster is what a server of the group a knows of others: nothing.
func bareCluster() *Cluster {
	clock := clocktest.New()
	began := clock.Now().Add(-time.Hour)
	return &Cluster{opts: Options{Self: &Identity{Name: "a"}, Own: &bareOwn{}, Network: network{}, Silence: time.Minute,
		Now: func() time.Duration { return clock.Since(began) }, Clock: clock, Logf: func(logs.Level, string, ...any) {}, Due: func(string) bool { return true }},
		name: "a", table: Table{}, heard: map[string]time.Duration{}, met: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// A member that hears no leader says so, and its group does not count as heard by that.
func TestGroupIsHeardThroughMembersWithALeader(t *testing.T) {
	for leader, want := range map[uint64]bool{0: false, 3: true} {
		from := bareCluster()
		from.own = &Group{Name: "a", Leader: leader}
		gossip := from.Gossip()
		d := Decoder{Rest: gossip}
		if name, hears := d.Text(MaxGroupName), d.Number() == 1; name != "a" || hears != want {
			t.Errorf("led by %d: gossip of %q, which hears a leader: %v", leader, name, hears)
		}
		if own, err := decodeTable(d.Rest); err != nil || own["a"] == nil || own["a"].Leader != leader {
			t.Errorf("led by %d: the table is %v, %v", leader, own, err)
		}
	}
	to := bareCluster()
	for _, gossip := range [][]byte{append([]byte("\x01b\x00"), Table{}.Encode()...), append([]byte("\x01a\x01"), Table{}.Encode()...)} {
		if err := to.Take(gossip); err != nil || len(to.heard) > 0 {
			t.Errorf("%q: %v, heard are %v", gossip, err, to.heard)
		}
	}
}

// News are told at once, and those that come soon after are told together: none of them waits longer than broadcastPause.
func TestNewsAreToldTogether(t *testing.T) {
	o := bareCluster()
	clock := o.opts.Clock.(*clocktest.Clock)
	ctx, end := context.WithCancel(t.Context())
	o.opts.Done = ctx
	passed := make(chan struct{})
	close(passed)
	var tick, rested <-chan struct{}
	want := func(everybody, more bool) {
		t.Helper()
		if e, m := o.await(&tick, &rested); e != everybody || m != more {
			t.Errorf("got %v, %v at %v, want %v, %v", e, m, clock.Now(), everybody, more)
		}
	}
	o.Broadcast()
	want(true, true)
	o.Broadcast()
	o.Broadcast()
	clock.Advance(broadcastPause - 1)
	tick = passed
	want(false, true)
	clock.Advance(1)
	want(true, true)
	clock.Advance(broadcastPause)
	o.Broadcast()
	want(true, true)
	end()
	want(false, false)
}

// What is no gossip is refused, and changes nothing.
func TestLettersThatAreNoneAreRefused(t *testing.T) {
	o := bareCluster()
	bad := append([]byte("\x01b\x01"), claims(t, map[string]string{"": "0-5 9", "other": ""}).Encode()...)
	for _, gossip := range [][]byte{nil, []byte("x"), []byte("\x01b"), []byte("\x01b\x01"), []byte("\x01b\x01\x07"), bad[:len(bad)-1], append(bad, 0)} {
		if err := o.Take(gossip); err == nil || len(o.table)+len(o.heard) > 0 {
			t.Errorf("%q is taken: %v, %v", gossip, o.table, o.heard)
		}
	}
}

// A group that others speak of for the first time counts as heard: it has not had the time to say anything.
func TestGroupIsNotLostBeforeItCouldBeHeard(t *testing.T) {
	o := bareCluster()
	if o.mu.Lock(); o.upLocked("c") {
		t.Error("a group that nobody spoke of is there")
	}
	if o.metLocked("c"); !o.upLocked("c") {
		t.Error("the group is lost")
	}
	o.heard["c"] -= o.opts.Silence
	if o.metLocked("c"); o.upLocked("c") {
		t.Error("what others say keeps the group from being lost")
	}
	o.mu.Unlock()
}

// What a group says of slots that it has given away stays until it has heard that the other one has them.
func TestGivenSlotsAreKnownUntilTheOtherGroupIsHeardToHaveThem(t *testing.T) {
	of := slots.All()
	m := Move{Attempt: 7, Group: "b", Slots: of}
	o := bareCluster()
	o.own = &Group{Name: "a", Index: 5, Assignment: Assignment{Slots: new(slots.Set), Since: 1, Given: []Move{m}}}
	o.table["b"] = &Group{Name: "b", Index: 3, Members: []GroupMember{{ID: 1, Address: "127.0.0.1:7002"}}, Assignment: Assignment{Slots: new(slots.Set), Since: 2}}
	if o.HeardOf(m) {
		t.Error("the other group was not heard to have the slots")
	}
	later := *o.table["b"]
	later.Index, later.Assignment.Slots = 4, of
	o.table["b"] = &later
	if !o.HeardOf(m) {
		t.Error("the other group has the slots")
	}
	if o.own.Assignment.Given == nil {
		t.Error("the question has changed what the own group says")
	}
}

// What speaks against a tombstone is said.
func TestGroupsThatCannotBeBuried(t *testing.T) {
	for what, x := range map[string]struct {
		change func(o *Cluster, m *Assignment)
		want   error
		text   string
	}{
		"one that is silent":            {func(*Cluster, *Assignment) {}, nil, ""},
		"one that was heard lately":     {func(o *Cluster, _ *Assignment) { o.heard["b"] += time.Second }, nil, "only one that has been silent for 2m0s"},
		"one that was not heard since":  {func(o *Cluster, _ *Assignment) { delete(o.heard, "b"); o.began = o.opts.Now() }, nil, "only one that has been silent"},
		"one that was never heard":      {func(o *Cluster, _ *Assignment) { delete(o.heard, "b") }, nil, ""},
		"the own one":                   {func(o *Cluster, _ *Assignment) { o.name = "b" }, errBuryOwn, ""},
		"one that is not known":         {func(o *Cluster, _ *Assignment) { delete(o.table, "b") }, ErrRemoved, ""},
		"a removed one":                 {func(o *Cluster, _ *Assignment) { buries(o.table, "c", "b", 5) }, ErrRemoved, ""},
		"another one, by a removed one": {func(o *Cluster, _ *Assignment) { buries(o.table, "c", "a", 5) }, ErrSelfRemoved, ""},
		"one more than are noted":       {func(_ *Cluster, m *Assignment) { m.Tombstones = someTombstones(maxTombstones) }, errBuryMany, ""},
		"one again": {func(_ *Cluster, m *Assignment) {
			m.Tombstones = WithTombstone(someTombstones(maxTombstones-1), Tombstone{Group: "b", At: 3})
		}, nil, ""},
		"one that was revived in the future": {func(o *Cluster, _ *Assignment) { o.table["b"].Assignment.Revived = 1 << 60 }, nil, ""},
	} {
		o, m := bareCluster(), new(Assignment)
		o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
		o.heard["b"], o.began = o.opts.Now()-2*time.Minute, o.opts.Now()-2*time.Minute
		x.change(o, m)
		o.division.Store(&Division{RemovedAt: o.table.removed()})
		b, err := o.MayBury(m.Tombstones, "b")
		switch {
		case x.text != "" && (err == nil || !strings.Contains(err.Error(), x.text)), x.text == "" && !errors.Is(err, x.want):
			t.Errorf("%s: %v, want %v %s", what, err, x.want, x.text)
		case err == nil && (b.Group != "b" || b.At <= o.table["b"].Assignment.Revived || b.At == 0):
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// A removed group is not spoken to, and makes room for others.
func TestRemovedGroupsAreNotSpokenTo(t *testing.T) {
	o := bareCluster()
	o.opts.Contacts = []string{"h:1", "h:9"}
	o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
	o.table["c"].Members[0].Address = "h:2"
	buries(o.table, "c", "b", 5)
	for _, everybody := range []bool{true, false} {
		if got := o.Targets(everybody); !slices.Equal(got, []string{"h:2", "h:9"}) {
			t.Errorf("spoken to are %v", got)
		}
	}
	for i := range maxGroups {
		o.table[strconv.Itoa(i)] = &Group{Name: strconv.Itoa(i), Members: []GroupMember{{ID: 1}}}
		if len(o.table) == maxGroups-1 {
			break
		}
	}
	if !o.table.hasRoom() || o.table["b"] != nil {
		t.Error("the removed group takes the place of others")
	}
	if o.table["new"] = (&Group{Name: "new", Members: []GroupMember{{ID: 1}}}); o.table.hasRoom() {
		t.Errorf("%d groups leave room", len(o.table))
	}
}

// A group that was restored from a part exchanges nothing, until it has claimed its slots, with servers that are not restored from
// another part of the same snapshot.
func TestRestoredGroupIsStrangeToOthers(t *testing.T) {
	c, lost := bareCluster(), errors.New("lost")
	c.opts.Self.Restored = restoredFrom("a", "x")
	for _, x := range []struct {
		theirs *snapshot.Origin
		lost   error
		want   string
	}{
		{nil, nil, "is not restored from a part of the cluster snapshot monday"}, // of an earlier version
		{new(snapshot.Origin), nil, "is not restored from a part of the cluster snapshot monday"},
		{restoredFrom("b", "y"), nil, "is restored from another cluster snapshot: monday (y), and this group from monday (x)"},
		{restoredFrom("a", "x"), nil, "is restored from the same part of the cluster snapshot monday as this group"},
		{nil, lost, "lost"},
		{restoredFrom("b", "x"), nil, ""},
	} {
		reply := network{err: x.lost}
		if x.theirs != nil {
			text, err := json.Marshal(x.theirs)
			if err != nil {
				t.Fatal(err)
			}
			reply.reply = text
		}
		c.opts.Network = reply
		err := c.related(t.Context(), "127.0.0.1:7002")
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("got %v, want %s", err, x.want)
		}
	}
	if !c.parts["b"] || len(c.parts) != 1 {
		t.Errorf("known are the parts %v", c.parts)
	}
	c.opts.Own = &bareOwn{&Group{Name: "a", Assignment: Assignment{Slots: slotstest.Set(t, "7"), Since: 1}}}
	if err := c.related(t.Context(), "127.0.0.1:7002"); err != nil {
		t.Errorf("a group that has its slots asks others what they are restored from: %v", err)
	}
}
func restoredFrom(group, id string) *snapshot.Origin {
	return &snapshot.Origin{Group: group, Whole: &snapshot.Whole{Name: "monday", ID: id, Parts: []snapshot.Part{{Group: "a", Slots: "0-5"}, {Group: "b", Slots: "6-16383"}}}}
}
