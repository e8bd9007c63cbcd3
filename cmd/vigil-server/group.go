package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
)

// group is the group that the server is a member of; its node is nil if it is alone.
type group struct{ node *cluster.Node }

// listenGroup makes the node of this server, if the configuration names a group.
func listenGroup(set *conf.Settings, log *slog.Logger) (g group, hashes [16]byte, err error) {
	if set.ClusterMembers == "" {
		if set.ClusterMemberID != 0 || set.ClusterSecret != "" {
			return g, hashes, errors.New("cluster-member-id and cluster-secret need cluster-members")
		}
		return g, hashes, nil
	}
	members, err := cluster.ParseMembers(set.ClusterMembers)
	if err != nil {
		return g, hashes, fmt.Errorf("cluster-members: %w", err)
	}
	id, hashes, err := cluster.Secrets(set.ClusterSecret)
	if err != nil {
		return g, hashes, fmt.Errorf("cluster-secret: %w", err)
	}
	if set.ThrowAway {
		return g, hashes, errors.New("a member of a group keeps its data: remove save \"\" and appendonly no")
	}
	g.node, err = cluster.Listen(cluster.NodeConfig{Group: id, ID: set.ClusterMemberID, Members: members,
		Election: set.ClusterElection, MaxStale: set.ClusterMaxStale, Logf: logGroup(log)})
	return g, hashes, err
}

// logGroup writes what a node says to the log of the server.
func logGroup(log *slog.Logger) func(level cluster.LogLevel, format string, args ...any) {
	levels := map[cluster.LogLevel]slog.Level{cluster.LogDebug: slog.LevelDebug, cluster.LogInfo: slog.LevelDebug + 2,
		cluster.LogWarn: slog.LevelWarn, cluster.LogError: slog.LevelError}
	return func(level cluster.LogLevel, format string, args ...any) {
		if l := levels[level]; log.Enabled(context.Background(), l) {
			log.Log(context.Background(), l, "group: "+fmt.Sprintf(format, args...))
		}
	}
}

// join has the server take part in the group.
func (g group) join(o *server.Options, hashes [16]byte) {
	if g.node == nil {
		return
	}
	o.Group = g.node
	o.Membership = func() *commands.Membership { return g.membership(o.Config.Settings()) }
	store := o.Store
	o.Store = func(p *persistence.Options) {
		store(p)
		p.Secret = hashes
	}
}

// membership returns what the server shows of its group.
func (g group) membership(set *conf.Settings) *commands.Membership {
	v := g.node.View()
	if v == nil {
		return nil
	}
	m := &commands.Membership{Name: set.ClusterName, ID: g.node.Name(0), Leader: -1, Led: v.Leader != 0, Leads: v.Leads,
		Syncing: v.Lost, Synced: set.AppendFsync == conf.FsyncAlways, Term: v.Term, Heard: g.node.Heard(), Last: v.Last, Commits: v.Committed}
	for i, o := range g.node.Members() {
		if o.ID == v.ID {
			m.Self = i
		}
		if o.ID == v.Leader {
			m.Leader = i
		}
		m.Members = append(m.Members, commands.Member{ID: g.node.Name(o.ID), Host: o.Host, Port: o.Port,
			Entry: v.Members[i].Match, Record: v.Members[i].Record, Active: v.Members[i].Active})
	}
	return m
}

// failed receives why the group has lost this member, never if there is none.
func (g group) failed() <-chan error {
	if g.node == nil {
		return nil
	}
	return g.node.Failed()
}
