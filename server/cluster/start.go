package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// How a server finds out which member it is, and where: from its directory, from the list of
// founders, or from the group, which takes it in.

// hopeForMove is how often the election timeout passes before a server gives up that asks for
// an address which the group does not allow it, such as that of a copy.
const hopeForMove = 20

// identify returns which member the directory is of, and makes it ready to be that: it is
// written, the port of the group is held, and the group knows the address.
func (n *Node) identify(ctx context.Context, store *member.Member) (*topology.Identity, error) {
	log := store.Log()
	self, err := topology.DecodeIdentity(log.Identity())
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	origin, err := store.Origin()
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	fresh, spent, err := n.restores(self, origin)
	if err != nil {
		return nil, err
	}
	if self != nil {
		if err := self.Belongs(n.config.Secret, n.config.Name, n.config.ID); err != nil {
			return nil, err
		}
	}
	if fresh {
		self.Address = "" // that of the former member, which may live
	}
	known := self != nil
	if self == nil {
		if self, err = n.newcomer(store); err != nil {
			return nil, err
		}
	}
	was := self.Address
	if self.Address, err = n.ownAddress(self); err != nil {
		return nil, err
	}
	if err := n.hold(self.Address); err != nil {
		return nil, err
	}
	n.process = rand.Uint64()
	switch {
	case fresh:
		err = n.found(self, store, origin)
	case n.config.Alone:
		if origin != nil {
			err = n.lives(ctx, self, was, log)
		}
		if err == nil {
			err = n.becomeAlone(self, store)
		}
	case self.Member == 0:
		err = n.enter(ctx, self)
	case known && !self.Left && was != self.Address:
		err = n.move(ctx, self, was, log)
	}
	if err != nil {
		return nil, err
	}
	self.Starts++
	if err := log.SetIdentity(self.Encode()); err != nil || !spent {
		return self, err
	}
	return self, store.DropOrigin() // last: what is interrupted is done again
}

// newcomer returns the identity of a server whose directory has none: a founder, or with the id 0 a server
// that is to join.
func (n *Node) newcomer(store *member.Member) (*topology.Identity, error) {
	self := &topology.Identity{Name: n.config.Name, Replaces: n.config.Replaces, Known: map[uint64]string{}}
	blank := raftnode.Unfounded(store)
	if first, _ := store.Log().Bounds(); blank && first > 1 {
		if err := n.mayFound(store); err != nil {
			return nil, err
		}
	}
	switch {
	case len(n.config.Members) > 0:
		self.Member = n.config.ID
	case n.config.Single && blank && len(n.config.Join) == 0:
		self.Member = singleID
		if self.Name == "" {
			self.Name = drawName()
		}
	case n.config.Alone && !blank:
	case !blank:
		return nil, errors.New("cluster: the directory is of a member, of an earlier version: start once with the cluster-members and the cluster-member-id that it had")
	case len(n.config.Join) == 0:
		return nil, raftnode.ErrNewDirectory
	}
	self.Group = topology.GroupID(n.config.Secret, self.Name)
	return self, nil
}

// mayFound returns why this server cannot found a group with the store of a server that was alone.
func (n *Node) mayFound(store *member.Member) error {
	switch c := &n.config; {
	case len(c.Join) > 0:
		return errors.New("cluster: the directory has the data of a server that was alone, which would be lost if it joined a group: " +
			"start it without cluster-join, so that it founds one, and let others join that with new directories")
	case len(c.Members) > 1:
		return errors.New("cluster: the directory has the data of a server that was alone, and other founders would begin without it: " +
			"cluster-members has to name this server only, and others join with new directories and cluster-join")
	case c.Cluster != nil && store.KeysFrom(c.Cluster.Databases):
		return fmt.Errorf("cluster: there are keys in database %d, or in one with a higher number, which clients of the cluster would not see: "+
			"start it with more cluster-databases", c.Cluster.Databases)
	}
	return nil
}

// drawName returns a name for a group that a server founds by itself.
func drawName() string { return strconv.FormatUint(rand.Uint64(), 16) }

// singleID is the id of a server that founds a group by itself.
const singleID = 1

// ownAddress returns where clients connect to this server.
func (n *Node) ownAddress(self *topology.Identity) (string, error) {
	host, port, bus := n.config.AnnounceHost, cmp.Or(n.config.AnnouncePort, n.config.Port), cmp.Or(n.config.AnnounceBus, n.config.Bus)
	if m := n.config.founder(self.Member); m != nil {
		if host == "" {
			host = m.Host
		}
		if n.config.AnnouncePort == 0 {
			port, bus = m.Port, cmp.Or(bus, m.Bus)
		}
	}
	if was, of, other, err := topology.SplitAddress(self.Address); err == nil {
		if host == "" {
			host = was
		}
		if bus == 0 && port == of {
			bus = other
		}
	}
	if bus == 0 {
		bus = port + topology.BusOffset
	}
	if host == "" && n.config.Single {
		host = n.config.Host
	}
	if host == "" {
		var err error
		if host, err = localTo(n.contacts()); err != nil {
			return "", fmt.Errorf("cluster: which address the others find this server at is unknown, and cluster-announce-ip does not say it: %w", err)
		}
	}
	address := topology.JoinAddress(host, port, bus)
	told, err := topology.BusOf(address)
	if err == nil && len(told) > mesh.MaxAddress {
		err = fmt.Errorf("%d bytes are too long", len(told))
	}
	if err != nil {
		return "", fmt.Errorf("cluster: the address of this server: %w", err)
	}
	return address, nil
}

// contacts are the servers that the configuration names beside the members of the group.
func (n *Node) contacts() []string {
	if n.config.Cluster == nil {
		return n.config.Join
	}
	return slices.Concat(n.config.Join, n.config.Cluster.Contacts)
}

// localTo returns the address of this machine from which one of some others is reached. Nothing is
// sent.
func localTo(others []string) (host string, err error) {
	err = errors.New("there is no other member to reach")
	for _, o := range others {
		var conn net.Conn
		if conn, err = net.Dial("udp", topology.Dialled(o)); err != nil {
			continue
		}
		host, _, err = net.SplitHostPort(conn.LocalAddr().String())
		conn.Close()
		if err == nil {
			return host, nil
		}
	}
	return "", err
}

// hold listens for the others, unless that began with Listen.
func (n *Node) hold(address string) error {
	if n.listener != nil {
		return nil
	}
	l, err := n.listenBus(address)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener = l; n.config.TLS != nil {
		n.listener = tlsListener{l, n}
	}
	return nil
}

// listensAt returns where a server with an address listens for others. The port that it announces may be one of what passes connections on.
func (n *Node) listensAt(address string) (string, error) {
	host, _, bus, err := topology.SplitAddress(address)
	if err != nil {
		return "", err
	}
	switch {
	case n.config.Bus != 0:
		bus = n.config.Bus
	case n.config.AnnounceBus != 0:
		bus = n.config.Port + topology.BusOffset
	}
	if bus > topology.MaxPort {
		return "", fmt.Errorf("port %d for other servers is above %d: cluster-port gives another one", bus, topology.MaxPort)
	}
	return net.JoinHostPort(host, strconv.Itoa(bus)), nil
}

// listenBus listens for other members. An address that is announced may belong to what passes connections
// on: then all addresses of the machine are listened at.
func (n *Node) listenBus(address string) (net.Listener, error) {
	bus, err := n.listensAt(address)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	listen := n.environment().Listen
	l, err := listen(bus)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL) && n.config.AnnounceHost != "":
		_, port, _ := net.SplitHostPort(bus)
		l, err = listen(net.JoinHostPort("", port))
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("cluster: the group knows this member at %s, which is no address of this machine: a directory that was copied must not be used, and for a machine that has moved cluster-announce-ip gives the new address: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return l, nil
}

// visitor is a mesh that only asks.
func (n *Node) visitor(self *topology.Identity) *mesh.Mesh {
	return mesh.New(mesh.Config{Cluster: self.Group, Self: n.origin(self), Dial: n.dial,
		Logf: func(format string, args ...any) { n.config.Logf(logs.Info, format, args...) }})
}

func (n *Node) origin(self *topology.Identity) mesh.Origin {
	bus, _ := topology.BusOf(self.Address) // which was checked
	return mesh.Origin{Address: bus, Start: self.Starts, Process: n.process}
}

// enter asks the group to take this server in as a member.
func (n *Node) enter(ctx context.Context, self *topology.Identity) error {
	if err := n.findGroup(ctx, self); err != nil {
		return err
	}
	if err := n.join(ctx, self, func() []string { return n.config.Join }, n.config.ID); err != nil {
		return err
	}
	n.config.Logf(logs.Notice, "this server is member %d of the group from now on, at %s", self.Member, self.Address)
	return nil
}

// findGroup asks the servers that this one is to join which group they are of, unless the configuration says it, or
// clients see no cluster. A group that takes no gossip is one of the other view, which has no name.
func (n *Node) findGroup(ctx context.Context, self *topology.Identity) error {
	if self.Name != "" || n.config.Cluster == nil {
		return nil
	}
	m := mesh.New(mesh.Config{Cluster: topology.ClusterID(n.config.Secret), Dial: n.dial, Logf: func(string, ...any) {}})
	defer m.Close()
	for delay := firstPause; ; delay = min(2*delay, lastPause) {
		for _, address := range n.config.Join {
			name, err := askGroup(ctx, m, address)
			switch {
			case err == nil:
				self.Name, self.Group = name, topology.GroupID(n.config.Secret, name)
				return nil
			case errors.Is(err, mesh.ErrCluster):
				return nil
			case n.said.Due("group of "+address, n.monotonic()):
				n.config.Logf(logs.Notice, "waits until %s says which group it is of: %v", address, err)
			}
		}
		if err := n.rest(ctx, delay); err != nil {
			return err
		}
	}
}

// askGroup returns the name of the group of the server at an address.
func askGroup(ctx context.Context, m asker, address string) (name string, err error) {
	bus, err := topology.BusOf(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, topology.ExchangeTimeout)
	defer cancel()
	gossip, err := m.Ask(ctx, bus, 0, topology.AppendGossip(nil, "", false, topology.Table{}))
	if err != nil {
		return "", err
	}
	d := topology.Decoder{Rest: gossip}
	name = d.Text(topology.MaxGroupName)
	return name, d.Err
}

// move tells the group that this member is at another address. The directory may be an old copy, so the member counts as
// one that may lack what it has acknowledged.
func (n *Node) move(ctx context.Context, self *topology.Identity, was string, log *grouplog.Log) error {
	n.config.Logf(logs.Notice, "member %d was at %s and is at %s now: the group has to agree to that", self.Member, was, self.Address)
	others, err := n.former(self, log)
	if err != nil {
		return err
	}
	others = append(others, n.config.Join...)
	if len(others) > 0 {
		if _, err := n.insist(ctx, self, func() []string { return others }, &request{What: asksMove, Member: self.Member, Address: self.Address}, hopeForMove*n.config.Election); err != nil {
			return err
		}
	}
	return log.SetBoot(grouplog.Boot{}) // R6
}

// former returns the addresses of the other members, as the directory knows them.
func (n *Node) former(self *topology.Identity, log *grouplog.Log) (others []string, err error) {
	known, err := raftnode.DecodeMembers(log.Membership().Index, log.Membership().Members)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	for _, id := range known.IDs() {
		if id == self.Member {
			continue
		}
		for _, address := range []string{known.Addresses[id], n.founderAddress(id), self.Known[id]} {
			if address != "" {
				others = append(others, address)
			}
		}
	}
	return others, nil
}

// becomeAlone makes this server all of its group.
func (n *Node) becomeAlone(self *topology.Identity, store *member.Member) error {
	was := self.Member
	id, err := raftnode.StandAlone(store, self.Address, func(former topology.Assignment) topology.Assignment { return former })
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	self.Member, self.Left, self.Replaces, self.Known = id, false, 0, nil
	_, last := store.Log().Bounds()
	n.config.Logf(logs.Warn, "--recover alone: member %d is member %d now, the only one of its group, with all that its log has, up to entry %d; acknowledged writes that it lacks are lost, and the former members cannot come back (cluster-members and cluster-member-id are of no use any more)", was, id, last)
	return nil
}

// fatalToServer reports whether a server whose request ends so can do nothing but end.
func fatalToServer(err error) bool {
	return errors.Is(err, mesh.ErrCluster) || errors.Is(err, mesh.ErrVersion)
}
