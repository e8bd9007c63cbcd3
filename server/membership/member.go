// Package membership makes a server a member of the group of servers that its configuration names.
package membership

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
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/internal/door"
	"github.com/vigildb/vigil/structures/slots"
)

// Member is the place of a server in its group. The zero value is that of a server that is alone.
type Member struct {
	handle *cluster.Handle // nil for a server that is alone
	set    *conf.Settings
	tls    *atomic.Pointer[encryption]
}

// Options are what a configuration does not say. The zero value is right for a server.
type Options struct {
	// Alone makes the directory that of the only member of its group: the others are lost.
	Alone bool
	// Log receives what the group has to say; nil discards it.
	Log *slog.Logger
	// Environment is the network and the clock, nil for those of the machine.
	Environment *cluster.Environment
}

// encryption encrypts connections between members.
type encryption struct{ accept, dial *tls.Config }

// readTLS reads the certificates for connections between members.
func readTLS(set *conf.Settings) (*encryption, error) {
	accept, dial, err := certs.Options{CertFile: set.TLSCertFile, KeyFile: set.TLSKeyFile, KeyPass: set.TLSKeyFilePass,
		CAFile: set.TLSCACertFile, CADir: set.TLSCACertDir, Protocols: set.TLSProtocols, Ciphers: set.TLSCiphers,
		CipherSuites: set.TLSCipherSuites}.Members()
	if err != nil {
		return nil, fmt.Errorf("tls-cluster: %w", err)
	}
	return &encryption{accept, dial}, nil
}

// Encrypted reports whether members connect to each other with TLS.
func (m Member) Encrypted() bool { return m.handle != nil && m.set.TLSCluster }

// ReloadTLS reads the certificates again, for connections from now on.
func (m Member) ReloadTLS(set *conf.Settings) error {
	if !m.Encrypted() {
		return nil
	}
	c, err := readTLS(set)
	if err == nil {
		m.tls.Store(c)
	}
	return err
}

// Listen makes the place of a server in the group that its configuration names, if it names one. The server takes
// part when its data is loaded.
func Listen(config *conf.Config, o Options) (m Member, err error) {
	set := config.Settings()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if set.ClusterSecret == "" {
		if set.ClusterMemberID != 0 || set.ClusterMembers != "" || set.ClusterJoin != "" || set.ClusterReplaces != 0 || set.Slotted() || namesCluster(set) {
			return m, errors.New("a member of a group needs cluster-secret")
		}
		if o.Alone {
			return m, errors.New("--recover alone is for a member of a group: it needs cluster-secret")
		}
		return m, nil
	}
	m.set = set
	if _, err = topology.Hashes(set.ClusterSecret); err != nil {
		return m, fmt.Errorf("cluster-secret: %w", err)
	}
	node, err := nodeConfig(set)
	if err != nil {
		return m, err
	}
	if set.ThrowAway {
		return m, errors.New("a member of a group keeps its data: remove save \"\" and appendonly no")
	}
	node.Logf, node.Alone, node.Environment = logGroup(config, o.Log), o.Alone, o.Environment
	node.Names = func() topology.Names {
		now := config.Settings()
		return topology.Names{Hostname: now.ClusterHostname, Nodename: now.ClusterNodename, Zone: now.AvailabilityZone}
	}
	if set.TLSCluster {
		c, err := readTLS(set)
		if err != nil {
			return m, err
		}
		m.tls = new(atomic.Pointer[encryption])
		m.tls.Store(c)
		node.TLS = func() (accept, dial *tls.Config) {
			c := m.tls.Load()
			return c.accept, c.dial
		}
	}
	m.handle, err = cluster.Listen(node)
	return m, err
}

// nodeConfig reads the directives of a group.
func nodeConfig(set *conf.Settings) (n cluster.NodeConfig, err error) {
	n = cluster.NodeConfig{Secret: set.ClusterSecret, Name: set.ClusterGroup, ID: set.ClusterMemberID, Replaces: set.ClusterReplaces, Single: set.ClusterEnabled,
		AnnounceHost: set.ClusterAnnounceIP, AnnouncePort: set.ClusterAnnouncePort, AnnounceBus: set.ClusterAnnounceBus,
		Host: listensAt(set), Port: set.Port, Bus: set.ClusterPort,
		Election: set.ClusterElection, MaxStale: set.ClusterMaxStale}
	if n.Port == 0 {
		n.Port = set.TLSPort
		if set.ClusterAnnounceTLSPort != 0 {
			n.AnnouncePort = set.ClusterAnnounceTLSPort
		}
	}
	if n.Cluster, err = clusterConfig(set); err != nil {
		return n, err
	}
	switch {
	case set.ClusterMembers != "" && set.ClusterJoin != "":
		return n, errors.New("cluster-members founds a group and cluster-join joins one: give one of them")
	case set.ClusterReplaces != 0 && set.ClusterJoin == "":
		return n, errors.New("cluster-replaces is for a server that joins: it needs cluster-join")
	case set.ClusterMembers != "":
		if n.Members, err = topology.ParseMembers(set.ClusterMembers); err != nil {
			return n, fmt.Errorf("cluster-members: %w", err)
		}
	}
	if n.Join, err = topology.ParseContacts(set.ClusterJoin); err != nil {
		return n, fmt.Errorf("cluster-join: %w", err)
	}
	return n, nil
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
	c = &cluster.ClusterConfig{Silence: set.ClusterSilence, Databases: set.ClusterDatabases}
	if set.ClusterSlots != "" {
		if c.Slots, err = slots.Parse(set.ClusterSlots); err != nil {
			return nil, fmt.Errorf("cluster-slots: %w", err)
		}
	}
	if c.Contacts, err = topology.ParseContacts(set.ClusterPeers); err != nil {
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
func logGroup(config *conf.Config, log *slog.Logger) func(level logs.Level, format string, args ...any) {
	type levels struct {
		shown conf.LogLevel
		slog  slog.Level
	}
	of := map[logs.Level]levels{logs.Debug: {conf.LogDebug, slog.LevelDebug}, logs.Info: {conf.LogVerbose, slog.LevelDebug + 2},
		logs.Notice: {conf.LogNotice, slog.LevelInfo},
		logs.Warn:   {conf.LogWarning, slog.LevelWarn}, logs.Error: {conf.LogWarning, slog.LevelError}}
	return func(level logs.Level, format string, args ...any) {
		if l := of[level]; l.shown >= config.Settings().LogLevel && log.Enabled(context.Background(), l.slog) {
			log.Log(context.Background(), l.slog, "group: "+fmt.Sprintf(format, args...))
		}
	}
}

// Join makes a server take part in the group. It is called with the options that the server is opened with.
func (m Member) Join(o *server.Options) {
	if m.handle == nil {
		return
	}
	o.Group, o.Membership = m.handle, views(m.handle, m.set)
	store := o.Store
	o.Store = func(p *persistence.Options) {
		if store != nil {
			store(p)
		}
		p.Begin, p.Tail = m.handle.Begin, m.set.ClusterLogBound
	}
}

// MayLeave reports whether the keys can be used when a server has ended, as those of a group can: one that has slots
// needs another member with a vote. A server that is alone may always be ended.
func MayLeave(srv *server.Server) bool { return door.Of(srv).MayLeave() }

// Failed receives why the group has lost this member, never if there is none.
func (m Member) Failed() <-chan error {
	if m.handle == nil {
		return nil
	}
	return m.handle.Failed()
}
