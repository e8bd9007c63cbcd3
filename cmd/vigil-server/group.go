package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/structures/slots"
)

// group is the group that the server is a member of; its seat is nil if it is alone.
type group struct {
	seat *cluster.Seat
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
func (g group) encrypted() bool { return g.seat != nil && g.set.TLSCluster }

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

// listenGroup makes the seat of this server, if the configuration names a group.
func listenGroup(config *conf.Config, alone bool, log *slog.Logger) (g group, hashes [16]byte, err error) {
	set := config.Settings()
	if set.ClusterSecret == "" {
		if set.ClusterMemberID != 0 || set.ClusterMembers != "" || set.ClusterJoin != "" || set.ClusterReplaces != 0 || set.Slotted() || namesCluster(set) {
			return g, hashes, errors.New("a member of a group needs cluster-secret")
		}
		if alone {
			return g, hashes, errors.New("--recover alone is for a member of a group: it needs cluster-secret")
		}
		return g, hashes, nil
	}
	g.set = set
	node, hashes, err := nodeConfig(set)
	if err != nil {
		return g, hashes, err
	}
	if set.ThrowAway {
		return g, hashes, errors.New("a member of a group keeps its data: remove save \"\" and appendonly no")
	}
	node.Logf, node.Alone = logGroup(config, log), alone
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
	g.seat, err = cluster.Listen(node)
	return g, hashes, err
}

// nodeConfig reads the directives of a group.
func nodeConfig(set *conf.Settings) (n cluster.NodeConfig, hashes [16]byte, err error) {
	n = cluster.NodeConfig{Secret: set.ClusterSecret, Name: set.ClusterGroup, ID: set.ClusterMemberID, Replaces: set.ClusterReplaces, Single: set.ClusterEnabled,
		AnnounceHost: set.ClusterAnnounceIP, AnnouncePort: set.ClusterAnnouncePort, Host: listensAt(set), Port: set.Port,
		Election: set.ClusterElection, MaxStale: set.ClusterMaxStale}
	if n.Port == 0 {
		n.Port = set.TLSPort
	}
	if hashes, err = cluster.Hashes(set.ClusterSecret); err != nil {
		return n, hashes, fmt.Errorf("cluster-secret: %w", err)
	}
	if n.Cluster, err = clusterConfig(set); err != nil {
		return n, hashes, err
	}
	switch {
	case set.ClusterMembers != "" && set.ClusterJoin != "":
		return n, hashes, errors.New("cluster-members founds a group and cluster-join joins one: give one of them")
	case set.ClusterReplaces != 0 && set.ClusterJoin == "":
		return n, hashes, errors.New("cluster-replaces is for a server that joins: it needs cluster-join")
	case set.ClusterMembers != "":
		if n.Members, err = cluster.ParseMembers(set.ClusterMembers); err != nil {
			return n, hashes, fmt.Errorf("cluster-members: %w", err)
		}
	}
	if n.Join, err = cluster.ParseContacts(set.ClusterJoin); err != nil {
		return n, hashes, fmt.Errorf("cluster-join: %w", err)
	}
	return n, hashes, nil
}

// namesCluster reports whether the configuration says something of other groups.
func namesCluster(set *conf.Settings) bool {
	return set.ClusterGroup != "" || set.ClusterSlots != "" || set.ClusterPeers != ""
}

// clusterConfig reads the directives of a cluster of groups, nil if clients see none.
func clusterConfig(set *conf.Settings) (c *cluster.ClusterConfig, err error) {
	if !set.Slotted() {
		if namesCluster(set) {
			return nil, errors.New("cluster-group, cluster-slots and cluster-peers need cluster-view cluster, or cluster-enabled yes")
		}
		return nil, nil
	}
	c = &cluster.ClusterConfig{Silence: set.ClusterSilence}
	if set.ClusterSlots != "" {
		if c.Slots, err = slots.Parse(set.ClusterSlots); err != nil {
			return nil, fmt.Errorf("cluster-slots: %w", err)
		}
	}
	if c.Contacts, err = cluster.ParseContacts(set.ClusterPeers); err != nil {
		return nil, fmt.Errorf("cluster-peers: %w", err)
	}
	c.All = c.Slots == nil && !set.ClusterEnabled && len(c.Contacts) == 0
	return c, nil
}

// listensAt is an address at which the server listens for clients, "" if that is every one of the machine.
func listensAt(set *conf.Settings) string {
	for _, bind := range set.Bind {
		if host := strings.TrimPrefix(bind, "-"); host != "*" && host != "::*" && host != "0.0.0.0" && host != "::" {
			return host
		}
	}
	return ""
}

// logGroup writes what a node says to the log of the server, if loglevel admits it.
func logGroup(config *conf.Config, log *slog.Logger) func(level cluster.LogLevel, format string, args ...any) {
	type levels struct {
		shown conf.LogLevel
		slog  slog.Level
	}
	of := map[cluster.LogLevel]levels{cluster.LogDebug: {conf.LogDebug, slog.LevelDebug}, cluster.LogInfo: {conf.LogVerbose, slog.LevelDebug + 2},
		cluster.LogNotice: {conf.LogNotice, slog.LevelInfo},
		cluster.LogWarn:   {conf.LogWarning, slog.LevelWarn}, cluster.LogError: {conf.LogWarning, slog.LevelError}}
	return func(level cluster.LogLevel, format string, args ...any) {
		if l := of[level]; l.shown >= config.Settings().LogLevel && log.Enabled(context.Background(), l.slog) {
			log.Log(context.Background(), l.slog, "group: "+fmt.Sprintf(format, args...))
		}
	}
}

// join has the server take part in the group.
func (g group) join(o *server.Options, hashes [16]byte) {
	if g.seat == nil {
		return
	}
	o.Group, o.Membership = g.seat, membership(g.seat, g.set)
	store := o.Store
	o.Store = func(p *persistence.Options) {
		store(p)
		p.Secret, p.Tail = hashes, g.set.ClusterLogBound
	}
}

// failed receives why the group has lost this member, never if there is none.
func (g group) failed() <-chan error {
	if g.seat == nil {
		return nil
	}
	return g.seat.Failed()
}
