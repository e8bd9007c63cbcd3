package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// bareOthers is what a server of the group a knows of others: nothing.
func bareOthers() *others {
	n := &Node{config: NodeConfig{Cluster: &ClusterConfig{Silence: time.Minute}}}
	return &others{n: n, name: "a", table: topology.Table{}, heard: map[string]time.Duration{}, met: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// A member that hears no leader says so, and its group does not count as heard by that.
func TestGroupIsHeardThroughMembersWithALeader(t *testing.T) {
	for leader, want := range map[uint64]bool{0: false, 3: true} {
		from := bareOthers()
		from.own = &topology.Group{Name: "a", Leader: leader}
		letter := from.letter()
		d := topology.Decoder{Rest: letter}
		if name, hears := d.Text(topology.MaxGroupName), d.Number() == 1; name != "a" || hears != want {
			t.Errorf("led by %d: a letter of %q, which hears a leader: %v", leader, name, hears)
		}
		if own, err := topology.DecodeTable(d.Rest); err != nil || own["a"] == nil || own["a"].Leader != leader {
			t.Errorf("led by %d: the table is %v, %v", leader, own, err)
		}
	}
	to := bareOthers()
	for _, letter := range [][]byte{append([]byte("\x01b\x00"), topology.Table{}.Encode()...), append([]byte("\x01a\x01"), topology.Table{}.Encode()...)} {
		if err := to.take(letter); err != nil || len(to.heard) > 0 {
			t.Errorf("%q: %v, heard are %v", letter, err, to.heard)
		}
	}
}

// News are told at once, and those that come soon after are told together: none of them waits longer than tellPause.
func TestNewsAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := bareOthers()
		ctx, end := context.WithCancel(t.Context())
		o.n.ctx = ctx
		tick, start := make(chan time.Time), time.Now()
		var rested <-chan time.Time
		want := func(everybody, more bool, after time.Duration) {
			t.Helper()
			if e, m := o.await(tick, &rested); e != everybody || m != more || time.Since(start) != after {
				t.Errorf("got %v, %v after %v, want %v, %v after %v", e, m, time.Since(start), everybody, more, after)
			}
		}
		o.tell()
		want(true, true, 0)
		time.AfterFunc(5*time.Millisecond, o.tell)
		time.AfterFunc(6*time.Millisecond, o.tell)
		time.AfterFunc(7*time.Millisecond, func() { tick <- time.Now() })
		want(false, true, 7*time.Millisecond)
		want(true, true, tellPause)
		time.AfterFunc(time.Minute, o.tell)
		want(true, true, time.Minute+tellPause)
		end()
		want(false, false, time.Minute+tellPause)
	})
}

// What is no letter is refused, and changes nothing.
func TestLettersThatAreNoneAreRefused(t *testing.T) {
	o := bareOthers()
	bad := append([]byte("\x01b\x01"), claims(t, map[string]string{"": "0-5 9", "other": ""}).Encode()...)
	for _, letter := range [][]byte{nil, []byte("x"), []byte("\x01b"), []byte("\x01b\x01"), []byte("\x01b\x01\x07"), bad[:len(bad)-1], append(bad, 0)} {
		if err := o.take(letter); err == nil || len(o.table)+len(o.heard) > 0 {
			t.Errorf("%q is taken: %v, %v", letter, o.table, o.heard)
		}
	}
}

// A group that others speak of for the first time counts as heard: it has not had the time to say anything.
func TestGroupIsNotLostBeforeItCouldBeHeard(t *testing.T) {
	o := bareOthers()
	if o.mu.Lock(); o.upLocked("c") {
		t.Error("a group that nobody spoke of is there")
	}
	if o.metLocked("c"); !o.upLocked("c") {
		t.Error("the group is lost")
	}
	o.heard["c"] -= o.n.config.Cluster.Silence
	if o.metLocked("c"); o.upLocked("c") {
		t.Error("what others say keeps the group from being lost")
	}
	o.mu.Unlock()
}

// What a group says of slots that it has given away stays until it has heard that the other one has them.
func TestGivenSlotsAreKnownUntilTheOtherGroupIsHeardToHaveThem(t *testing.T) {
	of := slots.All()
	m := topology.Move{Attempt: 7, Group: "b", Slots: of}
	o := bareOthers()
	o.own = &topology.Group{Name: "a", Index: 5, Claim: topology.Claim{Slots: new(slots.Set), Since: 1, Given: []topology.Move{m}}}
	o.table["b"] = &topology.Group{Name: "b", Index: 3, Members: []topology.GroupMember{{ID: 1, Address: "127.0.0.1:7002"}}, Claim: topology.Claim{Slots: new(slots.Set), Since: 2}}
	if o.heardOf(m) {
		t.Error("the other group was not heard to have the slots")
	}
	later := *o.table["b"]
	later.Index, later.Claim.Slots = 4, of
	o.table["b"] = &later
	if !o.heardOf(m) {
		t.Error("the other group has the slots")
	}
	if o.own.Claim.Given == nil {
		t.Error("the question has changed what the own group says")
	}
}
