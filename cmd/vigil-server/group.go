package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
)

// group is the group that the server is a member of; its node is nil if it is alone.
type group struct {
	node *cluster.Node
	set  *conf.Settings
	tls  *atomic.Pointer[memberTLS]
}

// memberTLS encrypts connections between members.
type memberTLS struct{ accept, dial *tls.Config }

// readTLS reads the certificates for connections between members.
func readTLS(set *conf.Settings) (*memberTLS, error) {
	accept, dial, err := certs.Options{CertFile: set.TLSCertFile, KeyFile: set.TLSKeyFile, KeyPass: set.TLSKeyFilePass,
		CAFile: set.TLSCACertFile, CADir: set.TLSCACertDir, Protocols: set.TLSProtocols, Ciphers: set.TLSCiphers,
		CipherSuites: set.TLSCipherSuites}.Members()
	if err != nil {
		return nil, fmt.Errorf("tls-cluster: %w", err)
	}
	return &memberTLS{accept, dial}, nil
}

// encrypted reports whether members connect to each other with TLS.
func (g group) encrypted() bool { return g.node != nil && g.set.TLSCluster }

// reloadTLS reads the certificates again, for connections from now on.
func (g group) reloadTLS(set *conf.Settings) error {
	if !g.encrypted() {
		return nil
	}
	c, err := readTLS(set)
	if err == nil {
		g.tls.Store(c)
	}
	return err
}

// listenGroup makes the node of this server, if the configuration names a group.
func listenGroup(config *conf.Config, log *slog.Logger) (g group, hashes [16]byte, err error) {
	set := config.Settings()
	if set.ClusterMembers == "" {
		if set.ClusterMemberID != 0 || set.ClusterSecret != "" || set.ClusterView != conf.ViewSentinel {
			return g, hashes, errors.New("cluster-member-id, cluster-secret and cluster-view need cluster-members")
		}
		return g, hashes, nil
	}
	g.set = set
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
	node := cluster.NodeConfig{Group: id, ID: set.ClusterMemberID, Members: members,
		Election: set.ClusterElection, MaxStale: set.ClusterMaxStale, Logf: logGroup(config, log)}
	if set.TLSCluster {
		c, err := readTLS(set)
		if err != nil {
			return g, hashes, err
		}
		g.tls = new(atomic.Pointer[memberTLS])
		g.tls.Store(c)
		node.TLS = func() (accept, dial *tls.Config) {
			c := g.tls.Load()
			return c.accept, c.dial
		}
	}
	g.node, err = cluster.Listen(node)
	return g, hashes, err
}

// logGroup writes what a node says to the log of the server, if loglevel admits it.
func logGroup(config *conf.Config, log *slog.Logger) func(level cluster.LogLevel, format string, args ...any) {
	type levels struct {
		shown conf.LogLevel
		slog  slog.Level
	}
	of := map[cluster.LogLevel]levels{cluster.LogDebug: {conf.LogDebug, slog.LevelDebug}, cluster.LogInfo: {conf.LogVerbose, slog.LevelDebug + 2},
		cluster.LogWarn: {conf.LogWarning, slog.LevelWarn}, cluster.LogError: {conf.LogWarning, slog.LevelError}}
	return func(level cluster.LogLevel, format string, args ...any) {
		if l := of[level]; l.shown >= config.Settings().LogLevel && log.Enabled(context.Background(), l.slog) {
			log.Log(context.Background(), l.slog, "group: "+fmt.Sprintf(format, args...))
		}
	}
}

// join has the server take part in the group.
func (g group) join(o *server.Options, hashes [16]byte) {
	if g.node == nil {
		return
	}
	o.Group, o.Membership = g.node, membership(g.node, g.set)
	store := o.Store
	o.Store = func(p *persistence.Options) {
		store(p)
		p.Secret, p.Tail = hashes, g.set.ClusterLogBound
	}
}

// failed receives why the group has lost this member, never if there is none.
func (g group) failed() <-chan error {
	if g.node == nil {
		return nil
	}
	return g.node.Failed()
}
