package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/backup"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// clusterRig is a server on disk that leads one of two groups: with the slots 0 to 8191, and the other one, whose leader is
// at 10.0.1.2:7000, the others.
type clusterRig struct {
	*slotsRig
	dir   string
	index uint64
	other func(q *wireRequest) *wireReply // guarded by near
	asked []string                        // what other servers were asked; guarded by near
}

const otherLeader = "10.0.1.2:7000"

func newClusterRig(t *testing.T) *clusterRig {
	t.Helper()
	c := &clusterRig{dir: t.TempDir(), index: 7}
	s := &slotsRig{}
	c.slotsRig = s
	own, theirs := slotstest.Set(t, "0-8191"), slotstest.Set(t, "8192-16383")
	node := func(digit, host string) commands.Member {
		return commands.Member{ID: strings.Repeat(digit, 40), Host: host, Port: 7000, Active: true}
	}
	s.m.Store(&commands.Membership{ID: strings.Repeat("9", 40), Led: true, Leads: true, Slots: own, Covered: true,
		Members:     []commands.Member{node("1", "10.0.0.1"), node("2", "10.0.0.2")},
		OtherShards: []commands.Shard{{ID: strings.Repeat("a", 40), Slots: theirs, Members: []commands.Member{node("b", "10.0.1.1"), node("c", "10.0.1.2")}, Leader: 1, Up: true}}})
	s.rig, s.g = newGroupRig(t, onDisk(c.dir), func(o *Options) {
		o.Config = testConfig(t, "--cluster-view", "cluster")
		o.Membership = s.m.Load
	})
	s.g.own.Store(own)
	c.near(func() {
		s.g.stands = func() (uint64, *slots.Set, error) { return c.index, own, nil }
		c.other = c.makes
		s.g.others = func(_ context.Context, address string, q *wireRequest) *wireReply {
			var a *wireReply
			c.near(func() {
				c.asked = append(c.asked, address+" "+q.What)
				switch {
				case address == otherLeader:
					if a = c.other(q); a != nil {
						a.Group = strings.Repeat("a", 40)
					}
				case q.What == backup.StandStill.What, q.What == backup.MakePart.What:
					a = &wireReply{Error: "the server does not lead its group", Again: true, Follows: true, Leader: otherLeader}
				default:
					a = &wireReply{}
				}
			})
			return a
		}
	})
	return c
}

func (c *clusterRig) near(change func()) {
	c.g.near.Lock()
	defer c.g.near.Unlock()
	change()
}

// makes is what the other leader replies if all goes well.
func (c *clusterRig) makes(q *wireRequest) *wireReply {
	switch q.What {
	case backup.StandStill.What:
		return &wireReply{Index: 3, Slots: "8192-16383"}
	case backup.MakePart.What:
		p := q.Whole.Parts[1]
		return &wireReply{Parts: []backup.Part{{Whole: q.Whole, ClusterSnapshotPart: members.ClusterSnapshotPart{Group: p.Group, Slots: p.Slots, Address: otherLeader, Dir: "/there", Bytes: 5}}}}
	}
	return &wireReply{}
}

// create asks for a snapshot, and advances the clock until there is a reply.
func (c *clusterRig) create(name string) string {
	c.t.Helper()
	client := c.dial()
	client.send("VIGIL.CLUSTER", "SNAPSHOT", "CREATE", name)
	reply := make(chan string, 1)
	go func() { // ends with the reply, or when the server is closed
		got, err := client.read()
		if err != nil {
			got = err.Error()
		}
		reply <- got
	}()
	tick := time.NewTicker(time.Millisecond) // the disk takes real time: the clock is ten times as fast
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case got := <-reply:
			return got
		case now := <-tick.C: // a busy machine leaves some out
			c.clock.advance(10 * now.Sub(last))
			last = now
		}
	}
}

func (c *clusterRig) wantError(name, want string) {
	c.t.Helper()
	if got := c.create(name); !strings.HasPrefix(got, "(error) ERR ") || !strings.Contains(got, want) {
		c.t.Errorf("CREATE %s: got %s, want %s", name, got, want)
	}
	if got := names(c.t.(*testing.T), c.dir); len(got) > 0 {
		c.t.Errorf("%s: %q are left", want, got)
	}
}

// Each group makes a part, which says of what it is one, and the reply tells of all of them.
func TestClusterSnapshotHasAPartOfEachGroup(t *testing.T) {
	c := newClusterRig(t)
	got := c.create("monday")
	for _, want := range []string{`["name" "monday" "id" `, `"complete" (int) 1 "groups" (int) 2 "parts" [["node" "` + strings.Repeat("1", 40) + `" "address" "10.0.0.1:7000" "group" "` + strings.Repeat("9", 40) +
		`" "slots" "0-8191" "directory" "` + filepath.Join(c.dir, "snapshots", "monday") + `" "bytes" `, `"slots" "8192-16383" "directory" "/there" "bytes" (int) 5]]]`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	found, err := c.srv.store.Snapshots().List(filepath.Join(c.dir, "snapshots"))
	if err != nil || len(found) != 1 || found[0].Origin.Part() == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	if o := found[0].Origin; o.Group != strings.Repeat("9", 40) || o.Part().Slots != "0-8191" || len(o.Whole.Parts) != 2 || o.Whole.Parts[1].Slots != "8192-16383" ||
		!strings.Contains(o.String(), "part 1 of 2 of the cluster snapshot monday") {
		t.Errorf("the part says that it is %s: %+v", o, o.Whole)
	}
	if got := c.dial().do("VIGIL.CLUSTER", "SNAPSHOT", "LIST"); !strings.Contains(got, `["snapshots" [["name" "monday"`) || !strings.Contains(got, `"complete" (int) 0 "groups" (int) 2`) || !strings.HasSuffix(got, `"not-heard" []]`) {
		t.Errorf("LIST without the part of the other group: %s", got)
	}
	client := c.dial()
	client.want("VIGIL.CLUSTER SNAPSHOT DELETE monday", "(int) 1")
	client.want("VIGIL.CLUSTER SNAPSHOT DELETE monday", "(error) "+string(commands.ErrNoSnapshot))
	if got := names(t, c.dir); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

// Whatever keeps a group from making its part ends the whole, within a bounded time: the error names the group, and nothing is left.
func TestFailedClusterSnapshotLeavesNothing(t *testing.T) {
	down := strings.Repeat("a", 40)
	fails := func(what string, a *wireReply) func(c *clusterRig) {
		return func(c *clusterRig) {
			c.other = func(q *wireRequest) *wireReply {
				if q.What == what {
					return a
				}
				return c.makes(q)
			}
		}
	}
	for _, x := range []struct {
		name   string
		change func(c *clusterRig)
		want   string
	}{
		{"full", fails(backup.MakePart.What, &wireReply{Error: "no space left on device"}), "the group " + down + ": " + otherLeader + ": no space left on device"},
		{"taken", fails(backup.MakePart.What, &wireReply{Error: "a snapshot with this name exists"}), "a snapshot with this name exists"},
		{"moving", fails(backup.StandStill.What, &wireReply{Error: "the slots are on their way", Again: true}), "the group " + down + ": " + otherLeader + ": the slots are on their way"},
		{"leaderless", fails(backup.StandStill.What, &wireReply{Error: "the server does not lead its group", Again: true, Follows: true}), "does not lead its group"},
		{"strange", func(c *clusterRig) {
			c.m.Load().OtherShards[0].ID = strings.Repeat("e", 40)
		}, "the server is of another group now"},
		{"changing", fails(backup.MakePart.What, &wireReply{Error: "slots have changed", Again: true}), "slots have changed"},
		{"cut", fails(backup.MakePart.What, nil), "the group " + down + ": " + context.DeadlineExceeded.Error()},
		{"silent", fails(backup.MakePart.What, &wireReply{}), "says nothing of its part"},
		{"uncovered", fails(backup.StandStill.What, &wireReply{Index: 3, Slots: "8193-16383"}), "the slots 8192 have no group"},
		{"twice", fails(backup.StandStill.What, &wireReply{Index: 3, Slots: "8191-16383"}), "some slots are of two groups"},
		{"own", func(c *clusterRig) {
			c.g.stands = func() (uint64, *slots.Set, error) { return 0, nil, errors.New("no majority is heard") }
		}, "no majority is heard"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := newClusterRig(t)
			c.near(func() { x.change(c) })
			c.wantError(x.name, x.want)
		})
	}
}

// A server that does not reply holds nobody up for longer than a part may take.
func TestClusterSnapshotDoesNotWaitForEver(t *testing.T) {
	c := newClusterRig(t)
	free := make(chan struct{})
	others := c.g.others
	c.near(func() {
		c.g.others = func(ctx context.Context, address string, q *wireRequest) *wireReply {
			if address == otherLeader && q.What == backup.MakePart.What {
				<-free
			}
			return others(ctx, address, q)
		}
	})
	c.wantError("stuck", "it took longer than 20s")
	close(free)
}

// A part whose group gets or gives slots while it is made does not count, nor does one whose request was of another division. It
// is made again, once nothing moves.
func TestPartIsOfTheSlotsThatWereAskedFor(t *testing.T) {
	c := newClusterRig(t)
	calls := 0
	c.near(func() {
		stands := c.g.stands
		c.g.stands = func() (uint64, *slots.Set, error) {
			calls++
			index, own, err := stands()
			if calls == 3 { // asked for, before, and after the part was made
				index++
			}
			return index, own, err
		}
	})
	if got := c.create("moved"); !strings.Contains(got, `"complete" (int) 1`) {
		t.Errorf("got %s", got)
	}
	c.near(func() {
		if calls != 6 {
			t.Errorf("the group was asked for its slots %d times, want 6", calls)
		}
		removed := 0
		for _, asked := range c.asked {
			if asked == otherLeader+" "+backup.RemovePart.What {
				removed++
			}
		}
		if removed != 1 {
			t.Errorf("the part of the other group was removed %d times: %q", removed, c.asked)
		}
	})
	serve := func(index uint64, of string) wireReply {
		w := &snapshot.Whole{Name: "asked", ID: "x", Parts: []snapshot.Part{{Group: strings.Repeat("9", 40), Slots: of}}}
		return c.g.request(t, &wireRequest{What: backup.MakePart.What, Index: index, Whole: w})
	}
	for _, a := range []wireReply{serve(6, "0-8191"), serve(7, "0-8190")} {
		if !a.Again || !strings.Contains(a.Error, "have changed") {
			t.Errorf("got %+v", a)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := &snapshot.Whole{Name: "late", ID: "x", Parts: []snapshot.Part{{Group: strings.Repeat("9", 40), Slots: "0-8191"}}}
	if a := c.g.requestBy(ended, t, &wireRequest{What: backup.MakePart.What, Index: 7, Whole: w}); !strings.Contains(a.Error, "too long") {
		t.Errorf("nobody waits: %+v", a)
	}
	if got := fmt.Sprint(names(t, c.dir)); got != "[moved]" {
		t.Errorf("there are %s", got)
	}
}

// What comes from another server is no path, and removes nothing but parts; a follower names its leader.
func TestServersDoForOthersWhatIsAskedAndNoMore(t *testing.T) {
	c := newClusterRig(t)
	c.dial().want("VIGIL.SNAPSHOT CREATE own", `"own"`)
	if got := c.create("part"); !strings.Contains(got, `"complete" (int) 1`) {
		t.Fatal(got)
	}
	serve := func(q *wireRequest) wireReply { return c.g.request(t, q) }
	for _, name := range []string{"../x", "", "a/b", "x.part"} {
		for _, what := range []string{backup.MakePart.What, backup.RemovePart.What} {
			if a := serve(&wireRequest{What: what, Whole: &snapshot.Whole{Name: name}}); !strings.Contains(a.Error, "invalid snapshot name") {
				t.Errorf("%s %q: %+v", what, name, a)
			}
		}
		if got := c.dial().do("VIGIL.CLUSTER", "SNAPSHOT", "DELETE", name); got != "(error) "+string(commands.ErrSnapshotName) {
			t.Errorf("DELETE %q: %s", name, got)
		}
	}
	for _, w := range []*snapshot.Whole{{Name: "own"}, {Name: "part", ID: "another"}, {Name: "nosuch"}} {
		if a := serve(&wireRequest{What: backup.RemovePart.What, Whole: w}); a.Error != "" || a.Removed != 0 {
			t.Errorf("remove %+v: %+v", w, a)
		}
	}
	if a := serve(&wireRequest{What: backup.MakePart.What}); a.Error == "" {
		t.Error("a part of nothing is made")
	}
	if got := string(c.g.ask(t.Context(), []byte("{"))); !strings.Contains(got, "does not decode") {
		t.Errorf("what is no request: %s", got)
	}
	if got := string(c.g.ask(t.Context(), []byte(`{"What":"dance"}`))); !strings.Contains(got, "does not know what it is asked") {
		t.Errorf("an unknown request: %s", got)
	}
	c.follow()
	if a := serve(&wireRequest{What: backup.StandStill.What}); !a.Again || a.Leader != "10.0.0.2:7000" {
		t.Errorf("a follower: %+v", a)
	}
	client := c.dial()
	client.want("VIGIL.CLUSTER SNAPSHOT CREATE x", "(error) ERR This member does not lead the group: ask 10.0.0.2:7000")
	client.want("VIGIL.CLUSTER SNAPSHOT DELETE part", "(int) 1") // any server may be asked to clean up
	if got := fmt.Sprint(names(t, c.dir)); got != "[own]" {
		t.Errorf("there are %s", got)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "snapshots", "own", "ORIGIN")); err != nil {
		t.Errorf("a snapshot of a member says nothing of its group: %v", err)
	}
}
