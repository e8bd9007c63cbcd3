package mesh

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// Members of other groups connect to the port of the group, and reach the mesh beside its own: with messages of
// channels and with requests, never with those of raft.
func TestOtherGroupsReachTheMeshBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{there: map[string]*listener{}}
		var own, wide board
		wider := func(id uint64, at string, to uint64) func(c *Config) {
			return func(c *Config) {
				c.Cluster, c.ID, c.Peers, c.Receive, c.ReceiveState = [16]byte{9}, id, map[uint64]string{to: at}, nil, nil
				c.ReceivePublished = wide.take
				c.Respond = func(_ context.Context, q []byte) []byte { return append([]byte("about "), q...) }
			}
		}
		beside := n.member(77, wider(77, "x", 88))
		group := n.member(2, func(c *Config) { own.listens(c); c.Beside = beside.Mesh })
		serve(t, group, n.listen("b"))
		defer beside.Close()
		defer group.Close()
		other := n.member(88, wider(88, "b", 77))
		defer other.Close()

		other.Publish(1, []byte("ch"), []byte("hello"))
		synctest.Wait()
		if got := wide.all(); !slices.Equal(got, []string{"1 ch hello 5"}) || len(own.all()) > 0 {
			t.Errorf("the mesh beside got %q, that of the group %q", got, own.all())
		}
		if got, err := other.Ask(t.Context(), "b", 0, []byte("slots")); err != nil || string(got) != "about slots" {
			t.Errorf("a request: %q, %v", got, err)
		}
		kind, from, to := raftpb.MsgHeartbeat, uint64(88), uint64(77)
		other.Send(&raftpb.Message{Type: &kind, From: &from, To: &to})
		elapse(time.Second)
		if !other.logged("not known there") || len(group.got) > 0 {
			t.Errorf("a message of raft is not refused: %q, %v", other.log, group.got)
		}
		stranger := n.member(5, func(c *Config) { wider(5, "b", 77)(c); c.Cluster = [16]byte{8} })
		defer stranger.Close()
		if _, err := stranger.Ask(t.Context(), "b", 0, []byte("slots")); err == nil {
			t.Error("another cluster gets a reply")
		}
	})
}
